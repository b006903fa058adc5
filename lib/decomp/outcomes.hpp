/// The verdicts of all programs of a decomposition, held without listing them.
///
/// Theory. The map from choices to outcomes is a decision diagram: level l branches on the implementation of
/// function l, equal parts are one node, a level on which all branches are equal is left out. It depends on
/// the map alone, not on how the programs were run; its paths in order of choice are the boxes.
#pragma once

#include <bitset>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace leap::decomp {

/// Programs that share their outcomes.
struct Box {
  std::vector<int> choice;     ///< implementation of each function, -1 for any
  std::uint64_t programs = 0;  ///< that it holds
  /// One letter a test (P W E C T M O); ends at the first failing test where not all outcomes were asked for.
  std::string outcomes;
};

inline constexpr std::size_t kMaxImplementations = 256;
/// Implementations of one function.
using Set = std::bitset<kMaxImplementations>;
/// The programs that a set for each function allows.
using Cell = std::vector<Set>;

class Outcomes {
 public:
  Outcomes() = default;
  /// `cells` are disjoint, each with its outcomes; programs in none of them were not evaluated.
  Outcomes(std::vector<int> sizes, const std::vector<std::pair<Cell, std::string>>& cells);

  /// Number of implementations of each function.
  const std::vector<int>& sizes() const { return sizes_; }
  /// Visits the boxes, sorted by choice, until `visit` returns false. Boxes are disjoint and hold exactly the
  /// evaluated programs.
  void for_each_box(const std::function<bool(const Box&)>& visit) const;
  /// The first `limit` boxes.
  std::vector<Box> boxes(std::size_t limit = SIZE_MAX) const;
  /// Their number, without listing them.
  std::uint64_t box_count() const;
  /// Empty when that program was not evaluated.
  std::string_view at(const std::vector<int>& choice) const;

  /// How many evaluated programs have these outcomes, and how many of them use implementation j of function
  /// l: `used[l][j]`. What sums over programs are made of; its cost is that of the diagram, not of k^n.
  struct Tally {
    std::string outcomes;
    std::uint64_t programs = 0;
    std::vector<std::vector<std::uint64_t>> used;
  };
  /// One entry for each different string of outcomes, sorted by it.
  std::vector<Tally> tally() const;

 private:
  struct Node {
    std::size_t level;  ///< sizes_.size(): terminal
    std::vector<std::uint32_t> kids;
    std::uint32_t text = 0;  ///< of a terminal
  };

  std::vector<int> sizes_;
  std::vector<Node> nodes_;
  std::vector<std::string> texts_;  ///< texts_[0] is "": not evaluated
  std::uint32_t root_ = 0;
};

}  // namespace leap::decomp
