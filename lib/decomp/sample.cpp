#include "decomp/sample.hpp"

#include <algorithm>
#include <set>

#include "base/random.hpp"

namespace leap::decomp {
namespace {

using Choices = std::vector<std::vector<int>>;

class Draws {
 public:
  explicit Draws(std::uint64_t key) : key_(key) {}
  std::size_t below(std::size_t n) {
    return static_cast<std::size_t>(uniform(key_, position_++) * static_cast<double>(n));
  }
  template <class T>
  void shuffle(std::vector<T>& items) {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(i)]);
  }

 private:
  std::uint64_t key_, position_ = 0;
};

Choices all_choices(const std::vector<int>& sizes) {
  Choices out;
  std::vector<int> choice(sizes.size(), 0);
  while (true) {
    out.push_back(choice);
    std::size_t i = sizes.size();
    while (i > 0 && ++choice[i - 1] == sizes[i - 1]) choice[--i] = 0;
    if (i == 0) return out;
  }
}

/// At most half of all: columns that are balanced by themselves, then swaps inside a column until no row is
/// there twice.
bool draw(const std::vector<int>& sizes, std::size_t count, Draws& draws, Choices& rows) {
  rows.assign(count, std::vector<int>(sizes.size()));
  for (std::size_t l = 0; l < sizes.size(); ++l) {
    std::vector<int> column, order;
    for (int j = 0; j < sizes[l]; ++j) order.push_back(j);
    draws.shuffle(order);
    for (std::size_t i = 0; i < count; ++i) column.push_back(order[i % order.size()]);
    draws.shuffle(column);
    for (std::size_t i = 0; i < count; ++i) rows[i][l] = column[i];
  }
  std::multiset<std::vector<int>> seen(rows.begin(), rows.end());
  for (std::size_t i = 0; i < count; ++i) {
    for (int tries = 0; seen.count(rows[i]) > 1; ++tries) {
      if (tries > 2000) return false;
      const std::size_t other = draws.below(count), l = draws.below(sizes.size());
      std::vector<int> a = rows[i], b = rows[other];
      std::swap(a[l], b[l]);
      if (a == b || seen.count(a) || seen.count(b)) continue;
      seen.erase(seen.find(rows[i]));
      seen.erase(seen.find(rows[other]));
      seen.insert(a);
      seen.insert(b);
      rows[i] = a;
      rows[other] = b;
    }
  }
  return true;
}

}  // namespace

Choices balanced_sample(const std::vector<int>& sizes, std::uint64_t count, std::uint64_t key) {
  std::uint64_t total = 1;
  for (const int size : sizes) total *= static_cast<std::uint64_t>(size);
  if (count >= total) return all_choices(sizes);
  // What is left of all by a balanced sample is balanced.
  const bool complement = count > total / 2;
  const auto drawn = static_cast<std::size_t>(complement ? total - count : count);
  Draws draws(key);
  Choices rows;
  bool found = false;
  for (int attempt = 0; attempt < 50 && !found; ++attempt) found = draw(sizes, drawn, draws, rows);
  if (!found) {
    std::set<std::vector<int>> distinct(rows.begin(), rows.end());
    while (distinct.size() < drawn) {
      std::vector<int> row;
      for (const int size : sizes)
        row.push_back(static_cast<int>(draws.below(static_cast<std::size_t>(size))));
      distinct.insert(row);
    }
    rows.assign(distinct.begin(), distinct.end());
  }
  std::sort(rows.begin(), rows.end());
  if (!complement) return rows;
  Choices rest;
  const Choices all = all_choices(sizes);
  std::set_difference(all.begin(), all.end(), rows.begin(), rows.end(), std::back_inserter(rest));
  return rest;
}

}  // namespace leap::decomp
