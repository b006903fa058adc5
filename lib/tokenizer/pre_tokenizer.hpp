/// The pre-tokenizer of a tokenizer.json: text -> the pieces inside which BPE merges.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/pattern.hpp"

namespace leap::tokenizer {

class PreTokenizer {
 public:
  /// A piece as raw bytes; valid during the call only.
  using Sink = std::function<void(std::string_view)>;

  /// Throws Error that names the field (`where` + ...) it does not support; without a ByteLevel step nothing
  /// is.
  PreTokenizer(const nlohmann::json& config, const std::string& where);

  /// Hands the pieces of `text` (valid UTF-8) to `sink` in order.
  void split(std::string_view text, const Sink& sink) const;

 private:
  enum class Behaviour { kIsolated, kRemoved, kContiguous, kMergedWithPrevious, kMergedWithNext };
  struct Step {
    bool byte_level = false;
    bool prefix_space = false;       ///< ByteLevel: a space goes before a piece that has none
    int classes = 0;                 ///< characters of these classes match, if not 0
    std::optional<Pattern> pattern;  ///< else what this matches, if there is one
    bool invert = false;
    Behaviour behaviour = Behaviour::kIsolated;
  };
  void add(const nlohmann::json& config, const std::string& where);
  void run(std::size_t step, bool mapped, std::string_view text, const Sink& sink) const;
  void split_at(std::size_t step, bool mapped, std::string_view text, const Sink& sink) const;
  static void find(const Step& step, std::string_view text, std::vector<Piece>& pieces);
  static void merge(Behaviour behaviour, std::vector<Piece>& pieces);

  std::vector<Step> steps_;
};

}  // namespace leap::tokenizer
