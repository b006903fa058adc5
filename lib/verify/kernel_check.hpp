/// A problem's `kernel` check, read: signature, arguments, sizes, reference, tolerances.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "jsonl/json.hpp"
#include "verify/kernel_sizes.hpp"
#include "verify/kernel_values.hpp"

namespace leap::verify::kernel {

enum class Role { kIn, kOut, kInout, kSize, kScalar };

struct Argument {
  std::string name;
  Role role = Role::kIn;
  Dtype type = Dtype::kFloat32;  ///< of a value: the one that holds its parameter's
  std::string cpp_type;          ///< of the parameter, without const: "float*", "int"
  std::vector<Expression> shape;
  std::vector<Generator> values;  ///< one, unless there is nothing to draw

  bool is_buffer() const { return role == Role::kIn || role == Role::kOut || role == Role::kInout; }
  bool is_output() const { return role == Role::kOut || role == Role::kInout; }
};

struct Check {
  std::string signature;  ///< as given
  std::vector<Argument> arguments;
  std::vector<Sizes> sizes;
  Sizes benchmark;
  std::string reference;
  double rtol = 0, atol = 0;

  /// Of the largest of `sizes`, when the trials come to it only once.
  std::optional<std::size_t> once;

  /// Trials a candidate gets, the benchmark's included.
  std::size_t trials() const;
  /// The same and, numbered after them, one more call with that size and other inputs, which belongs to its
  /// trial: an answer kept by size is found out whatever sizes a problem has.
  std::size_t runs() const { return trials() + (once ? 1 : 0); }
  /// The trial that a run belongs to.
  std::size_t trial_of_run(std::size_t run) const { return run < trials() ? run : *once; }
  const Sizes& sizes_of_run(std::size_t run) const;
  /// Runs of equal number use the same buffers.
  std::size_t layout_of_run(std::size_t run) const;
};

/// Extents of a buffer. RecordError where one is negative or the product is too large.
std::vector<std::int64_t> shape_of(const Argument& argument, const Sizes& sizes);
std::size_t count_of(const std::vector<std::int64_t>& shape);

/// Of `task.check`. RecordError names the field.
Check read_check(const Json& check);

}  // namespace leap::verify::kernel
