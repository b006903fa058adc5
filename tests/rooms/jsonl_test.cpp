#include "jsonl/json.hpp"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <random>

#include "base/error.hpp"
#include "base/random.hpp"
#include "jsonl/lines.hpp"

using namespace leap;

namespace {

std::string through(const std::string& text) {
  return jsonl::dump(jsonl::parse(text));
}

std::string long_array(int n, const char* item) {
  std::string out = "[";
  for (int i = 0; i < n; ++i) out += (i ? "," : "") + std::string(item);
  return out + "]";
}

/// A random JSON text, with token arrays, escapes, wide numbers and nested shapes.
std::string random_json(std::mt19937& rng, int depth) {
  const auto pick = [&](int n) { return static_cast<int>(rng() % static_cast<unsigned>(n)); };
  switch (depth > 0 ? pick(8) : pick(5)) {
    case 0:
      return std::to_string(static_cast<std::int64_t>(rng()) * (pick(2) ? 1 : -1));
    case 1:
      return std::to_string(rng()) + "." + std::to_string(rng() % 1000 + 1);
    case 2:
      return pick(2) ? "true" : "null";
    case 3:
      return "\"q\\\"b\\\\ \\n \xc3\xa9 logprobs\\\": [1]\"";
    case 4:
      return "\"\"";
    case 5: {
      std::string out = "[";
      for (int i = pick(4); i >= 0; --i) out += random_json(rng, depth - 1) + (i ? "," : "");
      return out + "]";
    }
    case 6: {
      std::string out = "{";
      for (int i = pick(4); i >= 0; --i) {
        out += "\"m" + std::to_string(i) + "\":" + random_json(rng, depth - 1) + (i ? "," : "");
      }
      return out + "}";
    }
    default:
      return "{\"logprobs\":" + long_array(40, "-0.125") + ",\"completion_ids\":" + long_array(60, "49151") +
             "}";
  }
}

std::string temporary_file(const std::string& content) {
  char name[] = "/tmp/leap-lines-XXXXXX";
  const int fd = mkstemp(name);
  REQUIRE(fd >= 0);
  jsonl::LineWriter(fd, name).write(content);
  close(fd);
  return name;
}

}  // namespace

TEST_CASE("values pass through with order, integers and text kept", "[jsonl]") {
  for (const std::string text : {
           R"({"b":1,"a":{"z":[],"y":{}},"c":[true,false,null]})",
           R"({"big":9223372036854775807,"low":-9223372036854775808,"unsigned":18446744073709551615})",
           R"({"wider":123456789012345678901234567890,"neg":-123456789012345678901234567890})",
           R"({"text":"é 漢字 \"q\" \\ \n \t \u0000 \u001f 😀"})",
           R"({"f":0.1,"g":1e+300,"h":-2.5e-07,"i":100.0})",
       }) {
    CHECK(through(text) == text);
  }
  CHECK(through("{\"a\":1.50,\"b\":1E2, \"c\" : -0}") == "{\"a\":1.5,\"b\":100.0,\"c\":0}");
  CHECK(through("\"\\u00e9\\/\\ud83d\\ude00\"") == "\"é/😀\"");
}

TEST_CASE("integers beyond any double keep their digits", "[jsonl]") {
  const std::string digits(5000, '7'), ids = long_array(70, "12");
  for (const std::string& text : {digits, "-" + digits, "[" + digits + ",0,-" + digits + "]",
                                  R"({"a":")" + digits + R"(\"","prompt_ids":)" + ids + R"(,"b":[)" + digits +
                                      R"(],"logprobs":)" + ids + "}"}) {
    CHECK(through(text) == text);
  }
  for (const std::string& bad :
       {digits + ".5", digits + "e1", "0" + digits, "-0" + digits, digits + "-1", "--" + digits, "[" + digits + " 1]",
        "[1e999," + digits + "]", "[0.0e-31337," + digits + "]"}) {
    INFO(bad.substr(0, 20));
    CHECK_THROWS_AS(jsonl::parse(bad), RecordError);
  }
  try {
    jsonl::parse(digits + ".5");
  } catch (const RecordError& error) {
    CHECK(std::string(error.what()).size() < 100);
  }
}

TEST_CASE("no reader takes a character of a text for the end of the line", "[jsonl]") {
  const std::string text = "a\xC2\x85" "b\xE2\x80\xA8" "c\xE2\x80\xA9" "d\v\f\r\n\x1c\x1d\x1e";
  const std::string line = jsonl::dump(Json{{"\xE2\x80\xA8", text}});
  CHECK(line ==
        R"({"\u2028":"a\u0085b\u2028c\u2029d\u000b\f\r\n\u001c\u001d\u001e"})");
  CHECK(jsonl::parse(line)["\xE2\x80\xA8"] == text);
  CHECK(through("\"\xC2\x84\xC2\x86 \xE2\x80\xA7\xE2\x80\xAA â\"") == "\"\xC2\x84\xC2\x86 \xE2\x80\xA7\xE2\x80\xAA â\"");
}

