#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>

#include "base/error.hpp"
#include "base/random.hpp"
#include "sampling/modes.hpp"
#include "sampling/plan.hpp"
#include "sampling/prompts.hpp"
#include "sampling/sampler.hpp"
#include "sampling/server_backend.hpp"

using leap::Json;
using namespace leap::sampling;
namespace fs = std::filesystem;
using Ids = std::vector<std::int64_t>;

namespace {

class TempDir {
 public:
  TempDir() {
    char name[] = "/tmp/leap-sampling-XXXXXX";
    REQUIRE(mkdtemp(name) != nullptr);
    path_ = name;
  }
  ~TempDir() { fs::remove_all(path_); }
  fs::path operator/(const std::string& name) const { return path_ / name; }
  std::string path() const { return path_.string(); }

 private:
  fs::path path_;
};

void write(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<Json> records_in(const std::string& text) {
  std::vector<Json> records;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = text.find('\n', at);
    REQUIRE(end != std::string::npos);
    records.push_back(leap::jsonl::parse_record(std::string_view(text).substr(at, end - at)));
    at = end + 1;
  }
  return records;
}

const char* const kChatML =
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + "
    "'<|im_end|>' + "
    "'\\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

/// A checkpoint's tokenizer files: the small tokenizer of that name and a chat template.
void make_tokenizer(const TempDir& dir, const std::string& name, const std::string& chat_template) {
  fs::copy_file(fs::path(LEAP_SOURCE_DIR) / "tests/golden/tokenizer" / (name + ".json"),
                dir / "tokenizer.json");
  if (!chat_template.empty()) {
    write(dir / "tokenizer_config.json",
          Json{{"chat_template", chat_template}, {"eos_token", "<|im_end|>"}}.dump());
  }
}

/// Answers the oldest or the newest of the requests it has taken; what it says depends on prompt and key
/// alone.
class FakeBackend : public Backend {
 public:
  std::size_t capacity = 4;
  bool newest_first = false;
  std::function<std::string(const Request&)> error = [](const Request&) { return ""; };
  std::size_t most_taken = 0, served = 0, fail_after = SIZE_MAX;

  void run(const SamplingOptions&, const NextRequest& next, const Done& done) override {
    std::deque<std::pair<Request, std::size_t>> taken;
    bool ended = false;
    while (true) {
      while (!ended && taken.size() < capacity) {
        Request request;
        const Next what = next(request);
        if (what == Next::kLater) {
          REQUIRE(!taken.empty());
          break;
        }
        ended = what == Next::kEnd;
        for (std::size_t i = 0; !ended && i < request.keys.size(); ++i) taken.emplace_back(request, i);
      }
      most_taken = std::max(most_taken, taken.size());
      if (taken.empty()) return;
      const auto [request, index] = newest_first ? taken.back() : taken.front();
      newest_first ? taken.pop_back() : taken.pop_front();
      if (served++ == fail_after) throw leap::Error("the model is gone");
      Completion completion;
      completion.tag = request.tag;
      completion.index = index;
      completion.error = error(request);
      completion.ids = {static_cast<std::int64_t>(request.keys[index] % 1000), 2};
      completion.logprobs = {-0.5, -0.25};
      completion.text = std::to_string(completion.ids[0]);
      completion.finish_reason = "stop";
      done(std::move(completion));
    }
  }
  std::vector<double> score(const Ids& prompt, const Ids& completion, double temperature) override {
    return std::vector<double>(completion.size(), -temperature - static_cast<double>(prompt.size()));
  }
  std::string model_name() const override { return "fake"; }
  std::int64_t weight_version() const override { return 7; }
  std::string logprobs_mode() const override { return "scaled"; }
};

/// One run of the sampler, its output in a file.
struct Run {
  TempDir dir;
  leap::cli::Tool tool{"leap-sample", "", ""};
  leap::cli::StreamOptions stream;
  SamplerOptions options;
  std::function<void(FakeBackend&)> setup = [](FakeBackend&) {};
  int backends = 0;

