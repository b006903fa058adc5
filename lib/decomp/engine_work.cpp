#include "decomp/engine_work.hpp"

namespace leap::decomp {

std::uint64_t programs_of(const Cell& cell) {
  std::uint64_t out = 1;
  for (const Set& set : cell) out *= set.count();
  return out;
}

Cell cell_of(const Choice& choice) {
  Cell cell(choice.size());
  for (std::size_t l = 0; l < choice.size(); ++l) cell[l].set(static_cast<std::size_t>(choice[l]));
  return cell;
}

}  // namespace leap::decomp
