#include "training/update.hpp"

#include <ATen/ATen.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <catch2/catch.hpp>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>

#include "base/error.hpp"
#include "jsonl/json.hpp"
#include "model/safetensors.hpp"
#include "training/actions.hpp"
#include "training/checkpoint.hpp"
#include "training/losses.hpp"
#include "training/optimiser.hpp"
#include "training/staged_directory.hpp"

using namespace leap;
using namespace leap::training;
namespace fs = std::filesystem;

namespace {

const fs::path kGolden = fs::path(LEAP_SOURCE_DIR) / "tests/golden/training";

/// A directory of its own, removed at the end.
class Scratch {
 public:
  Scratch() {
    std::string name = (fs::temp_directory_path() / "leap-training-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw_errno("mkdtemp");
    path_ = name;
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { fs::remove_all(path_); }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

std::string text_of(const fs::path& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

void write_text(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::map<std::string, std::string> files_of(const std::string& dir) {
  std::map<std::string, std::string> out;
  for (const auto& entry : fs::directory_iterator(dir))
    out[entry.path().filename().string()] = text_of(entry.path());
  return out;
}

struct Outcome {
  std::vector<Json> metrics;
  std::vector<std::string> failures;
  UpdateReport report;
};

Outcome update(const UpdateOptions& options) {
  Outcome out;
  UpdateHooks hooks;
  hooks.metrics = [&out](const Json& metrics) { out.metrics.push_back(metrics); };
  hooks.bad_record = [&out](const std::string& line, const std::string& what) {
    out.failures.push_back(line + ": " + what);
  };
  out.report = run_update(options, hooks);
  return out;
}

UpdateOptions golden_options(const std::string& out) {
  UpdateOptions options;
  options.model = (kGolden / "model").string();
  options.files = {(kGolden / "in.jsonl").string()};
  options.out = out;
  options.trainer.rate.lr = 1e-3;
  options.trainer.max_completion_length = 16;
  return options;
}

/// A copy of the golden records without log-probs of a reference.
std::string without_reference(const std::string& path) {
  std::istringstream lines(text_of(kGolden / "in.jsonl"));
  std::string out;
  for (std::string line; std::getline(lines, line);) {
    Json record = jsonl::parse(line);
    for (Json& rollout : record["rollouts"]) {
      for (Json& turn : rollout["turns"]) turn.erase("ref_logprobs");
    }
    out += jsonl::dump(record) + "\n";
  }
  write_text(path, out);
  return path;
}

/// The largest difference of a parameter between a checkpoint and tensors named PREFIX + NAME.
double distance(const std::string& checkpoint, const model::SafetensorsReader& expected,
                const std::string& prefix) {
  const model::SafetensorsReader reader(
      checkpoint + (is_adapter(checkpoint) ? "/adapter_model.safetensors" : "/model.safetensors"));
  double worst = 0;
  for (const model::TensorView& view : reader.tensors()) {
    const model::TensorView& other = expected.at(prefix + view.name);
    REQUIRE(view.shape == other.shape);
    std::vector<float> a(static_cast<std::size_t>(view.elements())), b(a.size());
    model::widen(view, 0, view.elements(), a.data());
    model::widen(other, 0, other.elements(), b.data());
    for (std::size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::abs(double{a[i]} - double{b[i]}));
  }
  return worst;
}

template <class T>
T member(const Json& object, const char* key, T otherwise) {
  const auto it = object.find(key);
  return it == object.end() ? otherwise : it->get<T>();
}

UpdateOptions options_of(const Json& golden, const std::string& out) {
  UpdateOptions options = golden_options(out);
  TrainerOptions& t = options.trainer;
  static const std::map<std::string, Loss> kLosses = {
      {"dr_grpo", Loss::kDrGrpo}, {"grpo", Loss::kGrpo}, {"bnpo", Loss::kBnpo}, {"dapo", Loss::kDapo},
      {"cispo", Loss::kCispo},    {"gspo", Loss::kGspo}, {"sft", Loss::kSft}};
  t.loss.loss = kLosses.at(golden["loss"].get<std::string>());
  if (t.loss.loss == Loss::kSft) options.files = {(kGolden / "sft.jsonl").string()};
  t.loss.epsilon = member(golden, "epsilon", 0.2);
  t.loss.epsilon_high = member(golden, "epsilon_high", 0.28);
  if (golden.contains("delta")) t.loss.delta = golden["delta"].get<double>();
  t.loss.beta = member(golden, "beta", 0.0);
  const std::string reference = member(golden, "reference", std::string());
  if (reference == "model") options.ref_model = (kGolden / "reference").string();
  if (reference == "self") options.ref_model = (kGolden / "model").string();
  t.max_completion_length = member(golden, "max_completion_length", 16);
  t.recompute_old = golden.contains("old_logprobs");
  t.is_cap = member(golden, "is_cap", 2.0);
  if (golden.contains("adapter")) options.adapter = (kGolden / "adapter").string();
  options.actions.mask_truncated = member(golden, "mask_truncated", false);
  t.rate.lr = golden["lr"].get<double>();
  t.rate.warmup_steps = member(golden, "warmup_steps", std::int64_t{0});
  t.max_grad_norm = member(golden, "max_grad_norm", 1.0);
  options.records_per_step = member(golden, "records_per_step", std::int64_t{0});
  options.num_iterations = golden["num_iterations"].get<std::int64_t>();
  return options;
}

}  // namespace

TEST_CASE("every loss agrees with PyTorch, in any micro-batches", "[training]") {
  const Json cases = jsonl::parse(text_of(kGolden / "cases.json"));
  const model::SafetensorsReader after((kGolden / "after.safetensors").string());
  for (const Json& golden : cases) {
    const auto name = golden["name"].get<std::string>();
    for (const std::int64_t tokens : {1, 64, 100000}) {
      DYNAMIC_SECTION(name << ", " << tokens << " tokens a forward pass") {
        const Scratch scratch;
        for (const std::int64_t steps : {1, 3}) {
          UpdateOptions options = options_of(golden, scratch / std::to_string(steps));
          options.max_steps = steps;
          options.trainer.tokens_per_batch = tokens;
          if (golden.value("reference", "") == "base")
            options.files = {without_reference(scratch / "in.jsonl")};
          const Outcome outcome = update(options);
          REQUIRE(outcome.metrics.size() == static_cast<std::size_t>(steps));
          for (std::size_t i = 0; i < outcome.metrics.size(); ++i) {
            const Json &got = outcome.metrics[i], &want = golden["metrics"][i];
            INFO("step " << i + 1 << " " << jsonl::dump(got));
            CHECK(got["step"] == want["step"]);
            CHECK(got["tokens"] == want["tokens"]);
            CHECK(got["sequences"] == want["sequences"]);
            CHECK(got["lr"].get<double>() == Approx(want["lr"].get<double>()));
            CHECK(got["loss"].get<double>() == Approx(want["loss"].get<double>()).epsilon(1e-4));
            CHECK(got["grad_norm"].get<double>() == Approx(want["grad_norm"].get<double>()).epsilon(1e-4));
          }
          const std::string prefix = name + "/" + std::to_string(steps) + "/";
          CHECK(distance(options.out, after, prefix) < 1e-5);
        }
      }
    }
  }
}

TEST_CASE("a new adapter: the base stays, a stopped run resumes to the byte, and goes on with new input",
          "[training]") {
  const Scratch scratch;
  const auto options_for = [&scratch](const std::string& out, std::int64_t max_steps) {
    UpdateOptions options = golden_options(scratch / out);
    options.lora.rank = 2;
    options.seed = 5;
    options.records_per_step = 1;
    options.max_steps = max_steps;
    options.trainer.loss.beta = 0.1;
    options.files = {without_reference(scratch / "in.jsonl")};
    return options;
  };
  // Nothing trained: A drawn, B zero, so the model is the base.
  UpdateOptions start = options_for("start", 0);
  write_text(scratch / "empty.jsonl", "");
  start.files = {scratch / "empty.jsonl"};
  update(start);
  const model::SafetensorsReader drawn(start.out + "/adapter_model.safetensors");
  CHECK(drawn.tensors().size() == 2 * 7 * 2);  // A and B of seven layers in each of two blocks
  for (const model::TensorView& view : drawn.tensors()) {
    std::vector<float> values(static_cast<std::size_t>(view.elements()));
    model::widen(view, 0, view.elements(), values.data());
    const double largest = std::abs(*std::max_element(
        values.begin(), values.end(), [](float a, float b) { return std::abs(a) < std::abs(b); }));
    if (view.name.ends_with("lora_B.weight")) CHECK(largest == 0);
    if (view.name.ends_with("lora_A.weight")) {
      const double bound = 1 / std::sqrt(static_cast<double>(view.shape[1]));
      CHECK(largest <= bound);
      CHECK(largest > bound / 2);
    }
  }

  const UpdateOptions whole = options_for("whole", 0);
  const std::vector<Json> metrics = update(whole).metrics;
  REQUIRE(metrics.size() == 4);
  CHECK(metrics[0]["kl"].get<double>() == Approx(0).margin(1e-9));  // the reference is the base
  CHECK(metrics[3]["kl"].get<double>() > 0);
  const auto expected = files_of(whole.out);
  CHECK(expected.count("adapter_config.json") == 1);
  CHECK(expected.count("model.safetensors") == 0);
  UpdateOptions part = options_for("part", 2);
  update(part);
  part.max_steps = 0;
  part.lora = {};  // what is in DIR counts
  part.resume = part.out;
  CHECK(update(part).metrics.size() == 2);
  CHECK(files_of(part.out) == expected);

  UpdateOptions more = options_for("more", 0);
  more.lora = {};
  more.continued = whole.out;
  CHECK(update(more).metrics.front()["step"] == 5);

  UpdateOptions wrong = options_for("wrong", 0);
  wrong.lora.targets = {"q_proj", "nothing"};
  CHECK_THROWS_WITH(update(wrong), Catch::Contains("nothing"));
  wrong.adapter = whole.out;
  CHECK_THROWS_AS(update(wrong), UsageError);
  wrong = options_for("wrong", 0);
  wrong.continued = whole.out;
  wrong.model = "";
  CHECK_THROWS_WITH(update(wrong), Catch::Contains("--model"));
}

TEST_CASE("micro-batches do not change the result", "[training]") {
  const Scratch scratch;
  std::vector<std::unique_ptr<model::SafetensorsReader>> readers;
  for (const std::int64_t tokens : {1, 30, 64, 100000}) {
    UpdateOptions options = golden_options(scratch / std::to_string(tokens));
    options.trainer.tokens_per_batch = tokens;
    update(options);
    if (readers.empty())
      readers.push_back(std::make_unique<model::SafetensorsReader>(options.out + "/model.safetensors"));
    CHECK(distance(options.out, *readers.front(), "") < 1e-6);
  }
}

TEST_CASE("a run that was stopped and resumed leaves the bytes of an undisturbed one", "[training]") {
  const Scratch scratch;
  // Three steps on each batch, so that stops fall between and inside batches; recomputed log-probs must
  // survive.
  const auto options_for = [&scratch](const std::string& out, std::int64_t max_steps) {
    UpdateOptions options = golden_options(scratch / out);
    options.records_per_step = 2;
    options.num_iterations = 3;
    options.max_steps = max_steps;
    options.trainer.recompute_old = true;
    options.trainer.loss.beta = 0.05;
    options.ref_model = (kGolden / "reference").string();
    return options;
  };
  for (const std::int64_t end : {0, 5}) {
    UpdateOptions whole = options_for("whole", end);
    const std::vector<Json> metrics = update(whole).metrics;
    REQUIRE(metrics.size() == (end == 0 ? 6U : 5U));
    const auto expected = files_of(whole.out);
    CHECK(expected.count("leap_state.json") == 1);
    for (std::int64_t stop = 1; stop < static_cast<std::int64_t>(metrics.size()); ++stop) {
      UpdateOptions first = options_for("part", stop);
      CHECK(update(first).metrics.size() == static_cast<std::size_t>(stop));
      UpdateOptions second = options_for("part", end);
      second.resume = second.out;
      const Outcome rest = update(second);
      CHECK(rest.metrics.size() == metrics.size() - static_cast<std::size_t>(stop));
      CHECK(rest.metrics.front()["step"] == stop + 1);
      CHECK(rest.metrics.back()["loss"] == metrics.back()["loss"]);
      CHECK(rest.report.step == static_cast<std::int64_t>(metrics.size()));
      CHECK(files_of(second.out) == expected);
      // Resumed once more: nothing is left to do.
      CHECK(update(second).metrics.empty());
      CHECK(files_of(second.out) == expected);
      fs::remove_all(second.out);
    }
    for (const auto& [name, bytes] : expected) {
      INFO(name);
      CHECK(bytes.find((scratch / "").c_str()) == std::string::npos);
    }
    fs::remove_all(whole.out);
  }
}

TEST_CASE(
    "resume starts anew where there is no checkpoint yet, and refuses another cursor or a shorter input",
    "[training]") {
  const Scratch scratch;
  UpdateOptions options = golden_options(scratch / "out");
  options.records_per_step = 1;
  options.resume = options.out;
  CHECK(update(options).metrics.size() == 4);
  options.records_per_step = 2;
  CHECK_THROWS_AS(update(options), UsageError);
  options.records_per_step = 1;
  write_text(scratch / "short.jsonl", "{\"id\":\"a\"}\n");
  options.files = {scratch / "short.jsonl"};
  CHECK_THROWS_WITH(update(options), Catch::Contains("input ends before"));
}

TEST_CASE("--continue carries weights, moments and the step count to new input", "[training]") {
  const Scratch scratch;
  // Two records, then the other two, in two runs: the same as all four in one.
  std::istringstream lines(text_of(kGolden / "in.jsonl"));
  std::string line, halves[2];
  for (int i = 0; std::getline(lines, line); ++i) halves[i / 2] += line + "\n";
  UpdateOptions whole = golden_options(scratch / "whole");
  whole.records_per_step = 2;
  update(whole);

  UpdateOptions first = whole;
  first.out = scratch / "first";
  first.files = {scratch / "0.jsonl"};
  write_text(first.files[0], halves[0]);
  update(first);
  UpdateOptions second = first;
  second.model = "";
  second.out = scratch / "second";
  second.continued = first.out;
  second.files = {scratch / "1.jsonl"};
  write_text(second.files[0], halves[1]);
  const Outcome outcome = update(second);
  REQUIRE(outcome.metrics.size() == 1);
  CHECK(outcome.metrics[0]["step"] == 2);
  auto a = files_of(whole.out), b = files_of(second.out);
  CHECK(a["model.safetensors"] == b["model.safetensors"]);
  CHECK(a["leap_optimizer.safetensors"] == b["leap_optimizer.safetensors"]);
  CHECK(jsonl::parse(b["leap_state.json"])["step"] == 2);
  // In place.
  second.out = first.out;
  update(second);
  CHECK(files_of(first.out)["model.safetensors"] == b["model.safetensors"]);
}

TEST_CASE("masked tokens are in no denominator, and a batch without tokens changes nothing", "[training]") {
  const Scratch scratch;
  const std::string head =
      R"({"id":"a","prompt":"","rollouts":[{"turns":[{"prompt_ids":[3,4],"completion_ids":[5,6],)"
      R"("logprobs":[-2.0,-3.0],"finish_reason":"length","advantage":1.0}]}]})";
  write_text(scratch / "in.jsonl", head + "\n" + R"({"id":"b"})" + "\n");
  UpdateOptions options = golden_options(scratch / "out");
  options.files = {scratch / "in.jsonl"};
  options.actions.mask_truncated = true;
  options.records_per_step = 1;
  const Outcome outcome = update(options);
  REQUIRE(outcome.metrics.size() == 2);
  for (const Json& metrics : outcome.metrics) {
    CHECK(metrics["skipped"] == true);
    CHECK(metrics["sequences"] == 0);
    CHECK(metrics["tokens"] == 0);
  }
  CHECK(text_of(options.out + "/model.safetensors").size() ==
        text_of(options.model + "/model.safetensors").size());
  const model::SafetensorsReader before(options.model + "/model.safetensors");
  CHECK(distance(options.out, before, "") == 0);
  const State state = read_state(options.out);
  CHECK(state.step == 2);
  CHECK(state.updates == 0);
}

TEST_CASE("an empty input leaves a checkpoint of the model as it is", "[training]") {
  const Scratch scratch;
  UpdateOptions options = golden_options(scratch / "deep/out");
  write_text(scratch / "empty.jsonl", "");
  options.files = {scratch / "empty.jsonl"};
  CHECK(update(options).metrics.empty());
  const model::SafetensorsReader before(options.model + "/model.safetensors");
  CHECK(distance(options.out, before, "") == 0);
  CHECK(read_state(options.out).step == 0);
}

TEST_CASE("an occupied --out is refused", "[training]") {
  const Scratch scratch;
  UpdateOptions options = golden_options(scratch / "out");
  fs::create_directory(options.out);
  update(options);
  const auto files = files_of(options.out);
  CHECK_THROWS_AS(update(options), UsageError);
  CHECK(files_of(options.out) == files);
  options.out = options.model;
  CHECK_THROWS_AS(update(options), UsageError);
}

TEST_CASE("bad records stop the run or are skipped, and finished steps are kept", "[training]") {
  const Scratch scratch;
  std::istringstream lines(text_of(kGolden / "in.jsonl"));
  std::string first, second;
  std::getline(lines, first);
  std::getline(lines, second);
  const std::string bad =
      R"({"id":"a","rollouts":[{"turns":[{"prompt_ids":[1],"completion_ids":[99],"advantage":1}]}]})";
  const std::string newer = R"({"v":2,)" + first.substr(1);
  write_text(scratch / "bad.jsonl", first + "\n{\"id\":\n" + bad + "\n" + newer + "\n" + second + "\n");
  UpdateOptions options = golden_options(scratch / "stopped");
  options.files = {scratch / "bad.jsonl"};
  options.records_per_step = 1;
  CHECK_THROWS_WITH(update(options), Catch::StartsWith("line 2: not valid JSON"));
  CHECK(read_state(options.out).step == 1);
  options.keep_going = true;
  options.resume = options.out;
  const Outcome outcome = update(options);
  CHECK(outcome.metrics.size() == 1);
  REQUIRE(outcome.failures.size() == 3);
  CHECK_THAT(outcome.failures[1], Catch::StartsWith("line 3: token id 99"));
  CHECK_THAT(outcome.failures[2], Catch::StartsWith("line 4: v: 2 is newer"));
}

TEST_CASE("a ratio that overflows stops the run with the weights unchanged", "[training]") {
  const Scratch scratch;
  write_text(scratch / "in.jsonl",
             R"({"id":"a","rollouts":[{"turns":[{"prompt_ids":[3],"completion_ids":[5],"logprobs":[-500.0],)"
             R"("advantage":-1}]}]})"
             "\n");
  UpdateOptions options = golden_options(scratch / "out");
  options.files = {scratch / "in.jsonl"};
  CHECK_THROWS_WITH(update(options), Catch::Contains("not finite"));
  CHECK_FALSE(fs::exists(options.out));
  options.trainer.loss.delta = 4.0;
  CHECK(update(options).metrics.size() == 1);
}

TEST_CASE("log-probs that are not the sampling distribution's are recomputed and counted", "[training]") {
  const auto record = [](const std::string& mode, double temperature) {
    return jsonl::parse(
        R"({"sampling":{"temperature":)" + std::to_string(temperature) + R"(},"rollouts":[{"turns":[)" +
        R"({"prompt_ids":[3],"completion_ids":[5],"logprobs":[-1.5],"advantage":1,"sampling":{)" + mode +
        "}}]}]}");
  };
  const auto recorded = [&](const std::string& mode, double temperature) {
    const auto actions = actions_of(record(mode, temperature), {});
    REQUIRE(actions.size() == 1);
    CHECK(actions[0].temperature == (temperature == 0 ? 1.0 : temperature));
    return !actions[0].logprobs.empty();
  };
  CHECK(recorded("", 0.5));
  CHECK(recorded(R"("logprobs_mode":"scaled")", 0.5));
  CHECK_FALSE(recorded(R"("logprobs_mode":"raw")", 0.5));
  CHECK(recorded(R"("logprobs_mode":"raw")", 1.0));
  CHECK(recorded(R"("logprobs_mode":"raw")", 0.0));
  CHECK_FALSE(recorded(R"("logprobs_mode":"processed")", 1.0));

  const Scratch scratch;
  write_text(scratch / "in.jsonl", jsonl::dump(record(R"("logprobs_mode":"processed")", 1)) + "\n");
  UpdateOptions options = golden_options(scratch / "out");
  options.files = {scratch / "in.jsonl"};
  const Json metrics = update(options).metrics.at(0);
  CHECK(metrics["recomputed"] == 1);
  CHECK(metrics["ratio_min"] == 1.0);
  CHECK(metrics["ratio_max"] == 1.0);
}

TEST_CASE("actions: which members of a record are trained", "[training]") {
  const std::string ids = R"("prompt_ids":[1],"completion_ids":[2,3])";
  const Json record = jsonl::parse(
      R"({"rollouts":[{"reward":null,"turns":[{)" + ids + R"(,"advantage":1}]},)" +
      R"({"reward":0.5,"sampling":{"temperature":0.3},"turns":[{)" + ids + R"(,"advantage":2},{)" + ids +
      R"(,"advantage":null},{"prompt_ids":[1],"completion_ids":[],"advantage":3},{)" + ids +
      R"(,"advantage":0,"sampling":{"temperature":0.6,"max_tokens":9},"finish_reason":"length"}]},{"turns":[{)" +
      ids + R"(,"advantage":5}]}],"decompositions":[{)" + ids +
      R"(,"advantage":6,"sampling":{"temperature":0.4},"functions":[{"implementations":[{)" + ids +
      R"(,"advantage":7},{)" + ids + "}]}]}]}");
  ActionOptions options;
  options.temperature = 0.9;
  options.mask_truncated = true;
  const auto turns = actions_of(record, options);
  REQUIRE(turns.size() == 3);
  CHECK(turns[0].advantage == 2);
  CHECK(turns[0].temperature == 0.3);
  CHECK(turns[1].advantage == 0);
  CHECK(turns[1].temperature == 0.6);
  CHECK(turns[1].max_tokens == 9);
  CHECK(turns[1].masked);
  CHECK(turns[2].temperature == 0.9);
  options.train = Train::kDecomposition;
  const auto decompositions = actions_of(record, options);
  REQUIRE(decompositions.size() == 1);
  CHECK(decompositions[0].advantage == 6);
  options.train = Train::kImplementation;
  const auto implementations = actions_of(record, options);
  REQUIRE(implementations.size() == 1);
  CHECK(implementations[0].advantage == 7);
  CHECK(implementations[0].temperature == 0.4);
}

TEST_CASE("actions: per-rollout weight", "[training]") {
  const std::string turn = R"({"prompt_ids":[1],"completion_ids":[2],"advantage":1})";
  const Json record =
      jsonl::parse(R"({"rollouts":[{"turns":[)" + turn + "," + turn + R"(]},{"turns":[)" + turn + "]}]}");
  ActionOptions options;
  options.per_rollout = true;
  const auto actions = actions_of(record, options);
  REQUIRE(actions.size() == 3);
  CHECK(actions[0].weight == 0.5);
  CHECK(actions[2].weight == 1.0);
}

TEST_CASE("actions: a field that does not fit is named", "[training]") {
  const auto error_of = [](const std::string& turn) {
    try {
      actions_of(jsonl::parse(R"({"rollouts":[{"turns":[)" + turn + "]}]}"), {});
    } catch (const RecordError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  CHECK_THAT(error_of(R"({"completion_ids":[2],"advantage":1})"),
             Catch::StartsWith("rollouts[0].turns[0].prompt_ids: missing"));
  CHECK_THAT(error_of(R"({"prompt_ids":[],"completion_ids":[2],"advantage":1})"), Catch::Contains("empty"));
  CHECK_THAT(error_of(R"({"prompt_ids":[1],"completion_ids":[2],"advantage":1,"logprobs":[-1,-2]})"),
             Catch::StartsWith("rollouts[0].turns[0].logprobs: 2 numbers for 1"));
  CHECK_THAT(error_of(R"({"prompt_ids":[1],"completion_ids":["x"],"advantage":1})"),
             Catch::StartsWith("rollouts[0].turns[0].completion_ids: must be an array of integers"));
  CHECK_THAT(
      error_of(R"({"prompt_ids":[1],"completion_ids":[2],"advantage":1,"sampling":{"temperature":-1}})"),
      Catch::Contains("must not be negative"));
}

TEST_CASE("actions: supervised examples", "[training]") {
  struct Encoder : TextEncoder {
    std::vector<std::int64_t> prompt(const Json&) override { return {7, 8}; }
    std::vector<std::int64_t> completion(const std::string& text) override {
      last = text;
      return {9};
    }
    std::string last;
  } encoder;
  ActionOptions options;
  options.sft = true;
  const Json with_ids = jsonl::parse(
      R"({"sampling":{"temperature":0.5},"solutions":[{"prompt_ids":[1],"completion_ids":[2,3]},{"completion":"text"},)"
      R"({"code":"x = 1"}]})");
  const auto actions = actions_of(with_ids, options, &encoder);
  REQUIRE(actions.size() == 3);
  CHECK(actions[0].prompt == std::vector<std::int64_t>{1});
  CHECK(actions[0].temperature == 1);
  CHECK(actions[1].prompt == std::vector<std::int64_t>{7, 8});
  CHECK(encoder.last == "```python\nx = 1\n```");
  CHECK_THROWS_AS(actions_of(with_ids, options), RecordError);
  // Without solutions: the first solved turn of each solved rollout; a caught cheat solved nothing.
  const auto turn = [](int id, const std::string& verdict) {
    return R"({"prompt_ids":[1],"completion_ids":[)" + std::to_string(id) + R"(],"verdict":{)" + verdict +
           "}}";
  };
  const Json rollouts = jsonl::parse(R"({"rollouts":[{"turns":[)" + turn(2, R"("status":"wrong_answer")") +
                                     "," + turn(3, R"("status":"ok")") + "," + turn(4, R"("status":"ok")") +
                                     R"(]},{"turns":[)" + turn(5, R"("status":"ok","cheat":true)") + "]}]}");
  const auto solved = actions_of(rollouts, options);
  REQUIRE(solved.size() == 1);
  CHECK(solved[0].completion == std::vector<std::int64_t>{3});
}

TEST_CASE("denominators", "[training]") {
  using V = std::vector<double>;
  const std::vector<std::int64_t> lengths = {2, 6};
  CHECK(token_factors(Loss::kGrpo, lengths, 10) == V{1.0 / 4, 1.0 / 12});
  CHECK(token_factors(Loss::kGspo, lengths, 10) == V{1.0 / 4, 1.0 / 12});
  CHECK(token_factors(Loss::kDrGrpo, lengths, 10) == V{1.0 / 20, 1.0 / 20});
  for (const Loss loss : {Loss::kBnpo, Loss::kDapo, Loss::kCispo, Loss::kSft}) {
    CHECK(token_factors(loss, lengths, 10) == V{1.0 / 8, 1.0 / 8});
  }
}

TEST_CASE("learning rate", "[training]") {
  RateOptions options;
  options.lr = 2;
  options.warmup_steps = 4;
  CHECK(learning_rate(options, 1) == 0.5);
  CHECK(learning_rate(options, 4) == 2);
  CHECK(learning_rate(options, 1000) == 2);
  options.total_steps = 8;
  options.schedule = Schedule::kLinear;
  CHECK(learning_rate(options, 6) == Approx(1));
  CHECK(learning_rate(options, 9) == 0);
  options.schedule = Schedule::kCosine;
  CHECK(learning_rate(options, 4) == Approx(2));
  CHECK(learning_rate(options, 6) == Approx(1));
  CHECK(learning_rate(options, 8) == Approx(0).margin(1e-12));
}

TEST_CASE("weight decay spares vectors, and bias correction holds at the first step", "[training]") {
  const at::Tensor matrix = at::ones({2, 2}).set_requires_grad(true);
  const at::Tensor vector = at::ones({2}).set_requires_grad(true);
  AdamOptions options;
  options.weight_decay = 0.5;
  const Ranks ranks;
  AdamW adam({{"m", matrix}, {"v", vector}}, options, ranks);
  (matrix.sum() * 3 + vector.sum() * 0.01).backward();
  adam.step(0.1, 1);
  // The first update is lr whatever the gradient's size; the matrix also shrinks by lr * decay.
  CHECK(matrix.mean().item<double>() == Approx(0.95 - 0.1).epsilon(1e-5));
  CHECK(vector.mean().item<double>() == Approx(1.0 - 0.1).epsilon(1e-5));
}

TEST_CASE("a checkpoint in bf16 keeps its type and fp32 masters, so small updates are not lost",
          "[training]") {
  const Scratch scratch;
  fs::copy(kGolden / "model", scratch / "bf16");
  std::map<std::string, std::string> types;
  {
    const model::SafetensorsReader reader((kGolden / "model").string());
    std::vector<model::TensorInfo> infos;
    for (const auto& view : reader.tensors()) {
      types[view.name] = view.name.ends_with("norm.weight") ? "F32" : "BF16";
      infos.push_back({view.name, types[view.name], view.shape});
    }
    model::SafetensorsWriter writer(scratch / "bf16/model.safetensors", infos);
    for (const auto& view : reader.tensors()) {
      at::Tensor values = at::empty(view.shape, at::kFloat);
      model::widen(view, 0, view.elements(), values.data_ptr<float>());
      const at::Tensor bytes = values.to(types[view.name] == "F32" ? at::kFloat : at::kBFloat16);
      writer.write(view.name, bytes.const_data_ptr(), bytes.nbytes());
    }
    writer.close();
  }
  UpdateOptions options = golden_options(scratch / "out");
  options.model = scratch / "bf16";
  options.trainer.rate.lr = 1e-5;
  options.trainer.adam.weight_decay = 0;
  options.num_iterations = 2;
  options.max_steps = 1;
  update(options);
  const model::SafetensorsReader weights(options.out);
  for (const auto& view : weights.tensors()) CHECK(view.dtype == types[view.name]);
  // The masters moved by about lr although most stored weights could not.
  const model::SafetensorsReader state(options.out + "/leap_optimizer.safetensors");
  const auto& master = state.at("master.model.layers.0.mlp.up_proj.weight");
  const model::SafetensorsReader before(options.model);
  const auto& start = before.at("model.layers.0.mlp.up_proj.weight");
  std::vector<float> a(static_cast<std::size_t>(master.elements())), b(a.size());
  model::widen(master, 0, master.elements(), a.data());
  model::widen(start, 0, start.elements(), b.data());
  double moved = 0;
  for (std::size_t i = 0; i < a.size(); ++i) moved += std::abs(double{a[i]} - double{b[i]});
  CHECK(moved / static_cast<double>(a.size()) == Approx(1e-5).epsilon(0.3));
  // And a resumed run goes on from them.
  UpdateOptions whole = options;
  whole.out = scratch / "whole";
  whole.max_steps = 2;
  update(whole);
  options.max_steps = 2;
  options.resume = options.out;
  update(options);
  CHECK(files_of(options.out) == files_of(whole.out));
}

TEST_CASE("a staged directory is exchanged whole, and files of others are kept", "[training]") {
  const Scratch scratch;
  const std::string target = scratch / "dir";
  const auto owned = [](const std::string& name) { return name != "notes.txt"; };
  for (const std::string generation : {"1", "2"}) {
    StagedDirectory staged(target, owned);
    write_text(staged.path() / "a", generation);
    if (generation == "1") write_text(staged.path() / "b", generation);
    if (generation == "2") CHECK(text_of(target + "/a") == "1");
    staged.commit();
    CHECK(text_of(target + "/a") == generation);
    if (generation == "1") write_text(target + "/notes.txt", "mine");
  }
  CHECK_FALSE(fs::exists(target + "/b"));
  CHECK(text_of(target + "/notes.txt") == "mine");
  {
    const StagedDirectory dropped(target, owned);
    write_text(dropped.path() / "a", "3");
  }
  CHECK(text_of(target + "/a") == "2");
  CHECK(std::distance(fs::directory_iterator(scratch / ""), fs::directory_iterator()) == 1);
}

TEST_CASE("a writer killed at any moment leaves a whole directory", "[training]") {
  const Scratch scratch;
  const std::string target = scratch / "dir";
  const auto owned = [](const std::string&) { return true; };
  int seen = 0;
  for (int round = 0; round < 40; ++round) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      for (int generation = 0;; ++generation) {
        StagedDirectory staged(target, owned);
        for (const char* name : {"a", "b", "c"}) {
          write_text(staged.path() / name, std::to_string(round) + " " + std::to_string(generation));
        }
        staged.commit();
      }
    }
    usleep(static_cast<useconds_t>(500 + 731 * round));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    if (!fs::exists(target)) continue;
    ++seen;
    const auto files = files_of(target);
    REQUIRE(files.size() == 3);
    CHECK(files.at("a") == files.at("b"));
    CHECK(files.at("a") == files.at("c"));
  }
  CHECK(seen > 0);
}