TEST_CASE("a member given twice keeps its place and its last value", "[jsonl]") {
  CHECK(through(R"({"a":1,"b":2,"a":3})") == R"({"a":3,"b":2})");
  std::string many = "{";
  for (int i = 0; i < 40; ++i) many += "\"k" + std::to_string(i % 20) + "\":" + std::to_string(i) + ",";
  const Json merged = jsonl::parse(many + "\"end\":0}");
  CHECK(merged.size() == 21);
  CHECK(merged["k7"] == 27);
}

TEST_CASE("texts that are no record are refused", "[jsonl]") {
  const std::string nested(2600, '[');
  for (const std::string& bad :
       std::vector<std::string>{"",
                                " ",
                                "nonsense",
                                "[1,2]",
                                "3",
                                "{\"a\":1",
                                "{\"a\":1} x",
                                "{\"a\":01}",
                                "{\"a\":NaN}",
                                "{\"a\":1e400}",
                                "{\"a\":-1.5e999}",
                                "{\"a\":\"\xff\"}",
                                "{\"a\":\"\xed\xa0\x80\"}",
                                "{\"a\":\"\\ud800\"}",
                                std::string("{\"a\":\"\0\"}", 9),
                                "{\"a\":" + nested,
                                "{\"logprobs\":" + long_array(40, "1.") + "}",
                                "{\"logprobs\":" + long_array(40, "01") + "}",
                                "{\"logprobs\":" + long_array(40, "1e999") + "}",
                                "{\"logprobs\":[" + long_array(40, "1").substr(1, 70) + ",]}",
                                "{\"logprobs\":" + long_array(40, "-") + "}"}) {
    INFO(bad.substr(0, 60));
    CHECK_THROWS_AS(jsonl::parse_record(bad), RecordError);
  }
  CHECK_THROWS_AS(jsonl::dump(Json(std::numeric_limits<double>::infinity())), RecordError);
  CHECK_THROWS_AS(jsonl::dump(Json(std::nan(""))), RecordError);
}

TEST_CASE("token arrays stay raw text, and read as numbers", "[jsonl]") {
  const std::string ids = long_array(50, "151643"),
                    logprobs = "[ -0.500000 , " + long_array(50, "-1.250000").substr(1);
  const std::string line = "{\"completion_ids\":" + ids + ",\"logprobs\":" + logprobs + ",\"id\":\"x\"}";
  const Json record = jsonl::parse_record(line);
  REQUIRE(jsonl::is_raw(record["completion_ids"]));
  CHECK(jsonl::is_array(record["logprobs"]));
  CHECK(jsonl::dump(record) == line);
  CHECK(jsonl::integers(record["completion_ids"]) == std::vector<std::int64_t>(50, 151643));
  CHECK(jsonl::numbers(record["logprobs"]).front() == -0.5);
  CHECK(jsonl::array_size(record["logprobs"]) == 51);
  CHECK_THROWS_AS(jsonl::integers(record["logprobs"]), RecordError);
  CHECK_THROWS_AS(jsonl::integers(record["id"]), RecordError);

  Json expanded = record;
  jsonl::expand(expanded);
  CHECK(expanded["completion_ids"].is_array());
  CHECK(expanded["completion_ids"].size() == 50);

  // Keys inside strings and the placeholder's own text are no token arrays, and nothing is confused.
  const std::string array = long_array(60, "1");
  CHECK(through("{\"a\":\"\\\"logprobs\\\":[1]\",\"b\":0.0e-31337,\"logprobs\":" + array + "}") ==
        "{\"a\":\"\\\"logprobs\\\":[1]\",\"b\":0.0,\"logprobs\":" + array + "}");
  CHECK(through("{\"a\":0.0e-31337}") == "{\"a\":0.0}");
  CHECK(jsonl::integers(jsonl::parse("[1,2]")) == std::vector<std::int64_t>{1, 2});
  CHECK(jsonl::dump(jsonl::raw_ids({})) == "[]");
  CHECK(jsonl::dump(jsonl::raw_logprobs({-0.1234567, 0.0})) == "[-0.123457,0.000000]");
}

TEST_CASE("parsing agrees with the plain parser on random texts", "[jsonl]") {
  std::mt19937 rng(7);
  for (int i = 0; i < 2000; ++i) {
    const std::string text = random_json(rng, 4);
    Json ours = jsonl::parse(text);
    const std::string dumped = jsonl::dump(ours);
    jsonl::expand(ours);
    CHECK(ours == Json::parse(text));
    CHECK(Json::parse(dumped) == Json::parse(text));
  }
}

TEST_CASE("doubles read back to the same double", "[jsonl]") {
  std::mt19937_64 rng(3);
  for (int i = 0; i < 20000; ++i) {
    const std::uint64_t bits = rng();
    double value;
    std::memcpy(&value, &bits, sizeof value);
    if (!std::isfinite(value)) continue;
    CHECK(jsonl::parse(jsonl::dump(Json(value))).get<double>() == value);
  }
}

