/// A sandbox: a supervisor process in namespaces of its own that runs one child at a time under limits and
/// says how it ended.
///
/// Theory. bubblewrap unshares every namespace; /usr is there read-only, /tmp is a small tmpfs, there is no
/// network and no environment. Run by root, it first becomes nobody, so that process limits hold. The
/// supervisor (supervisor.py, whose loop is supervisor.c) is the first process of the pid namespace: children
/// cannot signal it, it is not dumpable so that they cannot read it, and when it ends the kernel ends them
/// all. Between runs it kills what a child left behind, reaps it and empties /tmp. A child has real files as
/// stdin and stdout, rlimits, a second system call filter, and never the control socket, at whose end the
/// supervisor leaves. CPU time is read from the process's own clock, not from the wall. Children are forks of
/// the supervisor: what they must not know is never sent there.
///
/// Without namespaces (Landlock) a child is held by rules of its own inside its supervisor's: files, signals,
/// TCP. What these do not see the filter refuses: named sockets, IPC objects, limits of other processes,
/// attributes of files. All its processes share one group, which the filter does not let them leave; it is
/// killed as one before its leader is reaped. Started by root, each supervisor is a user of its own.
#pragma once

#include <sys/types.h>

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/frames.hpp"
#include "sandbox/fd.hpp"

namespace leap::sandbox {

enum class Mode {
  kAuto,      ///< bubblewrap where it works, else Landlock where it works, else Error
  kBwrap,     ///< bubblewrap, or Error
  kLandlock,  ///< no namespaces: Landlock, system call filter, a user of its own where root starts it
  kNone,      ///< limits alone: only for code that is trusted
};

/// The supervisor died, hung or broke the protocol: not (provably) the child's doing.
class Fault : public Error {
 public:
  using Error::Error;
};

struct Limits {
  double cpu_s = 10;
  double wall_s = 30;
  int memory_mb = 1024;
  int output_kb = 1024;
  int file_mb = 16;  ///< of any file the child writes
  int processes = 64;
  bool reserves = false;  ///< may reserve more addresses than memory: what is resident counts alone
};

enum class End { kExit, kSignal, kCpu, kWall, kMemory, kOutput, kStopped };

/// How a child ended. `out` is cut at the output limit, `err` at 64 kB.
struct Ended {
  End end = End::kExit;
  int code = 0;  ///< exit status or number of the signal
  double cpu_s = 0, wall_s = 0, max_rss_mb = 0;
  bool forged = false;  ///< it wrote what is no message of the harness to the harness's pipe
  std::string out, err;
};

using leap::Fields;

struct Child {
  std::string
      kind;  ///< `binary`, `driver` (a binary that talks), or what the extension of the supervisor adds
  Limits limits;
  std::string input;                   ///< its stdin
  std::vector<std::string> arguments;  ///< argv
  bool own_program = false;            ///< binary, driver: the one that is kept, else argv[0] is a file
  std::vector<std::pair<std::string, std::string>> files;  ///< name, content in its working directory
  Fields message;                                          ///< sent to it at once
  int messages = 0;  ///< it is stopped after this many of its own; 0: no end
  /// Python: it sends `sealed` when what it was called for has returned True, which no code of its own can.
  bool sealed = false;
};

/// Python, and the same as a .pyc file, which saves time where it is this machine's interpreter's.
struct Python {
  std::string_view source, compiled;
};

/// Bytes that were embedded.
inline std::string_view bytes_between(const char* begin, const char* end) {
  return {begin, static_cast<std::size_t>(end - begin)};
}

struct Settings {
  Mode mode = Mode::kAuto;
  std::string extension;  ///< Python source run in the supervisor's name space before it serves: more kinds
                          ///< of children
  int tmp_mb = 64;
  /// Sealed files in memory for the programs of the system that run inside: names in their working directory,
  /// descriptors.
  std::vector<std::pair<std::string, int>> shared{};
  std::vector<Python> modules{};  ///< more of the extension, run after it
};

class Box {
 public:
  /// Error when no sandbox can be had.
  explicit Box(const Settings& settings);
  ~Box();
  Box(const Box&) = delete;
  Box& operator=(const Box&) = delete;

  /// Keeps bytes under a name, for kinds of the extension; none: forgets it.
  void keep(const std::string& name, const std::string& bytes);
  /// Keeps a program for `binary` and `driver`; no bytes: forgets it.
  void keep_program(const std::string& bytes);
  /// A child started while another one runs waits for that one's end; `next`, `wait` and `ended` are about
  /// the older one.
  void start(const Child& child);
  /// The next message of the child, or false when it has ended, as `ended()` then says.
  bool next(Fields& message);
  void send(const Fields& message);
  /// Nothing more will be sent: the child reads an end of file.
  void close_input();
  /// Ends the youngest child; messages that were under way are dropped.
  const Ended& stop();
  /// Waits for the end, dropping messages.
  const Ended& wait();
  const Ended& ended() const { return ended_; }
  bool running() const { return !runs_.empty(); }
  bool alive() const { return control_ >= 0; }
  /// A file of the working directory, which the next start empties; "" when there is none.
  std::string fetch(const std::string& name);
  /// It is not needed any more and may leave; what is left of it ends with this object.
  void hang_up();
  pid_t pid() const { return pid_; }
  std::size_t shares() const { return shares_; }  ///< number of shared files that it holds
  Mode mode() const { return mode_; }             ///< never kAuto

 private:
  void open(const Settings& settings, Mode mode);
  bool open_bwrap(const Settings& settings, std::string& trouble);
  bool open_landlock(const Settings& settings, std::string& trouble);
  bool open_plain(const Settings& settings, std::string& trouble);
  /// Starts the supervisor and waits for its word. `fds` become 6, 7, ...
  bool greet(const Settings& settings, const std::vector<std::string>& argv, const std::vector<int>& fds,
             const std::string& kind, const std::string& filters, std::string& trouble);
  void end(bool at_once);
  /// A child that runs or waits: its files, its pipes and what has come through them.
  struct Run {
    unsigned number = 0;
    Fd out, err, down, up;
    Fd down_reader;  ///< the child's end: while it is open, writing raises no signal
    std::size_t most_out = 0;
    double patience_s = 0;
    std::string nonce, seal;
    std::string pending;  ///< still to be sent to it
    bool closing = false;
    std::string received;
    bool forged = false;
    bool stopped = false;
    int messages = 0;  ///< still wanted; 0: without end
    Fields ended;      ///< the supervisor's word
  };

  void write_frame(const Fields& fields, const std::vector<int>& fds = {});
  Fields read_frame(double timeout_s);
  void flush(Run& run) const;
  void order_stop(Run& run);
  /// Reads what is there. False at the end of it, or when there is nothing now.
  bool receive(Run& run) const;
  bool take_message(Run& run, Fields& message) const;
  void finish();
  [[noreturn]] void fault(const std::string& what);

  pid_t pid_ = -1;
  int control_ = -1;
  std::size_t shares_ = 0;
  Mode mode_ = Mode::kAuto;
  unsigned user_ = 0;  ///< whom the supervisor becomes; 0: nobody else
  unsigned started_ = 0;
  std::deque<Run> runs_;
  Fd program_;
  Ended ended_;
  std::string work_dir_;  ///< without namespaces
};

/// Throws the Error that says why there is no sandbox and what to do, if there is none.
void check(Mode mode);

/// What kAuto means here; Error when it means nothing.
Mode resolve(Mode mode);

}  // namespace leap::sandbox