  explicit Run(const std::vector<Json>& input) {
    std::string text;
    for (const Json& record : input) text += leap::jsonl::dump(record) + "\n";
    write(dir / "in.jsonl", text);
    stream.files = {dir / "in.jsonl"};
    stream.resume = dir / "out.jsonl";
    stream.quiet = true;
  }
  SampleTotals operator()() {
    return sample(tool, stream, options, [&]() -> std::unique_ptr<Backend> {
      ++backends;
      auto backend = std::make_unique<FakeBackend>();
      setup(*backend);
      return backend;
    });
  }
  std::string output() const { return read(dir / "out.jsonl"); }
};

Json problem(int i) {
  return {{"id", "p" + std::to_string(i)}, {"prompt", "say " + std::to_string(i)}};
}

std::vector<Json> problems(int count) {
  std::vector<Json> records;
  for (int i = 0; i < count; ++i) records.push_back(problem(i));
  return records;
}

Json turn(const std::string& completion, const char* status) {
  Json made = {{"completion", completion}};
  if (status != nullptr) made["verdict"] = {{"status", status}, {"feedback", "F " + completion}};
  return made;
}

Json rollout(std::initializer_list<Json> turns, const char* state) {
  Json made = {{"turns", Json::array()}};
  for (const Json& one : turns) made["turns"].push_back(one);
  if (state != nullptr) made["state"] = state;
  return made;
}

}  // namespace

TEST_CASE("first turns: keys by rollout, lines in order whatever is done first", "[sampling]") {
  Run run(problems(30));
  run.options.rollouts = 3;
  run.options.sampling.seed = 5;
  run.setup = [](FakeBackend& backend) { backend.newest_first = true; };
  const SampleTotals totals = run();
  CHECK(totals.records == 30);
  CHECK(totals.turns == 90);
  CHECK(totals.completion_tokens == 180);
  const auto records = records_in(run.output());
  REQUIRE(records.size() == 30);
  for (int i = 0; i < 30; ++i) {
    const Json& record = records[static_cast<std::size_t>(i)];
    CHECK(record["id"] == problem(i)["id"]);
    REQUIRE(record["rollouts"].size() == 3);
    for (std::uint64_t k = 0; k < 3; ++k) {
      const Json& one = record["rollouts"][k];
      CHECK(one["state"] == "open");
      const Json& made = one["turns"][0];
      CHECK(made["completion"] == std::to_string(leap::draw_key(5, "p" + std::to_string(i), k, 0) % 1000));
      CHECK(leap::jsonl::integers(made["completion_ids"]).size() == 2);
      CHECK(leap::jsonl::numbers(made["logprobs"]) == std::vector<double>{-0.5, -0.25});
      CHECK(
          leap::jsonl::dump(made["sampling"]) ==
          R"({"model":"fake","weight_version":7,"temperature":1.0,"top_p":1.0,"top_k":0,"max_tokens":512,"seed":5,)"
          R"("logprobs_mode":"scaled"})");
    }
  }
}

TEST_CASE("no result depends on capacity, order of work or the window", "[sampling]") {
  Run reference(problems(20));
  reference.options.rollouts = 2;
  reference();
  for (const std::size_t capacity : {1, 3, 100}) {
    for (const int jobs : {1, 2, 0}) {
      Run run(problems(20));
      run.options.rollouts = 2;
      run.stream.jobs = jobs;
      run.options.deterministic = jobs == 2;
      run.setup = [&](FakeBackend& backend) {
        backend.capacity = capacity;
        backend.newest_first = true;
      };
      run();
      CHECK(run.output() == reference.output());
    }
  }
}

TEST_CASE("deterministic: one line in work at a time", "[sampling]") {
  for (const bool deterministic : {true, false}) {
    Run run(problems(9));
    run.options.rollouts = 2;
    run.options.deterministic = deterministic;
    FakeBackend* seen = nullptr;
    std::size_t most = 0;
    run.setup = [&](FakeBackend& backend) {
      backend.capacity = 8;
      seen = &backend;
      backend.error = [&](const Request&) {
        most = std::max(most, seen->most_taken);
        return "";
      };
    };
    run();
    CHECK(most == (deterministic ? 2 : 9));
  }
}

TEST_CASE("records with nothing to do pass on and load no model", "[sampling]") {
  std::vector<Json> input = {
      {{"prompt", 3}, {"rollouts", Json::array({rollout({turn("a", "ok")}, "solved")})}},
      {{"rollouts",
        Json::array({rollout({turn("a", "crash")}, "stopped"), rollout({turn("b", nullptr)}, "open")})}}};
  Run run(input);
  const SampleTotals totals = run();
  CHECK(run.backends == 0);
  CHECK(totals.records == 2);
  CHECK(run.output() == read(run.dir / "in.jsonl"));
}

