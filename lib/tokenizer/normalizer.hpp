/// The normalizer of a tokenizer.json: Unicode normal forms and simple edits of the text before it is split.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tokenizer/pattern.hpp"

namespace leap::tokenizer {

class Normalizer {
 public:
  /// Throws Error that names the field (`where` + ...) it does not support.
  Normalizer(const nlohmann::json& config, const std::string& where);

  /// Normalizes valid UTF-8 in place.
  void apply(std::string& text) const;

  bool empty() const { return steps_.empty(); }

 private:
  enum class Kind { kNfc, kNfd, kNfkc, kNfkd, kLowercase, kStrip, kPrepend, kReplace };
  struct Step {
    Kind kind;
    bool left = false, right = false;  ///< kStrip
    std::string text;                  ///< kPrepend, kReplace
    std::optional<Pattern> pattern;    ///< kReplace
  };
  void add(const nlohmann::json& config, const std::string& where);
  static void apply(const Step& step, std::string& text);

  std::vector<Step> steps_;
};

/// {"Regex": ..} or {"String": ..} of a tokenizer.json.
Pattern read_pattern(const nlohmann::json& config, const std::string& where);

}  // namespace leap::tokenizer
