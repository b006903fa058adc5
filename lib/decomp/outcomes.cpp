#include "decomp/outcomes.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace leap::decomp {
namespace {

struct ListHash {
  std::size_t operator()(const std::vector<std::uint32_t>& list) const {
    std::uint64_t h = 0x9e3779b97f4a7c15ULL + list.size();
    for (const std::uint32_t x : list) h = (h ^ x) * 0x100000001b3ULL, h ^= h >> 29;
    return h;
  }
};

}  // namespace

Outcomes::Outcomes(std::vector<int> sizes, const std::vector<std::pair<Cell, std::string>>& cells)
    : sizes_(std::move(sizes)) {
  const std::size_t levels = sizes_.size();
  texts_.push_back("");
  std::unordered_map<std::string, std::uint32_t> text_ids{{"", 0}};
  std::vector<std::uint32_t> texts_of_cells;
  for (const auto& [cell, outcomes] : cells) {
    const auto [found, fresh] = text_ids.emplace(outcomes, static_cast<std::uint32_t>(texts_.size()));
    if (fresh) texts_.push_back(outcomes);
    texts_of_cells.push_back(found->second);
  }
  using List = std::vector<std::uint32_t>;
  std::vector<std::unordered_map<List, std::uint32_t, ListHash>> by_cells(levels + 1), by_kids(levels + 1);
  auto unique = [&](std::size_t level, List kids, std::uint32_t text) {
    List key = kids;
    if (level == levels) key = {text};
    const auto [found, fresh] =
        by_kids[level].emplace(std::move(key), static_cast<std::uint32_t>(nodes_.size()));
    if (fresh) nodes_.push_back({level, std::move(kids), text});
    return found->second;
  };
  // The node of what the cells of `list` (all that allow the choices so far) say about the levels below.
  const std::function<std::uint32_t(std::size_t, const List&)> build = [&](std::size_t level,
                                                                           const List& list) {
    if (level == levels || list.empty())
      return unique(levels, {}, list.empty() ? 0 : texts_of_cells[list[0]]);
    const auto found = by_cells[level].find(list);
    if (found != by_cells[level].end()) return found->second;
    List kids;
    for (int j = 0; j < sizes_[level]; ++j) {
      List inside;
      for (const std::uint32_t cell : list)
        if (cells[cell].first[level][static_cast<std::size_t>(j)]) inside.push_back(cell);
      kids.push_back(build(level + 1, inside));
    }
    const bool same =
        std::all_of(kids.begin(), kids.end(), [&](std::uint32_t kid) { return kid == kids[0]; });
    const std::uint32_t node = same ? kids[0] : unique(level, std::move(kids), 0);
    by_cells[level].emplace(list, node);
    return node;
  };
  List all(cells.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint32_t>(i);
  root_ = build(0, all);
}

void Outcomes::for_each_box(const std::function<bool(const Box&)>& visit) const {
  if (nodes_.empty()) return;
  Box box;
  box.choice.assign(sizes_.size(), -1);
  const std::function<bool(std::uint32_t, std::size_t, std::uint64_t)> walk =
      [&](std::uint32_t at, std::size_t level, std::uint64_t programs) {
        const Node& node = nodes_[at];
        for (; level < node.level; ++level) programs *= static_cast<std::uint64_t>(sizes_[level]);
        if (node.level == sizes_.size()) {
          if (node.text == 0) return true;
          box.programs = programs;
          box.outcomes = texts_[node.text];
          return visit(box);
        }
        bool more = true;
        for (std::size_t j = 0; more && j < node.kids.size(); ++j) {
          box.choice[level] = static_cast<int>(j);
          more = walk(node.kids[j], level + 1, programs);
        }
        box.choice[level] = -1;
        return more;
      };
  walk(root_, 0, 1);
}

std::vector<Box> Outcomes::boxes(std::size_t limit) const {
  std::vector<Box> out;
  if (limit == 0) return out;
  for_each_box([&](const Box& box) {
    out.push_back(box);
    return out.size() < limit;
  });
  return out;
}

std::uint64_t Outcomes::box_count() const {
  // Kids come before their parents in nodes_.
  std::vector<std::uint64_t> counts;
  for (const Node& node : nodes_) {
    std::uint64_t count = node.level == sizes_.size() && node.text != 0 ? 1 : 0;
    for (const std::uint32_t kid : node.kids) count += counts[kid];
    counts.push_back(count);
  }
  return counts.empty() ? 0 : counts[root_];
}

std::string_view Outcomes::at(const std::vector<int>& choice) const {
  if (nodes_.empty()) return {};
  std::uint32_t at = root_;
  while (nodes_[at].level < sizes_.size())
    at = nodes_[at].kids[static_cast<std::size_t>(choice[nodes_[at].level])];
  return texts_[nodes_[at].text];
}

std::vector<Outcomes::Tally> Outcomes::tally() const {
  std::vector<Tally> out;
  if (nodes_.empty()) return out;
  const std::size_t levels = sizes_.size();
  // Below each node and for each text: the number of programs over the levels from the node's own on.
  std::vector<std::map<std::uint32_t, std::uint64_t>> below(nodes_.size());
  auto free_choices = [&](std::size_t from, std::size_t to) {
    std::uint64_t count = 1;
    for (std::size_t level = from; level < to; ++level) count *= static_cast<std::uint64_t>(sizes_[level]);
    return count;
  };
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = nodes_[i];
    if (node.level == levels) {
      below[i][node.text] = 1;
      continue;
    }
    for (const std::uint32_t kid : node.kids)
      for (const auto& [text, count] : below[kid])
        below[i][text] += count * free_choices(node.level + 1, nodes_[kid].level);
  }
  std::map<std::uint32_t, Tally> tallies;
  for (const auto& [text, count] : below[root_]) {
    if (text == 0) continue;
    Tally& tally = tallies[text];
    tally.outcomes = texts_[text];
    tally.programs = count * free_choices(0, nodes_[root_].level);
    for (const int size : sizes_) tally.used.emplace_back(static_cast<std::size_t>(size), 0);
  }
  // `above`: the number of choices of the levels before a node's own that lead to it.
  std::vector<std::uint64_t> above(nodes_.size(), 0);
  above[root_] = free_choices(0, nodes_[root_].level);
  // A level that an edge from `from` to `to` skips is used evenly by the programs that take the edge.
  auto spread = [&](std::uint32_t to, std::size_t from, std::uint64_t ways) {
    for (std::size_t level = from; level < nodes_[to].level; ++level)
      for (const auto& [text, count] : below[to]) {
        if (text == 0) continue;
        const std::uint64_t each = ways * count / static_cast<std::uint64_t>(sizes_[level]);
        for (std::uint64_t& used : tallies[text].used[level]) used += each;
      }
  };
  spread(root_, 0, above[root_]);
  for (std::size_t i = nodes_.size(); i-- > 0;) {
    const Node& node = nodes_[i];
    if (above[i] == 0) continue;
    for (std::size_t j = 0; j < node.kids.size(); ++j) {
      const std::uint32_t kid = node.kids[j];
      const std::uint64_t ways = above[i] * free_choices(node.level + 1, nodes_[kid].level);
      above[kid] += ways;
      for (const auto& [text, count] : below[kid])
        if (text != 0) tallies[text].used[node.level][j] += ways * count;
      spread(kid, node.level + 1, ways);
    }
  }
  for (auto& [text, tally] : tallies) out.push_back(std::move(tally));
  std::sort(out.begin(), out.end(), [](const Tally& a, const Tally& b) { return a.outcomes < b.outcomes; });
  return out;
}

}  // namespace leap::decomp