TEST_CASE("stages: order of work, batching and resuming change nothing", "[sampling]") {
  const Json functions = Json::array({Json{{"name", "a"}, {"signature", "def a()"}, {"doc", "A."}},
                                      Json{{"name", "b"}, {"signature", "def b()"}, {"doc", "B."}}});
  for (const Stage stage : {Stage::kDecompose, Stage::kImplement}) {
    std::vector<Json> input = problems(8);
    for (Json& record : input) {
      if (stage == Stage::kImplement)
        record["decompositions"] =
            Json::array({Json{{"functions", functions}}, Json{{"error", "line 1: no"}}});
    }
    const auto run = [&](Run& one) {
      one.options.stage.stage = stage;
      one.options.rollouts = 3;
      one();
    };
    Run reference(input);
    run(reference);
    const Json made = records_in(reference.output())[7]["decompositions"];
    CHECK(made.size() == (stage == Stage::kDecompose ? 3 : 2));
    if (stage == Stage::kImplement) {
      CHECK(made[0]["functions"][1]["implementations"][2]["code"].is_string());
      CHECK(made[0]["functions"][1]["implementations"][2]["sampling"]["weight_version"] == 7);
    }
    Run other(input);
    other.setup = [](FakeBackend& backend) {
      backend.capacity = 100;
      backend.newest_first = true;
    };
    const std::string whole = reference.output();
    write(other.dir / "out.jsonl", whole.substr(0, whole.size() / 2));
    run(other);
    CHECK(other.output() == whole);
    run(other);
    CHECK(other.output() == whole);
    CHECK(other.backends == 1);
  }
}

TEST_CASE("open rollouts with a verdict get a turn with a key of its own", "[sampling]") {
  Json record = problem(1);
  record["rollouts"] =
      Json::array({rollout({turn("a", "ok")}, "solved"), rollout({turn("b", "crash")}, "open"),
                   rollout({turn("c", "crash"), turn("d", "timeout")}, nullptr),
                   rollout({turn("e", nullptr)}, nullptr), rollout({}, "open")});
  Run run(std::vector<Json>{record});
  std::map<std::uint64_t, std::string> prompts;
  run.setup = [&](FakeBackend& backend) {
    backend.error = [&](const Request& request) {
      REQUIRE(request.keys.size() == 1);
      prompts[request.keys[0]] = request.prompt.get<std::string>();
      return "";
    };
  };
  run();
  const Json made = records_in(run.output())[0];
  std::vector<std::size_t> counts;
  for (const Json& one : made["rollouts"]) counts.push_back(one["turns"].size());
  CHECK(counts == std::vector<std::size_t>{1, 2, 3, 1, 1});
  CHECK_FALSE(made["rollouts"][2].contains("state"));
  CHECK(made["rollouts"][1]["turns"][0] == record["rollouts"][1]["turns"][0]);
  const auto key = [](std::uint64_t r, std::uint64_t t) { return leap::draw_key(0, "p1", r, t); };
  REQUIRE(prompts.size() == 3);
  CHECK(prompts.at(key(4, 0)) == "say 1");
  CHECK(prompts.at(key(1, 1)).rfind("say 1b\n\n", 0) == 0);
  CHECK(prompts.at(key(1, 1)).find("F b") != std::string::npos);
  const std::string& third = prompts.at(key(2, 2));
  CHECK(third.find("F c") < third.find("d\n\n"));
  CHECK(third.find("F d") != std::string::npos);
  CHECK(made["rollouts"][2]["turns"][2]["completion"] == std::to_string(key(2, 2) % 1000));
}

TEST_CASE("a bad record or completion stops the run after what is in work, or is passed on", "[sampling]") {
  for (const bool by_backend : {false, true}) {
    auto input = problems(9);
    if (!by_backend) input[5].erase("id");
    Run run(input);
    run.setup = [&](FakeBackend& backend) {
      backend.capacity = 1;
      backend.error = [&](const Request& request) {
        return by_backend && request.prompt == "say 5" ? "no luck" : "";
      };
    };
    CHECK_THROWS_WITH(run(), Catch::StartsWith("line 6: ") && Catch::Contains(by_backend ? "no luck" : "id"));
    CHECK(records_in(run.output()).size() == 5);

    run.stream.keep_going = true;
    run();
    CHECK(run.tool.failed() == 1);
    const auto records = records_in(run.output());
    REQUIRE(records.size() == 9);
    CHECK(records[5] == input[5]);
    CHECK(std::count_if(records.begin(), records.end(),
                        [](const Json& r) { return r.contains("rollouts"); }) == 8);
  }
}

