#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <set>

#include "base/error.hpp"
#include "verify/kernel_check.hpp"
#include "verify/kernel_compare.hpp"
#include "verify/kernel_trials.hpp"

using namespace leap;
using namespace leap::verify::kernel;

namespace {

Json scale_check() {
  return Json::parse(R"json({
    "type": "kernel", "signature": "void solve(const float* x, float* y, int n)",
    "arguments": [{"name": "x", "dtype": "float32", "shape": ["n"], "role": "in"},
                  {"name": "y", "dtype": "float32", "shape": ["n"], "role": "out"},
                  {"name": "n", "dtype": "int32", "role": "size"}],
    "sizes": [{"n": 1}, {"n": 7}], "benchmark_size": {"n": 100}, "reference": "void reference() {}"})json");
}

std::string trouble_of(const Json& check) {
  try {
    read_check(check);
  } catch (const RecordError& error) {
    return error.what();
  }
  return "";
}

template <class T>
std::vector<T> values_of(const std::string& bytes) {
  std::vector<T> out(bytes.size() / sizeof(T));
  std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

Generator generator(const char* json, Dtype type) {
  const Json values = Json::parse(json);
  return Generator(&values, type, {{"n", 10}, {"m", 3}}, "values");
}

template <class T>
std::vector<T> drawn(const char* json, Dtype type, std::size_t count, std::uint64_t key = 1) {
  return values_of<T>(generator(json, type).make(key, count, {{"n", 10}, {"m", 3}}));
}

}  // namespace

TEST_CASE("expressions of sizes", "[verify]") {
  const Sizes sizes = {{"m", 3}, {"n", 1000}};
  auto value = [&](const Json& text) { return Expression(text, sizes, "shape").value(sizes); };
  CHECK(value(7) == 7);
  CHECK(value("n*m") == 3000);
  CHECK(value(" ( n + 255 ) / 256 ") == 4);
  CHECK(value("n - m - 1") == 996);
  CHECK(value("n/m/2") == 166);
  CHECK(value("n%m+2*(m-1)") == 5);
  CHECK(value("-m + 4") == 1);
  CHECK(value("-7/2") == -3);
  CHECK(value("-7%2") == -1);
  for (const Json& bad :
       {Json("k"), Json("n+"), Json("(n"), Json("n)"), Json(""), Json("n n"), Json("1.5"), Json(1.5),
        Json(nullptr), Json("n/(m-3)"), Json("n%0"), Json("9999999999*9999999999"),
        Json("99999999999999999999"), Json(std::string(200, '(') + "n")})
    CHECK_THROWS_AS(value(bad), RecordError);
}

TEST_CASE("16-bit floats are rounded once, to nearest even", "[verify]") {
  for (const int mantissa : {10, 7}) {
    const Dtype type = mantissa == 10 ? Dtype::kFloat16 : Dtype::kBfloat16;
    auto number = [&](unsigned bits) {
      const auto half = static_cast<std::uint16_t>(bits);
      return number_at(type, reinterpret_cast<const char*>(&half));
    };
    const unsigned infinity = mantissa == 10 ? 0x7c00 : 0x7f80;
    unsigned wrong = 0;
    for (unsigned bits = 0; bits + 1 < infinity; ++bits) {
      const double low = number(bits), high = number(bits + 1), middle = (low + high) / 2;
      const unsigned even = bits % 2 == 0 ? bits : bits + 1;
      wrong += round_to_16(low, mantissa) != bits || round_to_16(-low, mantissa) != (bits | 0x8000);
      wrong += round_to_16(middle, mantissa) != even;
      wrong += round_to_16(std::nextafter(middle, 0), mantissa) != bits;
      wrong += round_to_16(std::nextafter(middle, 1e300), mantissa) != bits + 1;
    }
    CHECK(wrong == 0);
    const double largest = number(infinity - 1), step = largest - number(infinity - 2);
    CHECK(round_to_16(largest + step / 2, mantissa) == infinity);
    CHECK(round_to_16(std::nextafter(largest + step / 2, 0), mantissa) == infinity - 1);
    CHECK(round_to_16(1e300, mantissa) == infinity);
    CHECK(round_to_16(-std::numeric_limits<double>::infinity(), mantissa) == (infinity | 0x8000));
    CHECK(std::isnan(number(round_to_16(std::nan(""), mantissa))));
  }
  CHECK(round_to_16(1.0, 10) == 0x3c00);
  CHECK(round_to_16(65504.0, 10) == 0x7bff);
  CHECK(round_to_16(0.1, 10) == 0x2e66);
  CHECK(round_to_16(0.1, 7) == 0x3dcd);
  CHECK(round_to_16(5.960464477539063e-08, 10) == 1);
}

