/// The embedded interpreter: loading a decomposition's sources, and running one program to its end.
#pragma once

#include <Python.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace leap::decomp {

struct Limits {
  double cpu_s = 10, wall_s = 30;
  long memory_kb = 1 << 20, output_kb = 1024, file_kb = 16 << 10;
  long processes = 64;
  bool alone = true;  ///< what a program's own children use counts for it
};

/// A decomposition as loaded. Code objects are null where a text does not compile or `whole` is set.
struct Source {
  std::string preamble, main, entry;
  std::vector<std::string> names;
  std::vector<std::vector<std::string>> texts;
  PyObject* preamble_code = nullptr;
  PyObject* main_code = nullptr;
  std::vector<std::vector<PyObject*>> codes;
  bool whole = false;  ///< only whole texts are compiled
  bool final = false;  ///< the interpreter must come to its own end
  bool bytes = false;  ///< stdin is read as bytes
  bool call = false;   ///< the check calls `entry`
  Limits limits;

  void clear();
};

/// One test: what stdin holds, or what the entry point is called with (marshal).
struct Test {
  std::string input, args, kwargs;
};

/// What a child tells: a page shared with it. It can lie about itself only.
struct Shared {
  std::atomic<std::uint8_t> flags;
  std::atomic<std::uint32_t> beat;  ///< changes as long as what explores can still be interrupted
};

/// Where programs are and may write.
extern std::string work_dir;

/// Starts the interpreter as /usr/bin/python3 would; fds 0 and 1 must be the files that programs will have.
void start_python();

/// A module of the worker's own, made of `source`, that programs cannot import.
PyObject* own_module(const char* name, const char* source);

/// Fills `source` from what prepare() of gate.py returned, and imports what the sources will import. False
/// when it is not that.
bool load(Source& source, const std::string& prepared, std::vector<std::string>& reply);

/// In a child: runs the program of `choice` as `python3 prog.py` and leaves. A call's result goes to
/// `result_fd`. `define`, if given, makes the declared functions instead of the texts of `choice`.
[[noreturn]] void run_program(const Source& source, const std::vector<int>& choice, const Test& test,
                              Shared& shared, int result_fd,
                              const std::function<void(PyObject* space)>& define = nullptr);

/// Gives the result of a call as marshal of plain data (program-checks.md); false when it is none.
bool plain_marshal(PyObject* value, std::string& out);

/// The entry point: a function of the program, or the method of a new Solution. A new reference, or an error.
PyObject* find_entry(PyObject* space, const std::string& name);

/// The exit status that a SystemExit (normalised) asks for.
int exit_status(PyObject* error);

}  // namespace leap::decomp