TEST_CASE("a backend that is gone stops the run; resuming does the rest", "[sampling]") {
  Run whole(problems(40));
  whole.options.rollouts = 2;
  whole();
  Run run(problems(40));
  run.options.rollouts = 2;
  for (const std::size_t limit : {21, 30, 1000}) {
    run.setup = [&](FakeBackend& backend) { backend.fail_after = limit; };
    if (limit < 1000) {
      CHECK_THROWS_WITH(run(), "the model is gone");
      CHECK(!run.output().empty());
      CHECK(whole.output().rfind(run.output(), 0) == 0);
    } else {
      run();
    }
  }
  CHECK(run.output() == whole.output());
}

TEST_CASE("feedback fills the template in once", "[sampling]") {
  const Json made = {{"verdict", {{"status", "crash"}, {"feedback", " {status} "}, {"passed", 1}}}};
  CHECK(render_feedback("{turn}: {status} {feedback} {passed}/{total} {code} {x} {\n", made, 2, "c") ==
        "2: crash {status} 1/ c {x} {");
  CHECK(render_feedback(kDefaultFeedback, made, 1, "").find("{") ==
        render_feedback(kDefaultFeedback, made, 1, "").find("{status}"));
}

TEST_CASE("later prompts keep the ids of history and add only what stands between", "[sampling]") {
  TempDir dir;
  make_tokenizer(dir, "smollm2", kChatML);
  const auto tokenizer = leap::tokenizer::Tokenizer::load(dir.path());
  PromptOptions options;
  options.tokenizer = dir.path();
  options.feedback = "Got {status} <|im_end|>";
  const Prompts prompts(options);
  const auto plain = [&](const char* text) { return tokenizer.encode(text, false, false); };
  const std::int64_t start = 1, end = 2;

  Json record = {{"id", "x"}, {"prompt", Json::array({{{"role", "user"}, {"content", "Add <|im_end|>\n"}}})}};
  const Prompt first = prompts.first(record);
  CHECK(tokenizer.decode(first.ids) ==
        "<|im_start|>user\nAdd <|im_end|>\n<|im_end|>\n<|im_start|>assistant\n");
  CHECK(std::count(first.ids.begin(), first.ids.end(), end) == 1);  // the typed one is text

  // Ids that no tokenizer would give for their text: they must come back as they are.
  const Ids odd = {plain("a")[0], plain("d")[0], plain("d")[0]};
  const auto later = [&](Ids completion, const char* reason) {
    Json last = turn("add", "crash");
    last["prompt_ids"] = leap::jsonl::raw_ids(first.ids);
    last["completion_ids"] = leap::jsonl::raw_ids(completion);
    last["finish_reason"] = reason;
    const Prompt prompt = prompts.later(record, rollout({last}, "open"));
    Ids history = first.ids;
    history.insert(history.end(), completion.begin(), completion.end());
    REQUIRE(prompt.ids.size() > history.size());
    CHECK(std::equal(history.begin(), history.end(), prompt.ids.begin()));
    return Ids(prompt.ids.begin() + static_cast<std::ptrdiff_t>(history.size()), prompt.ids.end());
  };
  const std::string between = "\n<|im_start|>user\nGot crash <|im_end|><|im_end|>\n<|im_start|>assistant\n";
  Ids stopped = odd;
  stopped.push_back(end);
  const Ids after_stop = later(stopped, "stop");
  CHECK(tokenizer.decode(after_stop) == between);
  CHECK(std::count(after_stop.begin(), after_stop.end(), end) == 1);
  CHECK(std::count(after_stop.begin(), after_stop.end(), start) == 2);
  const Ids after_cut = later(odd, "length");
  CHECK(tokenizer.decode(after_cut) == "<|im_end|>" + between);
  CHECK(after_cut[0] == end);
  // Another end id is history too, and ends no turn of this template.
  Ids other = odd;
  other.push_back(0);
  CHECK(tokenizer.decode(later(other, "stop")) == "<|im_end|>" + between);

  SECTION("--history last") {
    options.last_only = true;
    Json last = turn("Sure:\n```python\nx = 1\n```\nDone.", "crash");
    last["prompt_ids"] = leap::jsonl::raw_ids(first.ids);
    last["completion_ids"] = leap::jsonl::raw_ids(odd);
    record["task"] = {{"language", "python"}};
    const Prompt prompt = Prompts(options).later(record, rollout({turn("gone", "crash"), last}, "open"));
    CHECK(tokenizer.decode(prompt.ids) ==
          "<|im_start|>user\nAdd <|im_end|>\n<|im_end|>\n<|im_start|>assistant\n```python\nx = "
          "1\n```<|im_end|>\n"
          "<|im_start|>user\nGot crash <|im_end|><|im_end|>\n<|im_start|>assistant\n");
  }
  SECTION("raw prompts") {
    record["prompt"] = "def f():\n<|im_start|>";
    const Prompt raw = prompts.first(record);
    CHECK(raw.ids == tokenizer.encode("def f():\n<|im_start|>"));
    CHECK(std::count(raw.ids.begin(), raw.ids.end(), start) == 1);  // specials typed in a string are special
    CHECK(tokenizer.decode(later(stopped, "stop")) == "\n\nGot crash <|im_end|>\n\n");
    CHECK(std::count(raw.ids.begin(), raw.ids.end(), end) == 0);
  }
  SECTION("the record's own prompt_ids") {
    record["prompt_ids"] = {7, 8, 9};
    CHECK(prompts.first(record).ids == Ids{7, 8, 9});
    // They begin every prompt that is made anew: of turns without ids, and with --history last.
    Json task = record;
    task["task"] = {{"language", "python"}};
    options.last_only = true;
    const Prompts last_only(options);
    const auto after_own_ids = [&](const Prompt& prompt) {
      const Ids own{7, 8, 9};
      REQUIRE(prompt.ids.size() > own.size());
      CHECK(std::equal(own.begin(), own.end(), prompt.ids.begin()));
      return tokenizer.decode(Ids(prompt.ids.begin() + 3, prompt.ids.end()));
    };
    const Json plain_turns = rollout({turn("A", "crash"), turn("x <|im_end|>", "timeout")}, "open");
    const std::string told =
        "<|im_end|>\n<|im_start|>user\nGot timeout <|im_end|><|im_end|>\n<|im_start|>assistant\n";
    CHECK(after_own_ids(prompts.later(task, plain_turns)) == "A<|im_end|>" + between + "x <|im_end|>" + told);
    CHECK(after_own_ids(last_only.later(task, plain_turns)) == "```python\nx <|im_end|>\n```" + told);
    for (const char* prompt : {"a text", ""}) {
      if (*prompt == 0) {
        task.erase("prompt");
      } else {
        task["prompt"] = prompt;
      }
      const std::string feedback = "\n\nGot timeout <|im_end|>\n\n";
      CHECK(after_own_ids(prompts.later(task, plain_turns)) ==
            "A\n\nGot crash <|im_end|>\n\nx <|im_end|>" + feedback);
      CHECK(after_own_ids(last_only.later(task, plain_turns)) == "x <|im_end|>" + feedback);
    }
  }
  SECTION("turns without ids are tokenised") {
    const Prompt prompt = prompts.later(record, rollout({turn("A", "crash"), turn("B", "timeout")}, "open"));
    CHECK(tokenizer.decode(prompt.ids) ==
          "<|im_start|>user\nAdd <|im_end|>\n<|im_end|>\n<|im_start|>assistant\nA<|im_end|>\n"
          "<|im_start|>user\nGot crash <|im_end|><|im_end|>\n<|im_start|>assistant\nB<|im_end|>\n"
          "<|im_start|>user\nGot timeout <|im_end|><|im_end|>\n<|im_start|>assistant\n");
  }
}

