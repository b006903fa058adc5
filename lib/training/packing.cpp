#include "training/packing.hpp"

#include <algorithm>
#include <span>

namespace leap::training {
namespace {

struct Sequence {
  std::size_t action = 0;
  std::vector<std::int64_t> ids;  // all that are computed
};

std::size_t common(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
  return static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
}

/// Builds the forest of some sequences in lexicographic order.
class Forest {
 public:
  Forest(std::span<const Sequence> sequences, const std::vector<Action>& actions) : sequences_(sequences) {
    rows_.resize(sequences.size());
    grow(0, sequences.size(), 0, -1);
    for (std::size_t i = 0; i < sequences.size(); ++i) {
      const Action& action = actions[sequences[i].action];
      pack_.unshared += static_cast<std::int64_t>(sequences[i].ids.size());
      pack_.lengths.push_back(static_cast<std::int64_t>(action.completion.size()));
      for (std::size_t t = 0; t < action.completion.size(); ++t)  // position t-1 scores token t
        pack_.targets.push_back({sequences[i].action, t, rows_[i][action.prompt.size() + t - 1]});
    }
  }
  Pack take() { return std::move(pack_); }

 private:
  /// The subtree of sequences [begin, end), which agree in their first `from` ids.
  void grow(std::size_t begin, std::size_t end, std::size_t from, std::int64_t parent) {
    while (begin < end) {
      const auto& first = sequences_[begin].ids;
      if (first.size() == from) {  // it ends where its parent does
        ++begin;
        continue;
      }
      std::size_t last = begin + 1, length = first.size();
      while (last < end && sequences_[last].ids[from] == first[from]) ++last;
      for (std::size_t i = begin; i + 1 < last; ++i)
        length = std::min(length, common(sequences_[i].ids, sequences_[i + 1].ids));
      const auto start = static_cast<std::int64_t>(pack_.packed.ids.size());
      const auto index = static_cast<std::int64_t>(pack_.packed.segments.size());
      pack_.packed.segments.push_back(
          {start, static_cast<std::int64_t>(length - from), parent, static_cast<std::int64_t>(from)});
      pack_.packed.ids.insert(pack_.packed.ids.end(), first.begin() + static_cast<std::ptrdiff_t>(from),
                              first.begin() + static_cast<std::ptrdiff_t>(length));
      for (std::size_t i = begin; i < last; ++i) {
        for (std::size_t p = from; p < length; ++p)
          rows_[i].push_back(start + static_cast<std::int64_t>(p - from));
      }
      if (last - begin > 1) grow(begin, last, length, index);
      begin = last;
    }
  }

  std::span<const Sequence> sequences_;
  std::vector<std::vector<std::int64_t>> rows_;  // of each sequence's ids
  Pack pack_;
};

}  // namespace

std::vector<Pack> pack(const std::vector<Action>& actions, const std::vector<std::size_t>& chosen,
                       std::int64_t room) {
  std::vector<Sequence> sequences;
  sequences.reserve(chosen.size());
  for (const std::size_t i : chosen) {
    Sequence sequence{i, actions[i].prompt};
    sequence.ids.insert(sequence.ids.end(), actions[i].completion.begin(), actions[i].completion.end() - 1);
    sequences.push_back(std::move(sequence));
  }
  // What begins alike stands together then, and a beginning before what goes on from it.
  std::stable_sort(sequences.begin(), sequences.end(),
                   [](const Sequence& a, const Sequence& b) { return a.ids < b.ids; });
  std::vector<Pack> out;
  std::size_t begin = 0, used = 0;
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    const std::size_t whole = sequences[i].ids.size();
    const std::size_t more = i == begin ? whole : whole - common(sequences[i - 1].ids, sequences[i].ids);
    if (i > begin && used + more > static_cast<std::size_t>(room)) {
      out.push_back(Forest({&sequences[begin], i - begin}, actions).take());
      begin = i;
      used = whole;
    } else {
      used += more;
    }
  }
  if (begin < sequences.size())
    out.push_back(Forest({&sequences[begin], sequences.size() - begin}, actions).take());
  return out;
}

}  // namespace leap::training
