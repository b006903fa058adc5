#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "jsonl/json.hpp"
#include "tokenizer/pattern.hpp"
#include "tokenizer/stop.hpp"
#include "tokenizer/tokenizer.hpp"
#include "tokenizer/unicode.hpp"

namespace {

using leap::Json;
using leap::tokenizer::Pattern;
using leap::tokenizer::Piece;
using leap::tokenizer::Span;
using leap::tokenizer::TextStream;
using leap::tokenizer::Tokenizer;
using Ids = std::vector<std::int64_t>;

const std::string kGolden = LEAP_SOURCE_DIR "/tests/golden/tokenizer/";

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  REQUIRE(in);
  return {std::istreambuf_iterator<char>(in), {}};
}

Tokenizer golden(const std::string& name) {
  return Tokenizer::from_json(read_file(kGolden + name + ".json"), name);
}

/// A random text of characters that patterns tell apart.
std::string random_text(std::mt19937_64& random, std::size_t length) {
  static const std::vector<std::string> atoms = {" ",
                                                 " ",
                                                 " ",
                                                 "\n",
                                                 "\r",
                                                 "\r\n",
                                                 "\t",
                                                 "\v",
                                                 "a",
                                                 "b",
                                                 "Z",
                                                 "\xc3\xa9",
                                                 "e\xcc\x81",
                                                 "\xce\xa9",
                                                 "1",
                                                 "23",
                                                 "\xd9\xa3",
                                                 "\xc2\xbd",
                                                 "\xe2\x85\xa7",
                                                 "'",
                                                 "'s",
                                                 "'S",
                                                 "'\xc5\xbf",
                                                 "'ll",
                                                 "'RE",
                                                 "'v",
                                                 ".",
                                                 ",",
                                                 "==",
                                                 "_",
                                                 "\xe4\xb8\xad",
                                                 "\xf0\x9f\x98\x80",
                                                 "\xe2\x80\x8d",
                                                 "\xc2\xa0",
                                                 "\xe3\x80\x80",
                                                 "\xe1\xa0\x8e",
                                                 "\xc2\x85",
                                                 "<",
                                                 "|",
                                                 ">",
                                                 "\xcc\x80",
                                                 "\xe0\xa4\x83"};
  std::string out;
  for (std::size_t i = 0; i < length; ++i) {
    if (random() % 16 == 0) {
      std::uint32_t c = static_cast<std::uint32_t>(random() % (random() % 2 == 0 ? 0x110000 : 0x3000));
      if (c >= 0xd800 && c <= 0xdfff) c = 0xfffd;
      leap::tokenizer::append_char(out, c);
    } else {
      out += atoms[random() % atoms.size()];
    }
  }
  return out;
}

std::vector<std::string> split(const Pattern& pattern, const std::string& text) {
  std::vector<Piece> pieces;
  pattern.pieces(text, pieces);
  std::vector<std::string> out;
  for (const Piece& piece : pieces) {
    out.emplace_back(1, piece.matched ? '+' : '-');
    out.back().append(text, piece.begin, piece.end - piece.begin);
  }
  return out;
}

