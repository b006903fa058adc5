#include "decomp/program.hpp"

#include "base/error.hpp"

namespace leap::decomp {

std::uint64_t program_count(const Decomposition& decomposition) {
  if (decomposition.functions.empty()) return 0;
  std::uint64_t count = 1;
  for (const Function& function : decomposition.functions) {
    const std::uint64_t k = function.implementations.size();
    if (k > 0 && count > (std::uint64_t{1} << 62) / k)
      throw RecordError("decompositions: more than 2^62 programs; give fewer functions or implementations");
    count *= k;
  }
  return count;
}

std::string program_text(const Decomposition& decomposition, const std::vector<int>& choice) {
  std::string out = decomposition.preamble;
  bool first = out.empty();
  auto add = [&](const std::string& part) {
    if (!first) out += '\n';
    first = false;
    out += part;
  };
  for (std::size_t i = 0; i < decomposition.functions.size(); ++i)
    add(decomposition.functions[i].implementations[static_cast<std::size_t>(choice[i])]);
  if (!decomposition.main.empty()) add(decomposition.main);
  return out;
}

}  // namespace leap::decomp