TEST_CASE("lines come whole, numbered, from several files", "[jsonl]") {
  const std::string a = temporary_file("one\n\nthree"),
                    b = temporary_file(std::string(700000, 'x') + "\nlast\n");
  jsonl::LineReader reader({a, b});
  CHECK(reader.bytes_total() == 10 + 700006);
  jsonl::Batch batch;
  std::vector<std::string> names;
  std::vector<std::size_t> sizes;
  while (reader.next(batch, 1000, 2)) {
    for (std::size_t i = 0; i < batch.lines.size(); ++i) {
      names.push_back(jsonl::line_name(batch.file, batch.first + i));
      sizes.push_back(batch.lines[i].size());
    }
  }
  CHECK(names == std::vector<std::string>{a + ": line 1", a + ": line 2", a + ": line 3", b + ": line 1",
                                          b + ": line 2"});
  CHECK(sizes == std::vector<std::size_t>{3, 0, 5, 700000, 4});
  CHECK(reader.bytes_read() == 10 + 700006);
  std::remove(a.c_str());
  std::remove(b.c_str());
  CHECK_THROWS_AS(jsonl::LineReader({"/nonexistent/file"}), Error);
  CHECK_THROWS_AS(jsonl::LineReader({"/tmp"}), Error);
}

TEST_CASE("the pipeline keeps order at any number of jobs, and stops with what came before written",
          "[jsonl]") {
  std::string input;
  for (int i = 0; i < 5000; ++i) input += std::to_string(i) + "\n";
  const std::string file = temporary_file(input);
  for (int jobs : {1, 2, 7}) {
    for (bool line_by_line : {false, true}) {
      for (bool ordered : {true, false}) {
        jsonl::LineReader reader({file});
        std::vector<std::string> out;
        std::uint64_t lines = 0;
        jsonl::run_pipeline(
            reader, {jobs, ordered, line_by_line},
            [](const jsonl::LineRef& line) {
              if (line.number != line.sequence + 1) throw Error("wrong number");
              return jsonl::Outcome{std::string(line.text) + "!", ""};
            },
            [&](const jsonl::LineRef&, jsonl::Outcome&& outcome) { out.push_back(*outcome.text); },
            [&](const jsonl::Written& written) { lines += written.lines; });
        REQUIRE(lines == 5000);
        if (!ordered)
          std::sort(out.begin(), out.end(), [](auto& x, auto& y) { return std::stoi(x) < std::stoi(y); });
        for (int i = 0; i < 5000; ++i) REQUIRE(out[static_cast<std::size_t>(i)] == std::to_string(i) + "!");
      }
    }
    jsonl::LineReader reader({file});
    std::vector<std::string> out;
    CHECK_THROWS_WITH(
        jsonl::run_pipeline(
            reader, {jobs, true, false},
            [](const jsonl::LineRef& line) -> jsonl::Outcome {
              if (line.text == "1234") throw Error("here");
              return {std::string(line.text), ""};
            },
            [&](const jsonl::LineRef&, jsonl::Outcome&& outcome) { out.push_back(*outcome.text); },
            [](const jsonl::Written&) {}),
        "here");
    REQUIRE(out.size() == 1234);
    CHECK(out.back() == "1233");
  }
  std::remove(file.c_str());
}

TEST_CASE("results are put back in order", "[jsonl]") {
  std::string out;
  jsonl::Reorder reorder([&](std::string text) { out += text; });
  reorder.put(2, "c");
  reorder.put(1, "b");
  CHECK(reorder.waiting() == 2);
  reorder.put(0, "a");
  reorder.put(3, "d");
  CHECK(out == "abcd");
  CHECK(reorder.waiting() == 0);
  CHECK(reorder.delivered() == 4);
}

TEST_CASE("a full device is an error", "[jsonl]") {
  std::FILE* full = std::fopen("/dev/full", "w");
  REQUIRE(full != nullptr);
  jsonl::LineWriter writer(fileno(full), "stdout");
  CHECK_THROWS_AS(writer.write("x\n"), Error);
  std::fclose(full);
}

TEST_CASE("draws depend on their key and position alone", "[jsonl]") {
  CHECK(draw_key(1, "a", 0, 0) == draw_key(1, "a", 0, 0));
  CHECK(draw_key(1, "a", 0, 1) != draw_key(1, "a", 1, 0));
  CHECK(draw_key(1, "a", 0, 0) != draw_key(2, "a", 0, 0));
  double sum = 0;
  for (std::uint64_t i = 0; i < 100000; ++i) {
    const double u = uniform(draw_key(0, "x", 0, 0), i);
    REQUIRE((u >= 0 && u < 1));
    sum += u;
  }
  CHECK(sum / 100000 == Approx(0.5).margin(0.005));
}