TEST_CASE("values of buffers", "[verify]") {
  const auto uniform = drawn<float>(R"({"uniform": [-2, 3]})", Dtype::kFloat32, 20000);
  double sum = 0;
  for (const float v : uniform) {
    REQUIRE(v >= -2.0f);
    REQUIRE(v <= 3.0f);
    sum += v;
  }
  CHECK(std::fabs(sum / 20000 - 0.5) < 0.05);

  const auto normal = drawn<double>(R"({"normal": [1, 2]})", Dtype::kFloat64, 40000);
  double mean = 0, square = 0, third = 0;
  for (const double v : normal) mean += v / 40000;
  for (const double v : normal)
    square += (v - mean) * (v - mean) / 40000, third += std::pow(v - mean, 3) / 40000;
  CHECK(std::fabs(mean - 1) < 0.05);
  CHECK(std::fabs(std::sqrt(square) - 2) < 0.05);
  CHECK(std::fabs(third) < 0.6);

  const auto integers = drawn<std::int32_t>(R"({"integers": [-1, "m-1"]})", Dtype::kInt32, 1000);
  CHECK(std::set<std::int32_t>(integers.begin(), integers.end()) == std::set<std::int32_t>{-1, 0, 1, 2});
  const auto wide =
      drawn<std::int64_t>(R"({"integers": [-9223372036854775807, 9223372036854775807]})", Dtype::kInt64, 100);
  CHECK(std::set<std::int64_t>(wide.begin(), wide.end()).size() == 100);
  CHECK(drawn<std::int64_t>(R"({"constant": 9007199254740993})", Dtype::kInt64, 2)[1] == 9007199254740993);
  CHECK(drawn<std::int32_t>(R"({"constant": "n"})", Dtype::kInt32, 2)[1] == 10);
  CHECK(drawn<unsigned char>(R"({"constant": 300})", Dtype::kUint8, 1)[0] == 255);
  CHECK(drawn<std::int32_t>(R"({"list": [2.5, 3.5, -1e20]})", Dtype::kInt32, 4) ==
        std::vector<std::int32_t>{2, 4, std::numeric_limits<std::int32_t>::min(), 2});
  CHECK(drawn<std::int32_t>(R"({"constant": 2147483647.4})", Dtype::kInt32, 1)[0] == 2147483647);
  CHECK(drawn<std::int64_t>(R"({"constant": 1e19})", Dtype::kInt64, 1)[0] ==
        std::numeric_limits<std::int64_t>::max());

  const auto choice = drawn<unsigned char>(R"({"choice": [0, 1]})", Dtype::kBool, 1000);
  CHECK(std::set<unsigned char>(choice.begin(), choice.end()) == std::set<unsigned char>{0, 1});
  const auto order = drawn<std::int32_t>(R"({"permutation": true})", Dtype::kInt32, 500);
  CHECK(std::set<std::int32_t>(order.begin(), order.end()).size() == 500);
  CHECK(*std::max_element(order.begin(), order.end()) == 499);
  CHECK_FALSE(std::is_sorted(order.begin(), order.end()));
  const auto sorted = drawn<std::int32_t>(R"({"permutation": true, "sorted": true})", Dtype::kInt32, 500);
  CHECK(std::is_sorted(sorted.begin(), sorted.end()));
  const auto floats = drawn<float>(R"({"sorted": true})", Dtype::kFloat32, 500);
  CHECK(std::is_sorted(floats.begin(), floats.end()));
  CHECK(floats[0] < 0);
  const auto halves = drawn<std::uint16_t>(R"({"uniform": [-1, 1], "sorted": true})", Dtype::kFloat16, 100);
  CHECK(halves[0] > 0x8000);
  CHECK(halves[99] < 0x8000);

  // A draw depends on key and position alone.
  CHECK(drawn<float>("{}", Dtype::kFloat32, 10, 5) == [] {
    auto more = drawn<float>("{}", Dtype::kFloat32, 1000, 5);
    more.resize(10);
    return more;
  }());
  CHECK(drawn<float>("{}", Dtype::kFloat32, 10, 5) != drawn<float>("{}", Dtype::kFloat32, 10, 6));

  for (const char* bad :
       {R"({"uniform": [1]})", R"({"gamma": [1, 2]})", R"({"integers": [0.5, 2]})", R"({"choice": []})",
        R"({"constant": 1, "list": [1]})", R"({"list": ["a"]})", R"({"sorted": 1})", R"([])",
        R"({"permutation": false})", R"({"integers": [0, "k"]})"})
    CHECK_THROWS_AS(generator(bad, Dtype::kFloat32), RecordError);
  CHECK_THROWS_AS(drawn<float>(R"({"uniform": [1, 1]})", Dtype::kFloat32, 1), RecordError);
  CHECK_THROWS_AS(drawn<float>(R"({"integers": [2, 1]})", Dtype::kFloat32, 1), RecordError);
}

