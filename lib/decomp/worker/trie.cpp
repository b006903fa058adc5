#include "trie.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "decomp/outcomes.hpp"
#include "frames.hpp"
#include "trie_bodies.hpp"

namespace leap::decomp {
namespace {

constexpr double kUnsure = 0.5;           // of the CPU limit: above it, a program is run by itself
constexpr std::size_t kSlack = 16 << 10;  // bytes of output that may be lost in a buffer

class Trie {
 public:
  Trie(const Source& source, const std::vector<Test>& tests, Shared& shared)
      : source_(source), bodies_(source, tests, shared), graph_(bodies_.graph()) {}

  void start() { bodies_.start(); }
  Fields explore(std::size_t test, std::string_view cells, double budget_s);

 private:
  struct Walk {
    enum class What { kEnd, kSplit, kRun } what;
    Told told;
    std::vector<Cell> parts;
    Root* root = nullptr;
    Cell hints;
  };

  Walk walk(Root& root, const Cell& cell);
  char letter(const Told& told) const;

  const Source& source_;
  Bodies bodies_;
  Graph& graph_;
};

/// Follows all programs of a cell as far as they go together.
Trie::Walk Trie::walk(Root& root, const Cell& cell) {
  Walk out{Walk::What::kEnd, {}, {}, nullptr, {}};
  Told& told = out.told;
  told.depth = kOwnDepth;
  Node* node = &root.first;
  while (true) {
    if (node->step == Node::Step::kUnexplored) {
      out.what = Walk::What::kRun;
      out.root = &root;
      out.hints = cell;
      return out;
    }
    if (node->step == Node::Step::kEnd) {
      told.result = node->result;
      told.cost_s += node->own_s;
      return out;
    }
    const auto function = static_cast<std::size_t>(node->function);
    const Set& choices = cell[function];
    if (node->step == Node::Step::kChoice) {
      told.depends |= std::uint64_t{1} << (function & 63);
      if (choices.count() > 1) {
        out.what = Walk::What::kSplit;
        for (std::size_t j = choices._Find_first(); j < choices.size(); j = choices._Find_next(j)) {
          out.parts.push_back(cell);
          out.parts.back()[function].reset();
          out.parts.back()[function].set(j);
        }
        return out;
      }
      node = graph_.chosen(*node, static_cast<int>(choices._Find_first()));
      continue;
    }
    // A call: the implementations that are allowed, by what they return.
    struct Same {
      bool here;
      std::uint32_t id;
      Set choices;
      double cost_s;
      int depth;
    };
    std::vector<Same> groups;
    if (node->known.empty()) node->known.resize(graph_.size_of(node->function));
    std::uint64_t depends = std::uint64_t{1} << (function & 63);
    for (std::size_t j = choices._Find_first(); j < choices.size(); j = choices._Find_next(j)) {
      Same same{false, 0, {}, 0, 0};
      Node::Known& known = node->known[j];
      if (!node->by_choice.empty() && node->by_choice[j]) {
        same.here = true;
        same.id = static_cast<std::uint32_t>(j);
      } else if (known.known) {
        same.id = known.result;
        same.cost_s = known.cost_s;
        same.depth = known.depth;
      } else {
        Cell inner_cell = cell;
        inner_cell[function].reset();
        inner_cell[function].set(j);
        Walk inner = walk(graph_.root_of(*node->group, static_cast<int>(j)), inner_cell);
        if (inner.what == Walk::What::kRun) return inner;
        if (inner.what == Walk::What::kSplit) {
          Cell rest = cell;
          rest[function].reset(j);
          if (rest[function].any()) inner.parts.push_back(std::move(rest));
          return inner;
        }
        depends |= inner.told.depends;
        if (graph_.result(inner.told.result).kind == Kind::kInline) {
          graph_.chosen(*node, static_cast<int>(j));
          same.here = true;
          same.id = static_cast<std::uint32_t>(j);
        } else {
          same.id = inner.told.result;
          same.cost_s = inner.told.cost_s;
          same.depth = inner.told.depth;
          if (inner.told.depends == 0) known = {true, same.id, same.cost_s, same.depth};
        }
      }
      bool placed = false;
      for (Same& other : groups) {
        if (other.here != same.here || other.id != same.id) continue;
        other.choices.set(j);
        other.cost_s = std::max(other.cost_s, same.cost_s);
        other.depth = std::max(other.depth, same.depth);
        placed = true;
      }
      if (!placed) {
        same.choices.set(j);
        groups.push_back(same);
      }
    }
    if (groups.size() != 1) {
      out.what = Walk::What::kSplit;
      for (const Same& same : groups) {
        out.parts.push_back(cell);
        out.parts.back()[function] = same.choices;
      }
      return out;
    }
    const Same& same = groups[0];
    told.depends |= depends;
    told.cost_s += same.cost_s;
    told.depth = std::max(told.depth, node->depth + same.depth);
    node = same.here ? graph_.chosen(*node, static_cast<int>(same.id)) : graph_.child(*node, same.id);
  }
}

/// ' ' for what ended normally and is to be compared, '?' for what is to be run by itself.
char Trie::letter(const Told& told) const {
  const Result& result = graph_.result(told.result);
  const std::size_t limit = static_cast<std::size_t>(source_.limits.output_kb) << 10;
  if (result.out.size() > limit + kSlack) return 'O';
  if (result.kind == Kind::kUnknown || result.kind == Kind::kInline || result.out.size() > limit ||
      told.depth > kDepthLimit)
    return '?';
  if (result.kind == Kind::kTimeout) return 'T';
  if (told.cost_s > kUnsure * bodies_.limit_s()) return '?';
  if (result.kind == Kind::kRaise) return result.value[0] == 0 && !source_.call ? ' ' : 'E';
  return ' ';
}

Fields Trie::explore(std::size_t test, std::string_view packed_cells, double budget_s) {
  const double deadline_s = budget_s > 0 ? wall_now() + budget_s : 0;
  bodies_.set_test(test, deadline_s);
  Root& root = graph_.main_root();

  const std::size_t n = source_.names.size();
  std::string found;
  Fields results;
  std::map<std::pair<std::uint32_t, char>, std::uint32_t> told_before;
  for (std::uint32_t index = 0; !packed_cells.empty(); ++index) {
    Cell whole;
    for (std::size_t l = 0; l < n; ++l) whole.push_back(take<Set>(packed_cells));
    std::vector<Cell> todo{whole};
    std::uint64_t bodies_before = 0;
    int stuck = 0;
    while (!todo.empty() && !bodies_.stopping()) {
      if (deadline_s > 0 && wall_now() > deadline_s) {
        bodies_.stop();
        break;
      }
      const Cell cell = std::move(todo.back());
      todo.pop_back();
      Walk way = walk(root, cell);
      if (way.what == Walk::What::kSplit) {
        for (Cell& part : way.parts) todo.push_back(std::move(part));
      } else if (way.what == Walk::What::kRun) {
        bodies_.run(*way.root, way.hints);
        stuck = bodies_.count() == bodies_before ? stuck + 1 : 0;
        if (stuck > 100) _exit(9);
        bodies_before = bodies_.count();
        todo.push_back(cell);
      } else {
        const char what = letter(way.told);
        const Result& result = graph_.result(way.told.result);
        const auto [known, fresh] = told_before.emplace(std::make_pair(way.told.result, what),
                                                        static_cast<std::uint32_t>(results.size()));
        if (fresh)
          results.push_back(std::string(1, what) + (what != ' '    ? ""
                                                    : source_.call ? result.value
                                                                   : result.out));
        put(found, index);
        put(found, known->second);
        for (const Set& set : cell) put(found, set);
      }
    }
    if (bodies_.stopping()) break;
  }
  Fields out = {"found", "0", std::to_string(bodies_.count()), std::move(found)};
  out.insert(out.end(), std::make_move_iterator(results.begin()), std::make_move_iterator(results.end()));
  return out;
}

}  // namespace

void serve_trie(const Source& source, const std::vector<Test>& tests, Shared& shared, int socket) {
  static Trie own(source, tests, shared);
  own.start();
  Fields request;
  while (read_frame(socket, request)) {
    if (request.size() != 4) break;
    const Fields answer = own.explore(static_cast<std::size_t>(std::atoi(request[1].c_str())), request[2],
                                      std::atof(request[3].c_str()));
    if (!write_all(socket, packed(answer))) break;
  }
  _exit(0);
}

}  // namespace leap::decomp
