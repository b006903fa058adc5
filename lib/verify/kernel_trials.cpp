#include "verify/kernel_trials.hpp"

#include "base/random.hpp"

namespace leap::verify::kernel {

std::uint64_t problem_key(std::uint64_t seed, std::string_view id) {
  return draw_key(seed, id, hash64("kernel"), 0);
}

Trial make_trial(const Check& check, std::uint64_t key, std::size_t number) {
  Trial out;
  out.number = number;
  out.layout = check.layout_of_run(number);
  out.is_benchmark = number + 1 == check.trials();
  out.poison = random_bits(key, 2 * number);
  const std::uint64_t own = random_bits(key, 2 * number + 1);
  const Sizes& sizes = check.sizes_of_run(number);
  for (std::size_t i = 0; i < check.arguments.size(); ++i) {
    const Argument& argument = check.arguments[i];
    Input input;
    if (argument.is_buffer()) {
      input.shape = shape_of(argument, sizes);
      input.count = count_of(input.shape);
      out.bytes += input.count * size_of(argument.type);
      if (argument.is_output() && input.count > 0) out.empty = false;
    } else {
      input.count = 1;
    }
    if (argument.role == Role::kSize) {
      input.bytes.resize(size_of(argument.type));
      for (const auto& [name, value] : sizes)
        if (name == argument.name) put_integer(argument.type, value, input.bytes.data());
    } else if (argument.role != Role::kOut) {
      input.bytes = argument.values[0].make(random_bits(own, i), input.count, sizes);
    }
    out.inputs.push_back(std::move(input));
  }
  return out;
}

unsigned char poison_byte(const Trial& trial, Dtype type, std::size_t i) {
  return is_float(type) ? 0xff : static_cast<unsigned char>(trial.poison >> (8 * (i % 8)));
}

}  // namespace leap::verify::kernel
