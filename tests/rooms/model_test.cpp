// The decoder against transformers, and the files it is read from.
#include <ATen/ATen.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>

#include "base/error.hpp"
#include "model/decoder.hpp"
#include "model/packed.hpp"
#include "model/token_scores.hpp"

namespace {

using namespace leap;
using namespace leap::model;
using Ids = std::vector<std::int64_t>;

const std::string kGolden = LEAP_SOURCE_DIR "/tests/golden/model/";

struct TempDir {
  std::string path;
  TempDir() {
    std::string name = (std::filesystem::temp_directory_path() / "leap-model-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~TempDir() { std::filesystem::remove_all(path); }
};

at::Tensor tensor(const Ids& ids) {
  return at::tensor(ids, at::kLong);
}

at::Tensor tensor(const Json& numbers) {
  return at::tensor(jsonl::numbers(numbers), at::kDouble);
}

/// Hidden states of one sequence, [time, d].
at::Tensor hidden_of(const Decoder& decoder, const Ids& ids) {
  return PackedPass(decoder, {ids, {{0, static_cast<std::int64_t>(ids.size()), -1, 0}}}, {}).forward(false);
}

bool close(const at::Tensor& a, const at::Tensor& b) {
  return a.sizes() == b.sizes() && (a - b).abs().max().item<double>() < 1e-4;
}

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

Json config_json() {
  return jsonl::parse(R"({"model_type":"llama","vocab_size":97,"hidden_size":32,"intermediate_size":48,
    "num_hidden_layers":2,"num_attention_heads":4})");
}

void write_file(const std::string& path, const std::string& header, std::size_t data_bytes,
                std::uint64_t length_off_by = 0) {
  std::ofstream out(path, std::ios::binary);
  const std::uint64_t length = header.size() + length_off_by;
  out.write(reinterpret_cast<const char*>(&length), 8);
  out << header << std::string(data_bytes, '\1');
}

}  // namespace

TEST_CASE("decoder equals transformers", "[model]") {
  for (const std::string name : {"llama", "llama3", "qwen2", "qwen3"}) {
    INFO(name);
    c10::InferenceMode guard;
    const Decoder decoder(kGolden + name, at::kFloat, at::kCPU);
    const Json golden = read_json_file(kGolden + name + "/golden.json");

    const Ids prompt = jsonl::integers(golden["cases"][1]["prompt"]);
    const at::Tensor logits = decoder.logits(hidden_of(decoder, prompt));
    for (std::size_t t = 0; t < prompt.size(); ++t) {
      CHECK(close(logits[static_cast<std::int64_t>(t)], tensor(golden["logits"][t])));
    }
    for (const Json& item : golden["cases"]) {
      const Ids before = jsonl::integers(item["prompt"]), after = jsonl::integers(item["completion"]);
      Ids all = before;
      all.insert(all.end(), after.begin(), after.end());
      const auto p = static_cast<std::int64_t>(before.size()), n = static_cast<std::int64_t>(after.size());
      const at::Tensor hidden = hidden_of(decoder, all).narrow(0, p - 1, n);
      CHECK(decoder.logits(hidden).argmax(-1).equal(tensor(after)));
      for (const auto& [key, temperature] : {std::pair{"scores", 1.0}, {"scores_at_0.5", 0.5}}) {
        const TokenScores scores = score_tokens(hidden, decoder.output_weight(), tensor(after),
                                                at::full({n}, temperature, at::kFloat), 7);
        CHECK(close(scores.logprobs, tensor(item[key])));
      }
    }
  }
}

TEST_CASE("the cached pass equals the whole pass", "[model]") {
  for (const std::string name : {"llama3", "qwen3"}) {
    c10::InferenceMode guard;
    const Decoder decoder(kGolden + name, at::kFloat, at::kCPU);
    const ModelConfig& config = decoder.config();
    Ids sequence(20);
    std::iota(sequence.begin(), sequence.end(), 3);
    const at::Tensor ids = tensor(sequence).unsqueeze(0), whole = hidden_of(decoder, sequence);
    KvCache cache;
    for (std::int64_t i = 0; i < config.layers; ++i) {
      cache.keys.push_back(at::zeros({1, config.kv_heads, 32, config.head_dim}));
      cache.values.push_back(at::zeros({1, config.kv_heads, 32, config.head_dim}));
    }
    std::int64_t from = 0;
    for (const std::int64_t count : {9, 1, 1, 8, 1}) {
      const at::Tensor positions = at::arange(from, from + count).unsqueeze(0);
      const at::Tensor mask = at::arange(from + count).view({1, 1, 1, -1}).le(positions.view({1, 1, -1, 1}));
      const at::Tensor part =
          decoder.forward_cached(ids.narrow(1, from, count), positions, cache, from + count, mask)[0];
      CHECK(close(part, whole.narrow(0, from, count)));
      from += count;
    }
  }
}

TEST_CASE("token scores and their gradients equal the plain formula, whatever the chunk", "[model]") {
  at::manual_seed(3);
  const at::Tensor hidden = at::randn({9, 6}).set_requires_grad(true);
  const at::Tensor weight = at::randn({13, 6}).set_requires_grad(true);
  const at::Tensor targets = at::randint(13, {9}, at::kLong), up = at::randn({9}), up2 = at::randn({9});
  const at::Tensor temperature = at::rand({9}) + 0.5;
  const at::Tensor logp = at::log_softmax(at::linear(hidden, weight) / temperature.unsqueeze(1), -1);
  const at::Tensor plain = logp.gather(1, targets.unsqueeze(1)).squeeze(1),
                   spread = -(logp.exp() * logp).sum(-1);
  (plain * up + spread * up2).sum().backward();
  const at::Tensor want_hidden = hidden.grad().clone(), want_weight = weight.grad().clone();
  for (const std::int64_t chunk : {1, 4, 100}) {
    hidden.mutable_grad() = at::Tensor();
    weight.mutable_grad() = at::Tensor();
    const TokenScores scores = score_tokens(hidden, weight, targets, temperature, chunk);
    CHECK(close(scores.logprobs, plain));
    CHECK(close(scores.entropy, spread));
    (scores.logprobs * up + scores.entropy * up2).sum().backward();
    CHECK(close(hidden.grad(), want_hidden));
    CHECK(close(weight.grad(), want_weight));
    weight.mutable_grad() = at::Tensor();
    const at::Tensor once = differentiate_scores(
        hidden, weight, targets, temperature,
        [&](std::int64_t from, const TokenScores& some) {
          const std::int64_t count = some.logprobs.size(0);
          CHECK(close(some.logprobs, plain.narrow(0, from, count)));
          CHECK(close(some.entropy, spread.narrow(0, from, count)));
          return TokenScores{up.narrow(0, from, count), up2.narrow(0, from, count)};
        },
        chunk);
    CHECK(close(once, want_hidden));
    CHECK(close(weight.grad(), want_weight));
  }
}

TEST_CASE("every parameter gets a gradient, a tied one once", "[model]") {
  for (const std::string name : {"llama", "llama3", "qwen2", "qwen3"}) {
    INFO(name);
    const Decoder decoder(kGolden + name, at::kFloat, at::kCPU);
    for (const auto& [parameter, value] : decoder.parameters()) value.set_requires_grad(true);
    Ids ids(12);
    std::iota(ids.begin(), ids.end(), 0);
    PackedPass pass(decoder, {ids, {{0, 6, -1, 0}, {6, 6, -1, 0}}}, {});
    pass.backward(differentiate_scores(
        pass.forward(true), decoder.output_weight(), tensor(ids), at::ones({12}),
        [](std::int64_t, const TokenScores& scores) {
          return TokenScores{at::ones_like(scores.logprobs), at::Tensor()};
        },
        5));
    bool head = false;
    for (const auto& [parameter, value] : decoder.parameters()) {
      INFO(parameter);
      REQUIRE(value.grad().defined());
      CHECK(value.grad().abs().max().item<float>() > 0);
      head = head || parameter == "lm_head.weight";
    }
    CHECK(head != decoder.config().tied);
    CHECK(decoder.parameters().size() == decoder.stored().size());
  }
}

TEST_CASE("a low-rank pair adds its product", "[model]") {
  c10::InferenceMode guard;
  Decoder decoder(kGolden + "llama", at::kFloat, at::kCPU);
  const Ids ids = {0, 1, 2, 3, 4, 5};
  const at::Tensor before = hidden_of(decoder, ids);
  const std::string name = "model.layers.1.mlp.down_proj.weight";
  const at::Tensor a = at::randn({3, 48}) * 0.1, b = at::randn({32, 3}) * 0.1;
  decoder.set_lora(name, {a, b, 0.5});
  const at::Tensor with = hidden_of(decoder, ids);
  CHECK_FALSE(close(with, before));
  decoder.set_lora(name, {});
  CHECK(hidden_of(decoder, ids).equal(before));
  for (const auto& [parameter, value] : decoder.parameters()) {
    if (parameter == name) value.add_(b.matmul(a), 0.5);
  }
  CHECK(close(hidden_of(decoder, ids), with));
  CHECK(message_of([&] { decoder.set_lora("model.norm.weight", {}); }).find("model.norm.weight") !=
        std::string::npos);
}

TEST_CASE("a checkpoint is written back as it was", "[model]") {
  const TempDir dir;
  for (const std::string name : {"llama", "llama3", "qwen2"}) {
    const Decoder decoder(kGolden + name, at::kFloat, at::kCPU);
    SafetensorsWriter writer(dir.path + "/out.safetensors", decoder.stored());
    for (std::size_t i = 0; i < decoder.stored().size(); ++i) {
      const std::string& dtype = decoder.stored()[i].dtype;
      const at::ScalarType type = dtype == "BF16" ? at::kBFloat16 : dtype == "F16" ? at::kHalf : at::kFloat;
      const at::Tensor value = decoder.parameters()[i].second.to(type).contiguous();
      writer.write(decoder.stored()[i].name, value.data_ptr(), static_cast<std::size_t>(value.nbytes()));
    }
    writer.close();
    const SafetensorsReader before(kGolden + name), after(dir.path + "/out.safetensors");
    REQUIRE(before.tensors().size() == after.tensors().size());
    for (const TensorView& tensor : before.tensors()) {
      const TensorView& copy = after.at(tensor.name);
      CHECK(copy.dtype == tensor.dtype);
      CHECK(copy.shape == tensor.shape);
      CHECK(std::memcmp(copy.data, tensor.data, tensor.bytes) == 0);
    }
  }
  SafetensorsWriter writer(dir.path + "/part", {{"a", "F32", {2}}, {"b", "BF16", {1}}});
  const float data[2] = {1, 2};
  CHECK_THROWS_AS(writer.write("a", data, 4), Error);
  CHECK_THROWS_AS(writer.write("c", data, 8), Error);
  writer.write("a", data, 8);
  CHECK_THROWS_AS(writer.close(), Error);
}

TEST_CASE("narrow types are widened exactly", "[model]") {
  std::uint16_t bits[] = {0x0000, 0x8000, 0x3c00, 0xc000, 0x0001, 0x03ff, 0x7bff, 0x7c00, 0xfc00, 0x3555};
  TensorView view;
  view.data = reinterpret_cast<const std::byte*>(bits);
  float out[10];
  for (const auto& [name, type] : {std::pair{"F16", at::kHalf}, {"BF16", at::kBFloat16}}) {
    view.dtype = name;
    widen(view, 0, 10, out);
    const at::Tensor want = at::from_blob(bits, {10}, type).to(at::kFloat);
    CHECK(std::memcmp(out, want.data_ptr<float>(), sizeof out) == 0);
  }
  view.dtype = "I64";
  CHECK_THROWS_AS(widen(view, 0, 1, out), Error);
}

TEST_CASE("corrupt safetensors files are refused", "[model]") {
  const TempDir dir;
  const std::string path = dir.path + "/x.safetensors";
  const std::string good =
      R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
      R"("b":{"dtype":"BF16","shape":[2,1],"data_offsets":[8,12]},"__metadata__":{"k":"v"}})";
  write_file(path, good, 12);
  CHECK(SafetensorsReader(path).at("b").shape == std::vector<std::int64_t>{2, 1});
  auto refused = [&](const std::string& header, std::size_t bytes, std::uint64_t off_by = 0) {
    write_file(path, header, bytes, off_by);
    const std::string message = message_of([&] { SafetensorsReader{path}; });
    INFO(header);
    CHECK(message.rfind(path + ": ", 0) == 0);
  };
  auto one = [](const char* name, const char* dtype, const char* shape, const char* offsets) {
    return std::string("\"") + name + R"(":{"dtype":")" + dtype + R"(","shape":)" + shape +
           R"(,"data_offsets":)" + offsets + "}";
  };
  refused(good, 11);
  refused(good, 13);
  refused(good, 12, 1000);
  refused(good, 12, ~std::uint64_t{0} - good.size() - 4);
  refused("[1]", 0);
  refused("{", 0);
  refused("{" + one("a", "F32", "[2]", "[0,8]") + "," + one("b", "F32", "[2]", "[4,12]") + "}",
          12);  // overlap
  refused("{" + one("a", "F32", "[1]", "[0,4]") + "," + one("b", "F32", "[1]", "[8,12]") + "}", 12);  // hole
  refused("{" + one("a", "F32", "[3]", "[0,8]") + "}", 8);
  refused("{" + one("a", "F32", "[-2]", "[0,8]") + "}", 8);
  refused("{" + one("a", "F32", "[4611686018427387904,4]", "[0,0]") + "}", 0);
  refused("{" + one("a", "F32", "[2]", "[8,0]") + "}", 8);
  refused("{" + one("a", "F32", "[2]", "[0,8,9]") + "}", 8);
  refused("{" + one("a", "X9", "[2]", "[0,8]") + "}", 8);
  refused(R"({"a":{"shape":[2],"data_offsets":[0,8]}})", 8);
  refused(R"({"__metadata__":{"k":1}})", 0);
  std::ofstream(path, std::ios::trunc).close();
  CHECK_THROWS_AS(SafetensorsReader(path), Error);
  CHECK_THROWS_AS(SafetensorsReader(dir.path), Error);
  CHECK_THROWS_AS(SafetensorsReader(dir.path + "/none"), Error);
  std::ofstream(dir.path + "/model.safetensors.index.json")
      << R"({"weight_map":{"a":"x.safetensors","z":"x.safetensors"}})";
  write_file(path, good, 12);
  CHECK(message_of([&] { SafetensorsReader{dir.path}; }).find("'z'") != std::string::npos);
}

TEST_CASE("configs: old and new style, defaults, end ids", "[model]") {
  Json json = config_json();
  ModelConfig config = parse_config(json, Json(), "c");
  CHECK(config.kv_heads == 4);
  CHECK(config.head_dim == 8);
  CHECK(config.rope.theta == 10000.0);
  CHECK_FALSE(config.tied);
  CHECK(config.eos_ids.empty());

  json["rope_theta"] = 500000.0;
  json["rope_scaling"] = jsonl::parse(R"({"type":"llama3","factor":8.0,"low_freq_factor":1.0,
    "high_freq_factor":4.0,"original_max_position_embeddings":64})");
  json["eos_token_id"] = 5;
  const std::vector<float> old_style = rope_frequencies(parse_config(json, Json(), "c"));
  json["rope_parameters"] = json["rope_scaling"];
  json["rope_parameters"]["rope_type"] = "llama3";
  json["rope_parameters"]["rope_theta"] = 500000.0;
  json.erase("rope_scaling");
  json.erase("rope_theta");
  config = parse_config(json, Json(), "c");
  CHECK(rope_frequencies(config) == old_style);
  CHECK(config.rope.theta == 500000.0);
  CHECK(config.eos_ids == Ids{5});
  CHECK(parse_config(json, jsonl::parse(R"({"eos_token_id":[7,8]})"), "c").eos_ids == Ids{7, 8});
  CHECK(parse_config(json, jsonl::parse("{}"), "c").eos_ids == Ids{5});
}

