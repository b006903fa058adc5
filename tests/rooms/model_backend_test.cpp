// Sampling from local models: equal to transformers, to itself in any batch, and across the plugin's border.
#include <sys/stat.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>

#include "base/error.hpp"
#include "base/random.hpp"
#include "model/draw.hpp"
#include "model/engine.hpp"
#include "model/kernels.hpp"
#include "model/local_backend.hpp"
#include "model/safetensors.hpp"

namespace {

using namespace leap;
using namespace leap::model;
using namespace leap::sampling;
using Ids = std::vector<std::int64_t>;

const std::string kGolden = LEAP_SOURCE_DIR "/tests/golden/model/";

struct TempDir {
  std::string path;
  TempDir() {
    std::string name = (std::filesystem::temp_directory_path() / "leap-local-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~TempDir() { std::filesystem::remove_all(path); }
};

LocalOptions local(const std::string& dir, int batch = 32, int threads = 2) {
  LocalOptions options;
  options.model_dir = dir;
  options.batch_size = batch;
  options.threads = threads;
  options.device = "cpu";
  return options;
}

/// The completions of all requests by (tag, index).
std::map<std::pair<std::uint64_t, std::size_t>, Completion> sample(Backend& backend,
                                                                   const SamplingOptions& options,
                                                                   std::vector<Request> requests) {
  std::map<std::pair<std::uint64_t, std::size_t>, Completion> out;
  std::size_t next = 0;
  backend.run(
      options,
      [&](Request& request) {
        if (next == requests.size()) return Next::kEnd;
        request = requests[next++];
        return Next::kRequest;
      },
      [&](Completion completion) {
        const std::pair key{completion.tag, completion.index};
        REQUIRE(out.emplace(key, std::move(completion)).second);
      });
  return out;
}

Request request(std::uint64_t tag, Ids prompt, std::size_t n) {
  Request out;
  out.tag = tag;
  out.prompt_ids = std::move(prompt);
  for (std::size_t i = 0; i < n; ++i) out.keys.push_back(draw_key(5, "id" + std::to_string(tag), i, 0));
  return out;
}

constexpr std::size_t kCompletions = 47;  ///< of mixed_requests()

/// Prompts of lengths around the page size, some the beginnings of others, with 1 to 5 completions each.
std::vector<Request> mixed_requests() {
  std::vector<Request> out;
  std::uint64_t tag = 0;
  for (const std::size_t length : {1, 2, 31, 32, 33, 64, 65, 7, 100, 3}) {
    Ids prompt;
    for (std::size_t i = 0; i < length; ++i) {
      prompt.push_back(static_cast<std::int64_t>(random_bits(tag, i) % 90));
    }
    out.push_back(request(tag, prompt, 1 + tag % 5));
    ++tag;
  }
  const Ids base = out[8].prompt_ids;  // 100 ids
  for (const std::size_t length : {100, 99, 64, 65, 40, 16, 100, 12}) {
    Ids prompt(base.begin(), base.begin() + static_cast<std::ptrdiff_t>(length));
    for (std::size_t i = 0; i < tag % 3 * 20; ++i) {
      prompt.push_back(static_cast<std::int64_t>(random_bits(tag, i) % 90));
    }
    out.push_back(request(tag, prompt, 1 + tag % 3));
    ++tag;
  }
  return out;
}

double worst(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  double out = 0;
  for (std::size_t i = 0; i < a.size(); ++i) out = std::max(out, std::abs(a[i] - b[i]));
  return out;
}

/// A copy of a golden model whose generation_config.json says `eos`.
void copy_model(const std::string& name, const std::string& to, const std::string& eos) {
  std::filesystem::copy(kGolden + name, to);
  std::filesystem::remove(to + "/generation_config.json");
  std::ofstream(to + "/generation_config.json") << "{\"eos_token_id\":" << eos << "}";
}

void check_golden(Backend& backend, const Json& golden, std::size_t count, double tolerance) {
  std::vector<Request> requests;
  for (const Json& item : golden["cases"]) {
    requests.push_back(request(requests.size(), jsonl::integers(item["prompt"]), 1));
  }
  SamplingOptions options;
  options.temperature = 0;
  options.max_tokens = static_cast<int>(count);
  const auto out = sample(backend, options, requests);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const Json& item = golden["cases"][i];
    const Completion& completion = out.at({i, 0});
    const Ids want = jsonl::integers(item["completion"]);
    std::vector<double> scores = jsonl::numbers(item["scores"]);
    // transformers' greedy run ignored end ids.
    REQUIRE(completion.ids.size() <= want.size());
    CHECK(std::equal(completion.ids.begin(), completion.ids.end(), want.begin()));
    CHECK((completion.ids.size() == count) == (completion.finish_reason == "length"));
    scores.resize(completion.ids.size());
    CHECK(worst(completion.logprobs, scores) < tolerance);
    CHECK(worst(backend.score(requests[i].prompt_ids, want, 1), jsonl::numbers(item["scores"])) < tolerance);
    CHECK(worst(backend.score(requests[i].prompt_ids, want, 0), jsonl::numbers(item["scores"])) < tolerance);
    CHECK(worst(backend.score(requests[i].prompt_ids, want, 0.5), jsonl::numbers(item["scores_at_0.5"])) <
          2 * tolerance);
  }
}

}  // namespace

TEST_CASE("greedy output and scores equal transformers", "[model]") {
  for (const std::string name : {"llama", "llama3", "qwen2", "qwen3"}) {
    INFO(name);
    const auto backend = make_local_backend(local(kGolden + name));
    CHECK(backend->model_name() == kGolden + name);
    check_golden(*backend, read_json_file(kGolden + name + "/golden.json"), 24, 1e-4);
  }
}

TEST_CASE("SmolLM2 equals transformers", "[model]") {
  const std::string dir = LEAP_SOURCE_DIR "/models/smollm2";
  if (!std::filesystem::exists(dir + "/model.safetensors")) {
    std::cerr << "skipped: " << dir << " is not there (scripts/fetch-model makes it)\n";
    return;
  }
  const auto backend = make_local_backend(local(dir));
  check_golden(*backend, read_json_file(kGolden + "smollm2.json"), 40, 1e-4);
}

TEST_CASE("a completion is the same in any batch", "[model]") {
  for (const std::string name : {"llama", "qwen2"}) {
    SamplingOptions options;
    options.max_tokens = 40;
    std::map<std::pair<std::uint64_t, std::size_t>, Completion> alone;
    const auto one = make_local_backend(local(kGolden + name, 1, 1));
    for (const Request& request : mixed_requests()) alone.merge(sample(*one, options, {request}));
    CHECK(alone.size() == kCompletions);
    for (const int batch : {3, 8, 64}) {
      auto some = local(kGolden + name, batch);
      some.kv_memory_mb = batch == 64 ? 1 : 0;  // too little for all of them at once
      const auto together = sample(*make_local_backend(some), options, mixed_requests());
      REQUIRE(together.size() == alone.size());
      for (const auto& [key, completion] : alone) {
        CHECK(together.at(key).ids == completion.ids);
        CHECK(together.at(key).logprobs == completion.logprobs);
        CHECK(together.at(key).text == completion.text);
        CHECK(together.at(key).finish_reason == completion.finish_reason);
      }
    }
  }
}

TEST_CASE("score gives the log-probs that sampling reported", "[model]") {
  const auto backend = make_local_backend(local(kGolden + "llama3"));
  for (const double temperature : {0.0, 0.7, 1.0, 1.5}) {
    SamplingOptions options;
    options.max_tokens = 90;
    options.temperature = temperature;
    options.top_p = 0.9;
    options.top_k = 20;
    for (const auto& [key, completion] : sample(*backend, options, mixed_requests())) {
      CHECK(worst(backend->score(completion.prompt_ids, completion.ids, temperature), completion.logprobs) <
            1e-9);
    }
  }
  CHECK(backend->score({5}, {}, 1).empty());
  CHECK_THROWS_AS(backend->score({}, {5}, 1), RecordError);
  CHECK_THROWS_AS(backend->score({5}, {97}, 1), RecordError);
}

TEST_CASE("how a completion ends", "[model]") {
  const TempDir dir;
  const auto endless = [&] {
    copy_model("llama", dir.path, "[1000]");
    return make_local_backend(local(dir.path));
  }();
  SamplingOptions options;
  options.max_tokens = 60;
  options.temperature = 2;  // wide, so that ids without text are drawn too
  const auto free = sample(*endless, options, mixed_requests());
  bool beyond = false;
  for (const auto& [key, completion] : free) {
    CHECK(completion.ids.size() == 60);
    CHECK(completion.finish_reason == "length");
    CHECK(completion.text.find('\xef') == std::string::npos);
    beyond = beyond || *std::max_element(completion.ids.begin(), completion.ids.end()) >= 90;
  }
  CHECK(beyond);

  // Every end id of the list counts, is the last id, and gives no text.
  const TempDir other;
  copy_model("llama", other.path, "[7, 40]");
  const auto ending = make_local_backend(local(other.path));
  std::size_t ended = 0;
  for (const auto& [key, completion] : sample(*ending, options, mixed_requests())) {
    const Ids& whole = free.at(key).ids;
    const auto end =
        std::find_if(whole.begin(), whole.end(), [](std::int64_t id) { return id == 7 || id == 40; });
    const bool found = end != whole.end();
    ended += found;
    CHECK(completion.ids == Ids(whole.begin(), found ? end + 1 : end));
    CHECK(completion.finish_reason == (found ? "stop" : "length"));
    CHECK(completion.logprobs.size() == completion.ids.size());
    CHECK(free.at(key).text.rfind(completion.text, 0) == 0);
  }
  CHECK(ended > 0);

  // A stop text: the id that completes it is kept, the text ends before it.
  const std::string& text = free.at({1, 0}).text;
  REQUIRE(text.size() > 12);
  options.stop = {text.substr(8, 3)};
  const Completion stopped = sample(*endless, options, {mixed_requests()[1]}).at({1, 0});
  CHECK(stopped.finish_reason == "stop");
  CHECK(stopped.text == text.substr(0, text.find(options.stop[0])));
  CHECK(stopped.ids.size() < 60);
  CHECK(std::equal(stopped.ids.begin(), stopped.ids.end(), free.at({1, 0}).ids.begin()));
}

TEST_CASE("requests that cannot be served say why, and the others go on", "[model]") {
  const auto backend = make_local_backend(local(kGolden + "llama"));
  SamplingOptions options;
  options.max_tokens = 3;
  const auto out = sample(*backend, options, {request(0, {5, 97}, 2), request(1, {}, 1), request(2, {5}, 1)});
  CHECK(out.at({0, 0}).error.find("97") != std::string::npos);
  CHECK_FALSE(out.at({0, 1}).error.empty());
  CHECK_FALSE(out.at({1, 0}).error.empty());
  CHECK(out.at({2, 0}).error.empty());
  options.max_tokens = 0;
  CHECK(sample(*backend, options, {request(2, {5}, 1)}).at({2, 0}).finish_reason == "length");
}

TEST_CASE("an error thrown by the caller leaves the backend usable", "[model]") {
  const auto backend = make_local_backend(local(kGolden + "llama"));
  SamplingOptions options;
  options.max_tokens = 5;
  auto requests = mixed_requests();
  std::size_t next = 0;
  CHECK_THROWS_AS(backend->run(
                      options,
                      [&](Request& out) {
                        out = requests[next++ % requests.size()];
                        return Next::kRequest;
                      },
                      [&](const Completion&) { throw Error("enough"); }),
                  Error);
  CHECK_THROWS_AS(backend->run(
                      options, [](Request&) { return Next::kLater; }, [](const Completion&) {}),
                  Error);
  CHECK(sample(*backend, options, mixed_requests()).size() == kCompletions);
}

TEST_CASE("requests are taken as places fall free", "[model]") {
  const auto backend = make_local_backend(local(kGolden + "llama", 4));
  SamplingOptions options;
  options.max_tokens = 20;
  auto requests = mixed_requests();
  std::size_t next = 0, open = 0, done = 0;
  backend->run(
      options,
      [&](Request& out) {
        if (next == requests.size()) return Next::kEnd;
        if (open >= 3) return Next::kLater;
        out = requests[next++];
        open += out.keys.size();
        return Next::kRequest;
      },
      [&](const Completion&) {
        --open;
        ++done;
      });
  CHECK(done == kCompletions);
}

TEST_CASE("bfloat16 computes about the same", "[model]") {
  const Json golden = read_json_file(kGolden + "qwen2/golden.json");
  auto options = local(kGolden + "qwen2");
  options.dtype = "bfloat16";
  const auto backend = make_local_backend(options);
  for (const Json& item : golden["cases"]) {
    const auto scores =
        backend->score(jsonl::integers(item["prompt"]), jsonl::integers(item["completion"]), 1);
    CHECK(worst(scores, jsonl::numbers(item["scores"])) < 0.5);
  }
  SamplingOptions sampling;
  sampling.max_tokens = 30;
  const auto out = sample(*backend, sampling, mixed_requests());
  CHECK(out.size() == kCompletions);
  for (const auto& [key, completion] : out) {
    CHECK(worst(backend->score(completion.prompt_ids, completion.ids, 1), completion.logprobs) < 0.5);
  }
}

TEST_CASE("a LoRA adapter changes both engines alike", "[model]") {
  const TempDir dir;
  const std::string layer = "base_model.model.model.layers.1.self_attn.k_proj.";
  std::vector<float> a(2 * 32), b(16 * 2);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(uniform(1, i)) - 0.5f;
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(uniform(2, i)) - 0.5f;
  SafetensorsWriter writer(
      dir.path + "/adapter_model.safetensors",
      {{layer + "lora_A.weight", "F32", {2, 32}}, {layer + "lora_B.weight", "F32", {16, 2}}});
  writer.write(layer + "lora_A.weight", a.data(), a.size() * 4);
  writer.write(layer + "lora_B.weight", b.data(), b.size() * 4);
  writer.close();
  const std::string config = dir.path + "/adapter_config.json";
  std::ofstream(config) << R"({"peft_type":"LORA","r":2,"lora_alpha":8,"bias":"none"})";
  auto options = local(kGolden + "llama");
  const Ids prompt = {3, 4, 5, 6}, ids = {7, 8, 9, 10, 11};
  const auto base = make_local_backend(options)->score(prompt, ids, 1);
  options.adapter_dir = dir.path;
  const auto with = make_local_backend(options)->score(prompt, ids, 1);
  CHECK(worst(base, with) > 1e-2);
  options.dtype = "bfloat16";
  CHECK(worst(make_local_backend(options)->score(prompt, ids, 1), with) < 0.3);
  std::ofstream(config) << R"({"peft_type":"LORA","r":2,"lora_alpha":8,"use_dora":true})";
  CHECK_THROWS_AS(make_local_backend(options), Error);
}

TEST_CASE("the plugin is loaded, and its errors keep their type", "[model]") {
  const auto backend = load_local_backend(local(kGolden + "llama"));
  CHECK(backend->logprobs_mode() == "scaled");
  CHECK(backend->weight_version() == 0);
  SamplingOptions options;
  options.max_tokens = 12;
  const auto here = sample(*make_local_backend(local(kGolden + "llama")), options, mixed_requests());
  for (const auto& [key, completion] : sample(*backend, options, mixed_requests())) {
    CHECK(completion.ids == here.at(key).ids);
  }
  CHECK_THROWS_AS(backend->score({}, {1}, 1), RecordError);
  auto bad = local(kGolden + "llama");
  bad.dtype = "int4";
  CHECK_THROWS_AS(load_local_backend(bad), UsageError);
  bad = local(kGolden + "none");
  try {
    load_local_backend(bad);
    FAIL("a missing model was loaded");
  } catch (const Error& e) {
    CHECK(std::string(e.what()).find("none") != std::string::npos);
  }
  CHECK_THROWS_AS(backend->run(
                      options, [](Request&) -> Next { throw UsageError("mine"); }, [](Completion) {}),
                  UsageError);
}

/// The kernels of the backward pass against their formulas; nothing beyond n is touched.
void check_gradients(const Kernels& kernel, std::size_t n) {
  const auto numbers = [n](std::uint64_t key) {
    std::vector<float> out(n + 1, 7.0f);
    for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<float>(6 * uniform(key, i) - 3);
    return out;
  };
  const std::vector<float> x = numbers(1), w = numbers(2), g = numbers(3);
  double square = 0, along = 0, product = 0;
  for (std::size_t i = 0; i < n; ++i) {
    square += double{x[i]} * x[i];
    along += double{x[i]} * w[i] * g[i];
    product += double{x[i]} * w[i];
  }
  const double count = static_cast<double>(n), r = 1 / std::sqrt(square / count + 1e-3);
  CHECK(kernel.dot(x.data(), w.data(), n) == Approx(product).margin(1e-5));
  std::vector<float> x_grad(n + 1, 7.0f), w_grad(n + 1, 7.0f), gate = x, up = w, out = g;
  kernel.rms_norm_gradient(x.data(), w.data(), g.data(), n, 1e-3f, x_grad.data(), w_grad.data());
  kernel.swiglu_gradient(gate.data(), up.data(), out.data(), n);
  std::vector<float> forward(n + 1, 7.0f), slope = g, e = x;
  kernel.swiglu(x.data(), w.data(), n, forward.data());
  kernel.softmax_gradient(slope.data(), w.data(), n, 0.25f, 0.5f);
  float weighted = 0, total = kernel.softmax_sums(e.data(), n, 3.0f, 0.7f, &weighted);
  double want_total = 0, want_weighted = 0;
  for (std::size_t i = 0; i < n; ++i) {
    CHECK(x_grad[i] - 7 == Approx(r * w[i] * g[i] - x[i] * r * r * r * along / count).margin(2e-5));
    CHECK(w_grad[i] - 7 == Approx(r * x[i] * g[i]).margin(2e-5));
    const double s = 1 / (1 + std::exp(-double{x[i]}));
    CHECK(forward[i] == Approx(x[i] * s * w[i]).margin(1e-6));
    CHECK(out[i] == forward[i]);
    CHECK(gate[i] == Approx(g[i] * w[i] * (s + x[i] * s * (1 - s))).margin(1e-5));
    CHECK(up[i] == Approx(g[i] * x[i] * s).margin(1e-5));
    CHECK(slope[i] == Approx(w[i] * (g[i] - 0.25) * 0.5).margin(1e-5));
    const double z = (double{x[i]} - 3) * 0.7;
    CHECK(e[i] == Approx(std::exp(z)));
    want_total += std::exp(z);
    want_weighted += std::exp(z) * z;
  }
  CHECK(total == Approx(want_total));
  CHECK(weighted == Approx(want_weighted));
  for (const auto* values : {&x_grad, &w_grad, &gate, &up, &out, &forward, &slope, &e})
    CHECK((*values)[n] == 7.0f);
}

TEST_CASE("kernels agree, row by row in any batch", "[model]") {
  const std::size_t k = 300;
  std::vector<float> a(9 * k), panel(k * kPanel);
  std::vector<std::uint16_t> narrow(panel.size());
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(uniform(1, i) - 0.5);
  for (std::size_t i = 0; i < panel.size(); ++i) {
    const auto value = static_cast<float>(uniform(2, i) - 0.5);
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, 4);
    narrow[i] = static_cast<std::uint16_t>(bits >> 16);
    bits &= 0xffff0000u;
    std::memcpy(&panel[i], &bits, 4);
  }
  std::vector<double> exact(9 * kPanel);
  for (std::size_t r = 0; r < 9; ++r) {
    for (std::size_t j = 0; j < kPanel; ++j) {
      for (std::size_t i = 0; i < k; ++i) {
        exact[r * kPanel + j] +=
            static_cast<double>(a[r * k + i]) * static_cast<double>(panel[i * kPanel + j]);
      }
    }
  }
  std::vector<const Kernels*> all{kernels_portable(), &kernels()};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) all.push_back(kernels_avx2());
