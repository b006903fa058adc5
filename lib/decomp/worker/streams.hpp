/// What bodies of functions have as sys.stdin and sys.stdout while they are explored on values.
#pragma once

#include <Python.h>

#include <string>

namespace leap::decomp {

/// Installs the streams; `wrote` gets what is written to stdout. `bytes`: what is read is sys.stdin.buffer.
void start_streams(bool bytes, void (*wrote)(PyObject* text));

/// A new content for stdin, at its start.
void set_stdin(const std::string& content, bool bytes);
Py_ssize_t stdin_position();
void set_stdin_position(Py_ssize_t position);

/// A value of its marshal; null with an exception.
PyObject* read_marshal(const std::string& bytes);

}  // namespace leap::decomp