TEST_CASE("a config that cannot be computed is refused by the field's name", "[model]") {
  const std::pair<const char*, const char*> bad[] = {
      {"model_type", R"("gpt2")"},
      {"architectures", R"(["LlamaForSequenceClassification"])"},
      {"hidden_act", R"("gelu")"},
      {"rope_scaling", R"({"rope_type":"yarn","factor":2.0})"},
      {"rope_parameters", R"({"rope_type":"dynamic","factor":2.0})"},
      {"use_sliding_window", "true"},
      {"layer_types", R"(["full_attention","sliding_attention"])"},
      {"quantization_config", R"({"bits":4})"},
      {"partial_rotary_factor", "0.5"},
      {"num_key_value_heads", "3"},
      {"num_attention_heads", "5"},
      {"vocab_size", "0"},
      {"vocab_size", R"("many")"},
      {"eos_token_id", R"("end")"},
      {"head_dim", "7"}};
  for (const auto& [field, value] : bad) {
    Json json = config_json();
    json[field] = jsonl::parse(value);
    const std::string message = message_of([&] { parse_config(json, Json(), "dir/config.json"); });
    INFO(message);
    CHECK(message.rfind("dir/config.json: ", 0) == 0);
    CHECK(message.find(field) != std::string::npos);
  }
  const TempDir dir;
  std::filesystem::copy(kGolden + "llama", dir.path);
  Json json = read_json_file(dir.path + "/config.json");
  json["num_hidden_layers"] = 1;
  std::ofstream(dir.path + "/config.json") << json.dump();
  CHECK(message_of([&] { Decoder(dir.path, at::kFloat, at::kCPU); }).find("model.layers.1.") !=
        std::string::npos);
}

TEST_CASE("the weight version is leap_state.json's step", "[model]") {
  const TempDir dir;
  CHECK(read_weight_version(dir.path) == 0);
  std::ofstream(dir.path + "/leap_state.json") << R"({"step": 12})";
  CHECK(read_weight_version(dir.path) == 12);
}