TEST_CASE("templates that put space before the end of turn, or strip contents", "[sampling]") {
  TempDir dir;
  make_tokenizer(
      dir, "smollm2",
      "{% for message in messages %}[{{ message['role'] }}] {{ message['content'] | trim }} <|im_end|>\n"
      "{% endfor %}{% if add_generation_prompt %}[assistant] {% endif %}");
  const auto tokenizer = leap::tokenizer::Tokenizer::load(dir.path());
  PromptOptions options;
  options.tokenizer = dir.path();
  options.feedback = " again\n";
  const Prompts prompts(options);
  const Json record = {{"id", "x"}, {"prompt", Json::array({{{"role", "user"}, {"content", " Add "}}})}};
  Json last = turn("add", "crash");
  last["prompt_ids"] = leap::jsonl::raw_ids({5});
  last["completion_ids"] = leap::jsonl::raw_ids({6, 2});
  CHECK(tokenizer.decode(prompts.later(record, rollout({last}, "open")).ids) ==
        tokenizer.decode({5, 6, 2}) + "\n[user] again <|im_end|>\n[assistant] ");
  last["completion_ids"] = leap::jsonl::raw_ids({6});
  CHECK(tokenizer.decode(prompts.later(record, rollout({last}, "open")).ids) ==
        tokenizer.decode({5, 6}) + " <|im_end|>\n[user] again <|im_end|>\n[assistant] ");
}