TEST_CASE("a kernel check is read", "[verify]") {
  const Check check = read_check(scale_check());
  CHECK(check.trials() == 6);
  CHECK(check.rtol == 1e-4);
  CHECK(check.arguments[0].cpp_type == "float*");
  CHECK(check.sizes_of_run(0) == Sizes{{"n", 1}});
  CHECK(check.sizes_of_run(4) == Sizes{{"n", 1}});
  CHECK(check.sizes_of_run(5) == Sizes{{"n", 100}});
  CHECK(check.layout_of_run(0) == check.layout_of_run(2));
  CHECK(check.layout_of_run(0) != check.layout_of_run(1));
  CHECK(check.layout_of_run(5) == 2);
  Json many = scale_check();
  for (int n = 8; n < 16; ++n) many["sizes"].push_back({{"n", n}});
  CHECK(read_check(many).trials() == 12);

  // The largest size comes twice, if only for a call of its own.
  CHECK(check.runs() == check.trials());
  many["sizes"][3]["n"] = 1000;
  const Check once = read_check(many);
  CHECK(once.runs() == 13);
  CHECK(once.trial_of_run(12) == 3);
  CHECK(once.sizes_of_run(12) == Sizes{{"n", 1000}});
  CHECK(once.layout_of_run(12) == once.layout_of_run(3));
  CHECK(once.sizes_of_run(11) == once.benchmark);
  many["sizes"][0]["n"] = 2000;
  CHECK(read_check(many).runs() == 12);

  const std::string kSignatures[] = {
      "extern \"C\" void solve(float const * __restrict__ x, float *const y, const int n)",
      "void solve (const float *x,float*y,int n);"};
  for (const std::string& signature : kSignatures) {
    Json other = scale_check();
    other["signature"] = signature;
    CHECK(trouble_of(other) == "");
  }
}

TEST_CASE("what is wrong with a kernel check is named", "[verify]") {
  auto changed = [](const std::function<void(Json&)>& change) {
    Json check = scale_check();
    change(check);
    return trouble_of(check);
  };
  using Catch::Contains;
  CHECK_THAT(changed([](Json& c) { c.erase("signature"); }), Contains("task.check.signature: missing"));
  CHECK_THAT(changed([](Json& c) { c["signature"] = "int solve(int n)"; }), Contains("void solve(..)"));
  CHECK_THAT(changed([](Json& c) { c["signature"] = "void solve(const float* x, float* y)"; }),
             Contains("task.check.arguments"));
  CHECK_THAT(changed([](Json& c) { c["signature"] = "void solve(const float** x, float* y, int n)"; }),
             Contains("pointer to a pointer"));
  CHECK_THAT(changed([](Json& c) { c["signature"] = "void solve(const float*, float* y, int n)"; }),
             Contains("a type and a name"));
  CHECK_THAT(changed([](Json& c) { c["arguments"][1]["role"] = "output"; }), Contains("arguments[1].role"));
  CHECK_THAT(changed([](Json& c) { c["arguments"][1]["role"] = "size"; }), Contains("arguments[1].role"));
  CHECK_THAT(changed([](Json& c) { c["arguments"][0]["role"] = "out"; }), Contains("arguments[0].role"));
  CHECK_THAT(changed([](Json& c) { c["arguments"][0]["dtype"] = "float16"; }),
             Contains("arguments[0].dtype"));
  CHECK_THAT(changed([](Json& c) { c["arguments"][0]["dtype"] = "int8"; }), Contains("arguments[0].dtype"));
  CHECK_THAT(changed([](Json& c) { c["arguments"][0]["shape"] = Json::array({"k"}); }),
             Contains("arguments[0].shape"));
  CHECK_THAT(changed([](Json& c) { c["arguments"][0]["shape"] = Json::array({"n-5"}); }),
             Contains("negative for n = 1"));
  CHECK_THAT(changed([](Json& c) {
               c["arguments"][0]["shape"] = Json::array({"n", 1000000000});
             }),
             Contains("1 GiB"));
  CHECK_THAT(changed([](Json& c) {
               c["arguments"][1]["values"] = {{"constant", 1}};
             }),
             Contains("arguments[1].values"));
  CHECK_THAT(changed([](Json& c) { c["arguments"][2]["name"] = "k"; }), Contains("arguments[2].name"));
  CHECK_THAT(changed([](Json& c) { c["sizes"] = Json::array(); }), Contains("task.check.sizes"));
  CHECK_THAT(changed([](Json& c) { c["sizes"][1] = {{"m", 2}}; }), Contains("task.check.sizes[1]"));
  CHECK_THAT(changed([](Json& c) { c["sizes"][1]["n"] = -1; }), Contains("task.check.sizes[1].n"));
  CHECK_THAT(changed([](Json& c) { c["benchmark_size"] = {{"m", 2}}; }), Contains("benchmark_size"));
  CHECK_THAT(changed([](Json& c) { c["reference"] = " "; }), Contains("task.check.reference"));
  CHECK_THAT(changed([](Json& c) { c["rtol"] = -1; }), Contains("task.check.rtol"));
  CHECK_THAT(changed([](Json& c) { c["arguments"][1]["role"] = "in"; }), Contains("must have an out"));
}

