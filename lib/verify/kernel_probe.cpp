#include <algorithm>
#include <functional>

#include "verify/kernel_judge.hpp"

namespace leap::verify::kernel {
namespace {

/// Every element `value`.
std::string filled(Dtype type, std::size_t count, double value) {
  std::string out(count * size_of(type), '\0');
  for (std::size_t i = 0; i < count; ++i) put_number(type, value, out.data() + i * size_of(type));
  return out;
}

/// The elements of an input, repeated to `count`, in the output's type.
std::string copied(Dtype to, std::size_t count, Dtype from, const std::string& bytes) {
  std::string out(count * size_of(to), '\0');
  const std::size_t have = bytes.size() / size_of(from);
  for (std::size_t i = 0; i < count && have > 0; ++i)
    put_number(to, number_at(from, bytes.data() + i % have * size_of(from)), out.data() + i * size_of(to));
  return out;
}

/// The bytes of an output, given its argument's number and the trial.
using Answer = std::function<std::string(std::size_t, const Trial&)>;

bool passes(Problem& problem, const Answer& answer) {
  const Check& check = problem.check();
  for (std::size_t t = 0; t < check.trials(); ++t) {
    const Trial& trial = problem.trial(t);
    for (std::size_t i = 0; i < check.arguments.size(); ++i) {
      const Argument& argument = check.arguments[i];
      if (!argument.is_output()) continue;
      if (!compare(argument.type, answer(i, trial), (*problem.wanted(t))[i], check.rtol, check.atol).same())
        return false;
    }
  }
  return true;
}

}  // namespace

std::string Judge::probe(const Json& check_json, std::string_view id, std::vector<std::string>& passed_by) {
  const auto problem = problems_.get(check_json, options_.seed, id);
  const Check& check = problem->check();
  const std::string trouble = problem->find_wanted(check.trials(), workshop_, judges_);
  if (!trouble.empty()) return trouble;
  auto type = [&](std::size_t i) { return check.arguments[i].type; };
  auto try_answer = [&](const char* name, const Answer& answer) {
    const bool known = std::find(passed_by.begin(), passed_by.end(), name) != passed_by.end();
    if (!known && passes(*problem, answer)) passed_by.push_back(name);
  };
  try_answer("empty", [&](std::size_t i, const Trial& trial) {
    if (check.arguments[i].role == Role::kInout) return trial.inputs[i].bytes;
    std::string out(trial.inputs[i].count * size_of(type(i)), '\0');
    for (std::size_t k = 0; k < out.size(); ++k) out[k] = static_cast<char>(poison_byte(trial, type(i), k));
    return out;
  });
  auto constant = [&](double value) {
    return [&, value](std::size_t i, const Trial& trial) {
      return filled(type(i), trial.inputs[i].count, value);
    };
  };
  try_answer("zero", constant(0));
  try_answer("constant", constant(1));
  // The first element of the first answer that has one.
  try_answer("constant", [&](std::size_t i, const Trial& trial) {
    for (std::size_t t = 0; t < check.trials(); ++t) {
      const std::string& wanted = (*problem->wanted(t))[i];
      if (!wanted.empty()) return filled(type(i), trial.inputs[i].count, number_at(type(i), wanted.data()));
    }
    return std::string();
  });
  for (std::size_t from = 0; from < check.arguments.size(); ++from) {
    if (!check.arguments[from].is_buffer() || check.arguments[from].role == Role::kOut) continue;
    try_answer("echo", [&](std::size_t i, const Trial& trial) {
      return copied(type(i), trial.inputs[i].count, type(from), trial.inputs[from].bytes);
    });
  }
  return "";
}

}  // namespace leap::verify::kernel