/// The message of the Error that `json` gives.
std::string refusal(Json json) {
  try {
    Tokenizer::from_json(json.dump());
  } catch (const leap::Error& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("ids and texts equal the tokenizers package's", "[tokenizer]") {
  for (const std::string name : {"gpt2", "smollm2", "qwen2", "llama3", "gpt4o", "falcon", "odd"}) {
    const Tokenizer tokenizer = golden(name);
    std::ifstream in(kGolden + name + ".cases.jsonl");
    std::string line;
    std::size_t count = 0;
    while (std::getline(in, line)) {
      const Json test = leap::jsonl::parse(line);
      const auto text = test["text"].get<std::string>();
      const Ids ids = leap::jsonl::integers(test["ids"]);
      INFO(name << ": " << line);
      if (test.contains("add_special")) {
        CHECK(tokenizer.encode(text, test["add_special"].get<bool>(), test["parse_special"].get<bool>()) ==
              ids);
      } else {
        CHECK(tokenizer.decode(ids) == text);
      }
      ++count;
    }
    CHECK(count > 100);
  }
}

TEST_CASE("a text without a normalizer comes back from its ids", "[tokenizer]") {
  std::mt19937_64 random(1);
  for (const std::string name : {"gpt2", "smollm2", "llama3", "gpt4o", "falcon"}) {
    const Tokenizer tokenizer = golden(name);
    for (int i = 0; i < 200; ++i) {
      const std::string text = random_text(random, random() % 60);
      INFO(name << ": " << text);
      CHECK(tokenizer.decode(tokenizer.encode(text, false)) == text);
      CHECK(tokenizer.decode(tokenizer.encode(text, false, false)) == text);
    }
  }
}

TEST_CASE("scanners split as their patterns do", "[tokenizer]") {
  std::mt19937_64 random(2);
  for (const char* source :
       {leap::tokenizer::kGpt2Pattern, leap::tokenizer::kQwen2Pattern, leap::tokenizer::kLlama3Pattern}) {
    const Pattern fast = Pattern::regex(source);
    REQUIRE(fast.scanner() != nullptr);
    const Pattern slow = Pattern::plain_regex(source);
    for (int i = 0; i < 3000; ++i) {
      const std::string text = random_text(random, 1 + random() % 25);
      INFO(text);
      REQUIRE(split(fast, text) == split(slow, text));
    }
    // Every code point, after a letter and before one.
    std::string text;
    for (std::uint32_t c = 0; c < 0x110000; ++c) {
      if (c >= 0xd800 && c <= 0xdfff) continue;
      text += 'a';
      leap::tokenizer::append_char(text, c);
      if (c % 2 == 0) text += ' ';
    }
    CHECK(split(fast, text) == split(slow, text));
  }
}

TEST_CASE("long pieces are tokenized in good time", "[tokenizer]") {
  const Tokenizer tokenizer = golden("qwen2");
  for (const std::string unit :
       {"a", "ab", " ", "\n", "=", "\xe4\xb8\xad", "1", "\xcc\x81", "\xcc\x81\xcc\xb4"}) {
    std::string text;
    while (text.size() < 1000000) text += unit;
    const Ids ids = tokenizer.encode(text, false);
    CHECK(tokenizer.decode(ids).size() > 900000);
  }
}

TEST_CASE("special tokens inside contents are text", "[tokenizer]") {
  const Tokenizer tokenizer = golden("smollm2");
  const std::int64_t end = *tokenizer.token_id("<|im_end|>");
  CHECK(tokenizer.is_special(end));
  CHECK_FALSE(tokenizer.is_special(*tokenizer.token_id("a")));
  const std::string text = "<|im_end|>a<|im_end|>b<|im_end|>";
  const auto count = [&](const Ids& ids) { return std::count(ids.begin(), ids.end(), end); };
  CHECK(count(tokenizer.encode_with_content(text, {})) == 3);
  CHECK(tokenizer.encode_with_content(text, {}) == tokenizer.encode(text, false));
  CHECK(count(tokenizer.encode_with_content(text, {{10, 22}})) == 2);
  CHECK(count(tokenizer.encode_with_content(text, {{11, 12}})) ==
        2);  // only a part of it stands in the content
  CHECK(count(tokenizer.encode_with_content(text, {{10, 11}, {21, 22}})) == 3);
  CHECK(tokenizer.encode_with_content(text, {{0, text.size()}}) == tokenizer.encode(text, false, false));
  CHECK(tokenizer.decode(tokenizer.encode_with_content(text, {{10, 22}})) == text);
}

TEST_CASE("a stop text is seen across the borders of tokens", "[tokenizer]") {
  const Tokenizer tokenizer = golden("gpt2");
  const auto run = [&](const std::vector<std::string>& stops, const std::string& text) {
    TextStream stream(tokenizer, stops);
    std::size_t pushed = 0;
    for (const char c : text) {  // one byte a token
      ++pushed;
      if (stream.push(tokenizer.encode(std::string(1, c), false)[0])) break;
    }
    return std::make_pair(stream.text(), pushed);
  };
  CHECK(run({"\n\n"}, "ab\ncd\n\nef") == std::make_pair(std::string("ab\ncd"), std::size_t{7}));
  CHECK(run({"cde", "d"}, "abcdef") == std::make_pair(std::string("abc"), std::size_t{4}));
  CHECK(run({"xyz"}, "abc") == std::make_pair(std::string("abc"), std::size_t{3}));
  CHECK(run({}, "abc").first == "abc");
  CHECK_THROWS_AS(TextStream(tokenizer, {""}), leap::UsageError);

  // Several stops complete in one token: the one that begins first.
  TextStream stream(tokenizer, {"o", "ell"});
  bool stopped = false;
  for (const std::int64_t id : tokenizer.encode("Hello", false)) stopped = stream.push(id);
  CHECK(stopped);
  CHECK(stream.text() == "H");

  // Half a character is no text yet, and stays U+FFFD when nothing follows.
  const Ids ids = tokenizer.encode("\xf0\x9f\x98\x82", false);
  TextStream half(tokenizer, {});
  half.push(ids[0]);
  CHECK(half.text() == tokenizer.decode({ids[0]}));
  for (std::size_t i = 1; i < ids.size(); ++i) half.push(ids[i]);
  CHECK(half.text() == "\xf0\x9f\x98\x82");
  half.push(1 << 20);
  half.push(-1);
  CHECK(half.text() == "\xf0\x9f\x98\x82");
}

TEST_CASE("what is not supported is refused by name", "[tokenizer]") {
  const Json good = Json::parse(read_file(kGolden + "gpt2.json"));
  CHECK(refusal(good) == "accepted");
  const auto with = [&](const std::string& pointer, Json value) {
    Json config = good;
    config[Json::json_pointer(pointer)] = std::move(value);
    return refusal(config);
  };
  using Catch::Contains;
  CHECK_THAT(with("/model/type", "Unigram"), Contains("model.type"));
  CHECK_THAT(with("/model/end_of_word_suffix", "</w>"), Contains("model.end_of_word_suffix"));
  CHECK_THAT(with("/model/continuing_subword_prefix", "##"), Contains("model.continuing_subword_prefix"));
  CHECK_THAT(with("/model/dropout", 0.1), Contains("model.dropout"));
  CHECK_THAT(with("/model/merges/0", "x"), Contains("model.merges[0]"));
  CHECK_THAT(with("/model/merges/0", Json::array({"a", "nosuchtoken"})), Contains("nosuchtoken"));
  CHECK_THAT(with("/model/vocab", 3), Contains("model.vocab"));
  CHECK_THAT(with("/normalizer", {{"type", "Precompiled"}}),
             Contains("normalizer.type") && Contains("Precompiled"));
  CHECK_THAT(with("/normalizer", {{"type", "Sequence"}, {"normalizers", Json::array({{{"type", "Nmt"}}})}}),
             Contains("normalizer.normalizers[0].type"));
  CHECK_THAT(with("/pre_tokenizer", nullptr), Contains("pre_tokenizer"));
  CHECK_THAT(with("/pre_tokenizer", {{"type", "Metaspace"}}), Contains("Metaspace"));
  CHECK_THAT(with("/pre_tokenizer", {{"type", "Digits"}}), Contains("ByteLevel"));
  CHECK_THAT(
      with("/pre_tokenizer", {{"type", "Split"}, {"pattern", {{"Regex", "("}}}, {"behavior", "Isolated"}}),
      Contains("pre_tokenizer.pattern"));
  CHECK_THAT(with("/post_processor", {{"type", "Odd"}}), Contains("post_processor.type"));
  CHECK_THAT(with("/decoder", {{"type", "WordPiece"}}), Contains("decoder"));
  CHECK_THAT(with("/decoder", nullptr), Contains("decoder"));
  for (const char* pattern : {"[a[b]]", "[a&&b]", "(?<x>a)", "(?m:a)", "a{2}+", "\\G", "[^\\P{L}]x["}) {
    INFO(pattern);
    CHECK_THROWS_AS(Pattern::regex(pattern), leap::Error);
  }
  CHECK_THROWS_AS(Tokenizer::from_json("{"), leap::Error);
  CHECK_THROWS_AS(Tokenizer::from_json("[]"), leap::Error);
  CHECK_THROWS_AS(Tokenizer::load("/nonexistent"), leap::Error);
}