TEST_CASE("trials differ and can be made again", "[verify]") {
  const Check check = read_check(scale_check());
  const std::uint64_t key = problem_key(3, "a");
  const Trial one = make_trial(check, key, 1), again = make_trial(check, key, 1),
              third = make_trial(check, key, 3);
  CHECK(one.inputs[0].bytes.size() == 28);
  CHECK(one.inputs[0].bytes == again.inputs[0].bytes);
  CHECK(one.inputs[0].bytes != third.inputs[0].bytes);
  CHECK(one.layout == third.layout);
  CHECK(one.poison != third.poison);
  CHECK(one.inputs[1].bytes.empty());
  CHECK(integer_at(Dtype::kInt32, one.inputs[2].bytes.data()) == 7);
  CHECK(make_trial(check, problem_key(4, "a"), 1).inputs[0].bytes != one.inputs[0].bytes);
  CHECK(make_trial(check, problem_key(3, "b"), 1).inputs[0].bytes != one.inputs[0].bytes);
}

TEST_CASE("outputs are compared", "[verify]") {
  auto bytes = [](const auto& values) {
    return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(values[0]));
  };
  const float nan = std::nanf(""), inf = std::numeric_limits<float>::infinity();
  auto floats = [&](std::vector<float> got, std::vector<float> want) {
    return compare(Dtype::kFloat32, bytes(got), bytes(want), 0.125, 0.5);
  };
  CHECK(floats({1.5f, 9.5f, -0.0f}, {1.0f, 8.0f, 0.0f}).same());
  CHECK_FALSE(floats({1.75f}, {1.0f}).same());
  CHECK_FALSE(floats({9.625f}, {8.0f}).same());
  CHECK(floats({nan, inf, -inf}, {nan, inf, -inf}).same());
  CHECK(floats({}, {}).same());
  const Comparison odd = floats({1, nan, inf, 5, nan}, {1, 1, -inf, inf, inf});
  CHECK(odd.mismatches == 4);
  CHECK(odd.nonfinite == 1);
  CHECK(odd.first == 1);
  CHECK(std::isnan(odd.got));
  const Comparison far = floats({1, 3}, {1, 1});
  CHECK(far.max_abs_error == 2);
  CHECK(far.max_rel_error == 2);
  CHECK(far.got == 3);
  CHECK(far.want == 1);

  using Longs = std::vector<std::int64_t>;
  CHECK(compare(Dtype::kInt64, bytes(Longs{1, 2}), bytes(Longs{1, 2}), 1, 1).same());
  CHECK_FALSE(
      compare(Dtype::kInt64, bytes(Longs{9007199254740993}), bytes(Longs{9007199254740992}), 1, 1).same());
  CHECK_FALSE(compare(Dtype::kBool, "\x02", "\x01", 1, 1).same());
  CHECK(compare(Dtype::kUint8, "\xff", "\xff", 0, 0).same());
  const std::string half("\x00\x3c", 2), next("\x01\x3c", 2);
  CHECK(compare(Dtype::kFloat16, next, half, 1e-3, 0).same());
  CHECK_FALSE(compare(Dtype::kFloat16, next, half, 9e-4, 0).same());

  CHECK(index_of(7, {2, 3, 4}) == std::vector<std::int64_t>{0, 1, 3});
  CHECK(index_of(0, {}) == std::vector<std::int64_t>{});
}