#endif
  for (const Kernels* kernel : all) {
    INFO(kernel->name);
    std::vector<float> whole(9 * kPanel), part(9 * kPanel, 1.0f);
    kernel->multiply(a.data(), k, 9, panel.data(), k, whole.data(), kPanel, false);
    for (std::size_t i = 0; i < whole.size(); ++i) CHECK(std::abs(whole[i] - exact[i]) < 1e-5);
    for (std::size_t rows = 1; rows <= 9; ++rows) {
      kernel->multiply_bf16(a.data(), k, rows, narrow.data(), k, part.data(), kPanel, false);
      CHECK(std::memcmp(whole.data(), part.data(), rows * kPanel * sizeof(float)) == 0);
    }
    kernel->multiply(a.data(), k, 9, panel.data(), k, part.data(), kPanel, true);
    for (std::size_t i = 0; i < whole.size(); ++i) CHECK(std::abs(part[i] - 2 * whole[i]) < 1e-5f);

    for (const std::size_t n : {1, 5, 16, 33, 64}) {
      std::vector<float> x(64, 1e30f), y(64), gate(64), want(64);
      double sum = 0, square = 0;
      for (std::size_t i = 0; i < n; ++i) {
        x[i] = static_cast<float>(20 * uniform(n, i) - 10);
        square += static_cast<double>(x[i]) * x[i];
      }
      const float top = *std::max_element(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(n));
      CHECK(kernel->maximum(x.data(), n) == top);
      const std::vector<float> ones(64, 1.0f);
      kernel->rms_norm(x.data(), ones.data(), n, 1e-6f, y.data());
      const double shrink = std::sqrt(square / static_cast<double>(n) + 1e-6);
      for (std::size_t i = 0; i < n; ++i) CHECK(y[i] == Approx(x[i] / shrink));
      for (std::size_t i = 0; i < n; ++i) sum += want[i] = std::exp((x[i] - top) * 0.7f);
      const float total = kernel->exponentials(x.data(), n, top, 0.7f);
      CHECK(total == Approx(sum));
      for (std::size_t i = 0; i < (n + 31) / 32 * 32; ++i) CHECK(x[i] == Approx(want[i]).margin(1e-37));
      check_gradients(*kernel, n);
    }
    std::vector<float> gate{-100, -20, -1, 0, 1, 20, 100, 3}, up(32, 2.0f);
    gate.resize(32);
    const std::vector<float> before = gate;
    kernel->silu_multiply(gate.data(), up.data(), 32);
    for (std::size_t i = 0; i < 32; ++i) {
      CHECK(gate[i] == Approx(2 * before[i] / (1 + std::exp(-static_cast<double>(before[i])))).margin(1e-30));
    }
  }
}