TEST_CASE("messages without a chat template cannot be prompted", "[sampling]") {
  TempDir dir;
  make_tokenizer(dir, "smollm2", "");
  PromptOptions options;
  options.tokenizer = dir.path();
  const Prompts prompts(options);
  CHECK(!prompts.first({{"prompt", "x"}}).ids.empty());
  CHECK_THROWS_AS(prompts.first({{"prompt", Json::array({{{"role", "user"}, {"content", "x"}}})}}),
                  leap::RecordError);
}

TEST_CASE("answers: lengths and ids are checked", "[sampling]") {
  SamplingOptions options;
  options.max_tokens = 3;
  const Json good = {{"choices", Json::array({{{"text", "ab"},
                                               {"finish_reason", "stop"},
                                               {"token_ids", {4, 5}},
                                               {"prompt_token_ids", {1}},
                                               {"logprobs", {{"token_logprobs", {-1, -0.5}}}}}})}};
  std::vector<std::string> tokens;
  const auto error_of = [&](const std::function<void(Json&)>& change) -> std::string {
    Json answer = good;
    change(answer["choices"][0]);
    try {
      read_answer(Api::kOpenAi, answer, options, {1}, tokens);
      return "";
    } catch (const leap::RecordError& e) {
      return e.what();
    }
  };
  const Completion read = read_answer(Api::kOpenAi, good, options, {1}, tokens);
  CHECK(read.text == "ab");
  CHECK(read.ids == Ids{4, 5});
  CHECK(read.logprobs == std::vector<double>{-1, -0.5});
  CHECK(error_of([](Json& c) { c["finish_reason"] = "eos_token"; }) == "");
  CHECK(error_of([](Json& c) { c["logprobs"]["token_logprobs"].erase(0); }) == "2 ids but 1 log-probs");
  CHECK(error_of([](Json& c) { c["logprobs"]["token_logprobs"][0] = nullptr; }) != "");
  CHECK(error_of([](Json& c) { c["logprobs"]["token_logprobs"][0] = 0.5; }) != "");
  CHECK(error_of([](Json& c) { c["token_ids"] = Json::array(); }) != "");
  CHECK(error_of([](Json& c) { c["token_ids"] = {1, "x"}; }) != "");
  CHECK(error_of([](Json& c) {
          c["prompt_token_ids"] = {0, 1};
        }) == "prompt_token_ids: not the prompt that was sent");
  CHECK(error_of([](Json& c) { c["finish_reason"] = "abort"; }) != "");
  CHECK(error_of([](Json& c) { c["finish_reason"] = nullptr; }) != "");
  CHECK(error_of([](Json& c) { c.erase("text"); }) != "");
  options.max_tokens = 1;
  CHECK(error_of([](Json&) {}) == "more than max_tokens tokens");
  CHECK_THROWS_AS(read_answer(Api::kOpenAi, Json::object(), options, {}, tokens), leap::RecordError);
}

TEST_CASE("answers: token texts that collide are told apart by id", "[sampling]") {
  SamplingOptions options;
  std::vector<std::string> tokens;
  const Json by_id = {
      {"choices",
       Json::array({{{"message", {{"content", "??"}}},
                     {"finish_reason", "length"},
                     {"logprobs",
                      {{"content", Json::array({{{"id", 8}, {"token", "?"}, {"logprob", -1}},
                                                {{"id", 9}, {"token", "?"}, {"logprob", -2}}})}}}}})}};
  CHECK(read_answer(Api::kOpenAi, by_id, options, {}, tokens).ids == Ids{8, 9});
  const Json in_text = {
      {"choices",
       Json::array(
           {{{"text", "??"},
             {"finish_reason", "length"},
             {"logprobs", {{"tokens", {"token_id:8", "token_id:9"}}, {"token_logprobs", {-1, -2}}}}}})}};
  CHECK(read_answer(Api::kOpenAi, in_text, options, {}, tokens).ids == Ids{8, 9});
}

