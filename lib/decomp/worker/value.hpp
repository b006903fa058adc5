/// Python values as bytes: what a function was called with and what it returned, when that is all there is to
/// it.
#pragma once

#include <Python.h>

#include <string>
#include <unordered_set>

namespace leap::decomp {

/// The mutable objects that a value consists of.
using Parts = std::unordered_set<PyObject*>;

/// Appends `value` to `out`. False where the bytes would not be the value: an object that is mutable and
/// occurs twice (in `parts` already), a type that is not one of the plain built-in ones, a nan (it equals
/// itself only as an object), a set whose order would be another one when made anew.
bool write_value(PyObject* value, std::string& out, Parts& parts);

/// A new value of the bytes from `at` on, which moves behind it. Null with an exception where memory ends.
PyObject* read_value(const std::string& bytes, std::size_t& at);

}  // namespace leap::decomp