TEST_CASE("draws follow the distribution that top-k and top-p leave", "[model]") {
  const std::size_t vocab = 2000;
  std::vector<float> logits(2016);
  for (std::size_t i = 0; i < vocab; ++i) logits[i] = static_cast<float>(6 * uniform(9, i));
  logits[700] = logits[1500] = 9;
  std::vector<double> p(vocab);
  double total = 0;
  for (std::size_t i = 0; i < vocab; ++i) total += p[i] = std::exp(static_cast<double>(logits[i]) / 0.8);
  for (double& value : p) value /= total;
  std::vector<std::size_t> order(vocab);
  for (std::size_t i = 0; i < vocab; ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return logits[a] > logits[b]; });

  SamplingOptions options;
  options.temperature = 0;
  const Draw greedy = draw(logits.data(), vocab, options, 1, 0);
  CHECK(greedy.id == 700);  // the lower of two equals
  CHECK(greedy.logprob == Approx(log_probability(logits.data(), vocab, 1, 700)).epsilon(1e-12));

  options.temperature = 0.8;
  for (const auto& [top_k, top_p] :
       {std::pair{0, 1.0}, {50, 1.0}, {0, 0.3}, {50, 0.6}, {1, 1.0}, {0, 1e-9}}) {
    options.top_k = top_k;
    options.top_p = top_p;
    std::vector<double> want(vocab);
    double kept = 0, cut = 0;
    const std::size_t k = top_k > 0 ? static_cast<std::size_t>(top_k) : vocab;
    for (std::size_t i = 0; i < k; ++i) kept += p[order[i]];
    double sum = 0;
    for (std::size_t i = 0; i < k && (i == 0 || sum < top_p * kept); ++i) {
      sum += want[order[i]] = p[order[i]];
      cut = sum;
    }
    constexpr int kDraws = 4000;
    std::vector<int> counts(vocab);
    for (int i = 0; i < kDraws; ++i) {
      const Draw drawn = draw(logits.data(), vocab, options, 77, static_cast<std::uint64_t>(i));
      const auto id = static_cast<std::size_t>(drawn.id);
      ++counts[id];
      REQUIRE(want[id] > 0);
      REQUIRE(drawn.logprob == Approx(std::log(p[id])).margin(1e-5));
    }
    for (const std::size_t id : {std::size_t{700}, std::size_t{1500}, order[2]}) {
      const double expected = want[id] / cut * kDraws;
      CHECK(std::abs(counts[id] - expected) <= 5 * std::sqrt(expected + 1));
    }
  }
}