TEST_CASE("scores go to every action with ids", "[sampling]") {
  FakeBackend backend;
  const auto action = [](std::initializer_list<int> prompt, std::initializer_list<int> completion) {
    return Json{{"prompt_ids", prompt}, {"completion_ids", completion}, {"logprobs", {9}}, {"after", 1}};
  };
  Json hot = action({1, 2}, {3, 4});
  hot["sampling"] = {{"temperature", 0.5}};
  Json split = action({1}, {2});
  split["sampling"] = {{"temperature", 2}};
  split["functions"] =
      Json::array({{{"name", "f"}, {"implementations", Json::array({action({1, 2, 3}, {4})})}}});
  Json record = {{"rollouts", Json::array({{{"turns", Json::array({hot, turn("no ids", nullptr)})}}})},
                 {"solutions", Json::array({action({1}, {2, 3})})},
                 {"decompositions", Json::array({split})}};
  const auto at = [&](const char* pointer) {
    return leap::jsonl::dump(record.at(Json::json_pointer(pointer)));
  };

  ScoreOptions options;
  CHECK(wants_scores(record, options));
  score(record, options, backend);
  CHECK_FALSE(wants_scores(record, options));
  CHECK(at("/rollouts/0/turns/0/logprobs") == "[-3.000000,-3.000000]");
  CHECK(at("/solutions/0/logprobs") == "[-2.000000,-2.000000]");
  CHECK(at("/decompositions/0/logprobs") == "[-2.000000]");
  CHECK(at("/decompositions/0/functions/0/implementations/0/logprobs") == "[-4.000000]");
  CHECK(at("/rollouts/0/turns/0").rfind(R"({"prompt_ids":[1,2],"completion_ids":[3,4],"logprobs":[)", 0) ==
        0);
  CHECK_FALSE(record["rollouts"][0]["turns"][1].contains("logprobs"));

  options.reference = true;
  CHECK(wants_scores(record, options));
  score(record, options, backend);
  CHECK(at("/rollouts/0/turns/0/ref_logprobs") == "[-2.500000,-2.500000]");
  CHECK(at("/solutions/0/ref_logprobs") == "[-2.000000,-2.000000]");
  CHECK(at("/decompositions/0/ref_logprobs") == "[-3.000000]");
  CHECK(at("/decompositions/0/functions/0/implementations/0/ref_logprobs") == "[-5.000000]");

  record["solutions"][0]["prompt_ids"] = Json::array();
  CHECK_THROWS_WITH(score(record, options, backend), Catch::StartsWith("solutions[0].prompt_ids"));
}

TEST_CASE("tokenise: by the member that is there", "[sampling]") {
  TempDir dir;
  make_tokenizer(dir, "smollm2", kChatML);
  const TokenizeMode mode(dir.path());
  const auto tokenizer = leap::tokenizer::Tokenizer::load(dir.path());
  const auto ids_after = [&](Json line) {
    mode.process(line);
    CHECK(TokenizeMode::complete(line));
    return leap::jsonl::integers(line["ids"]);
  };
  CHECK(ids_after({{"text", "a<|im_end|>"}}).back() == 2);
  CHECK(ids_after({{"text", "a<|im_end|>"}, {"parse_special", false}}) ==
        tokenizer.encode("a<|im_end|>", false, false));
  Json line = {{"ids", {1, 2}}, {"kept", 1}};
  CHECK_FALSE(TokenizeMode::complete(line));
  mode.process(line);
  CHECK(leap::jsonl::dump(line) == R"({"ids":[1,2],"kept":1,"text":"<|im_start|><|im_end|>"})");
  Json chat = {{"messages", Json::array({{{"role", "user"}, {"content", "q"}}})}};
  mode.process(chat);
  CHECK(chat["prompt"] == "<|im_start|>user\nq<|im_end|>\n<|im_start|>assistant\n");
  CHECK(leap::jsonl::integers(chat["ids"]) == tokenizer.encode(chat["prompt"].get<std::string>()));
  Json none = {{"x", 1}};
  CHECK_THROWS_AS(mode.process(none), leap::RecordError);
}
