/// A sandbox around a program of ours.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "sandbox/box.hpp"

namespace leap::sandbox {

/// A program that is itself the first process of a sandbox, in place of the supervisor.
struct Inside {
  pid_t pid = -1;
  int control = -1;        ///< the other end is its fd 3
  std::string work_dir{};  ///< without namespaces
};

/// Can start_inside() be used in this mode? Without namespaces it takes root, who gives each its own user.
bool has_inside(Mode mode);

/// Starts the file `program` inside bubblewrap with argument 1, or in mode none by itself with argument 0.
/// Its fd 4 holds the filter (a BPF program) that it has to load before it starts children. Without
/// namespaces its arguments are 2, its directory, user and the kB that a child may leave there, and it has to
/// call leap_confine() (confined.h): fd 6 holds rules for children, 7 and 8 its own filter and rules. Error
/// when it cannot be had.
Inside start_inside(Mode mode, const std::string& program, int tmp_mb);

/// A program in memory, and its argument in place of 1 or 0.
struct Image {
  const std::string& bytes;
  std::string argument;
};
Inside start_inside(Mode mode, const Image& program, int tmp_mb);

/// Waits until the program has said something or has ended; false when patience is over.
bool wait_for_answer(int control, double patience_s);

/// False when the program has ended.
bool send_all(int control, std::string_view bytes);

/// Ends it, and all that runs in its sandbox.
void end_inside(Inside& inside);

}  // namespace leap::sandbox
