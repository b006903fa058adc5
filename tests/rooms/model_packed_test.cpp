// The pass that trains: its gradients against autograd's, packed sequences, shared beginnings.
#include <ATen/ATen.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <numeric>

#include "base/random.hpp"
#include "model/decoder.hpp"
#include "model/layer_math.hpp"
#include "model/packed.hpp"
#include "model/token_scores.hpp"

namespace {

using namespace leap;
using namespace leap::model;
using Ids = std::vector<std::int64_t>;
using Gradients = std::map<std::string, at::Tensor>;

const std::string kGolden = LEAP_SOURCE_DIR "/tests/golden/model/";

/// The decoder by its definition, for autograd: ids [time] -> hidden states [time, d].
at::Tensor plain_forward(const Decoder& decoder, const at::Tensor& ids, const at::Tensor& frequencies) {
  std::map<std::string, at::Tensor> weights(decoder.parameters().begin(), decoder.parameters().end());
  const ModelConfig& c = decoder.config();
  const auto norm = [&](const at::Tensor& x, const std::string& name) {
    return x * (x.square().mean(-1, true) + c.norm_eps).rsqrt() * weights.at(name + ".weight");
  };
  const auto linear = [&](const at::Tensor& x, const std::string& name) {
    const auto bias = weights.find(name + ".bias");
    const at::Tensor y = x.matmul(weights.at(name + ".weight").t());
    return bias == weights.end() ? y : y + bias->second;
  };
  const std::int64_t time = ids.size(0);
  const at::Tensor angles = at::arange(time).unsqueeze(1) * frequencies;
  const auto heads = [&](const at::Tensor& x, const std::string& name, bool turns) {
    at::Tensor y = linear(x, name).view({time, -1, c.head_dim});
    if (turns && c.qk_norm) y = norm(y, name.substr(0, name.size() - 5) + "_norm");
    y = y.transpose(0, 1);
    if (turns) {
      const at::Tensor a = y.slice(-1, 0, c.head_dim / 2), b = y.slice(-1, c.head_dim / 2);
      y = at::cat({a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()}, -1);
    }
    return y.repeat_interleave(c.heads / y.size(0), 0);
  };
  at::Tensor x = weights.at("model.embed_tokens.weight").index_select(0, ids);
  const at::Tensor hidden = at::ones({time, time}, at::kBool).triu(1);
  for (std::int64_t i = 0; i < c.layers; ++i) {
    const std::string name = "model.layers." + std::to_string(i) + ".";
    const at::Tensor h = norm(x, name + "input_layernorm");
    const at::Tensor q = heads(h, name + "self_attn.q_proj", true),
                     k = heads(h, name + "self_attn.k_proj", true),
                     v = heads(h, name + "self_attn.v_proj", false);
    const at::Tensor scores = q.matmul(k.transpose(1, 2)) / std::sqrt(static_cast<double>(c.head_dim));
    const at::Tensor out = at::softmax(scores.masked_fill(hidden, -INFINITY), -1).matmul(v);
    x = x + linear(out.transpose(0, 1).reshape({time, -1}), name + "self_attn.o_proj");
    const at::Tensor m = norm(x, name + "post_attention_layernorm");
    x = x + linear(at::silu(linear(m, name + "mlp.gate_proj")) * linear(m, name + "mlp.up_proj"),
                   name + "mlp.down_proj");
  }
  return norm(x, "model.norm");
}

void require_gradients(const Decoder& decoder) {
  for (const auto& [name, value] : decoder.parameters()) value.set_requires_grad(true);
}

Gradients taken(const Decoder& decoder) {
  Gradients out;
  for (const auto& [name, value] : decoder.parameters()) {
    out[name] = value.grad().defined() ? value.grad() : at::zeros_like(value);
    value.mutable_grad() = at::Tensor();
  }
  return out;
}

/// Norm of the difference of all gradients, relative to their norm.
double distance(const Gradients& a, const Gradients& b) {
  double difference = 0, whole = 0;
  for (const auto& [name, value] : a) {
    difference += (value - b.at(name)).to(at::kDouble).square().sum().item<double>();
    whole += b.at(name).to(at::kDouble).square().sum().item<double>();
  }
  return std::sqrt(difference / whole);
}

/// A forest of segments with random ids, and the sequences from its roots to its leaves: for each the rows of
/// the forest's hidden states.
struct Forest {
  PackedIds packed;
  std::vector<std::vector<std::int64_t>> paths;

  Forest(std::uint64_t seed, std::int64_t vocab) {
    std::uint64_t draws = 0;
    const auto draw = [&](std::uint64_t n) {
      return static_cast<std::int64_t>(uniform(seed, draws++) * static_cast<double>(n));
    };
    std::vector<std::vector<std::int64_t>> rows;  // of each segment, from the root
    const std::int64_t count = 3 + draw(6);
    for (std::int64_t s = 0; s < count; ++s) {
      const std::int64_t parent = draw(4) == 0 ? -1 : draw(static_cast<std::uint64_t>(s) + 1) - 1;
      const std::int64_t length =
          draw(5) == 0 ? 140 + draw(30) : 1 + draw(12);  // some are longer than a block
      rows.push_back(parent < 0 ? std::vector<std::int64_t>() : rows[static_cast<std::size_t>(parent)]);
      packed.segments.push_back({static_cast<std::int64_t>(packed.ids.size()), length, parent,
                                 static_cast<std::int64_t>(rows.back().size())});
      for (std::int64_t i = 0; i < length; ++i) {
        rows.back().push_back(static_cast<std::int64_t>(packed.ids.size()));
        packed.ids.push_back(draw(static_cast<std::uint64_t>(vocab)));
      }
    }
    paths = rows;  // each segment's end is some sequence's
  }

  Ids ids(std::size_t path) const {
    Ids out;
    for (const std::int64_t row : paths[path]) out.push_back(packed.ids[static_cast<std::size_t>(row)]);
    return out;
  }
};

PackedIds alone(const Ids& ids) {
  return {ids, {{0, static_cast<std::int64_t>(ids.size()), -1, 0}}};
}

/// A gradient for one hidden state, by sequence and place.
at::Tensor pull(std::size_t path, std::int64_t time, std::int64_t width, at::ScalarType type) {
  at::manual_seed(1000 + path);
  return at::randn({time, width}, at::kDouble).to(type);
}

}  // namespace

TEST_CASE("gradients of the packed pass are autograd's", "[model]") {
  for (const std::string name : {"llama", "llama3", "qwen2", "qwen3"}) {
    for (const at::ScalarType type : {at::kDouble, at::kFloat}) {
      INFO(name << " " << type);
      const Decoder decoder(kGolden + name, type, at::kCPU);
      require_gradients(decoder);
      const std::vector<float> angles = rope_frequencies(decoder.config());
      const at::Tensor frequencies = at::tensor(angles);
      Ids ids(150);
      for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int64_t>(3 + (i * i) % 90);
      const at::Tensor up = pull(0, 150, decoder.config().hidden_size, type);
      const at::Tensor want = plain_forward(decoder, at::tensor(ids), frequencies);
      (want * up).sum().backward();
      const Gradients expected = taken(decoder);
      PackedPass pass(decoder, alone(ids), {type, false});
      const at::Tensor hidden = pass.forward(true);
      pass.backward(up.clone());
      CHECK((hidden - want).abs().max().item<double>() < (type == at::kDouble ? 1e-6 : 1e-4));
      CHECK(distance(taken(decoder), expected) < (type == at::kDouble ? 1e-6 : 1e-5));
    }
  }
}

TEST_CASE("shared beginnings: states and gradients are those of the sequences alone", "[model]") {
  for (const auto& [type, tolerance] : {std::pair{at::kDouble, 1e-12}, {at::kFloat, 3e-6}}) {
    for (const std::string name : {"llama3", "qwen3"}) {
      const Decoder decoder(kGolden + name, type, at::kCPU);
      require_gradients(decoder);
      const std::int64_t width = decoder.config().hidden_size;
      for (std::uint64_t seed = 0; seed < 12; ++seed) {
        INFO(name << " " << type << " forest " << seed);
        const Forest forest(seed, decoder.config().vocab_size);
        PackedPass pass(decoder, forest.packed, {type, false});
        const at::Tensor hidden = pass.forward(true);
        at::Tensor grad = at::zeros_like(hidden);
        for (std::size_t path = 0; path < forest.paths.size(); ++path) {
          const auto time = static_cast<std::int64_t>(forest.paths[path].size());
          grad.index_add_(0, at::tensor(forest.paths[path]), pull(path, time, width, type));
        }
        pass.backward(grad);
        const Gradients together = taken(decoder);
        double states = 0;
        for (std::size_t path = 0; path < forest.paths.size(); ++path) {
          const auto time = static_cast<std::int64_t>(forest.paths[path].size());
          PackedPass single(decoder, alone(forest.ids(path)), {type, false});
          const at::Tensor own = single.forward(true);
          states = std::max(
              states,
              (own - hidden.index_select(0, at::tensor(forest.paths[path]))).abs().max().item<double>());
          single.backward(pull(path, time, width, type));
        }
        CHECK(states < (type == at::kDouble ? 1e-12 : 2e-5));
        CHECK(distance(together, taken(decoder)) < tolerance);
      }
    }
  }
}

TEST_CASE("packed sequences do not attend to each other", "[model]") {
  const Decoder decoder(kGolden + "llama3", at::kFloat, at::kCPU);
  const auto states = [&](std::int64_t first) {
    PackedIds packed{{first, 5, 9, 33, 17, 80, 4, 21, 6}, {{0, 3, -1, 0}, {3, 2, 0, 3}, {5, 4, -1, 0}}};
    return PackedPass(decoder, packed, {}).forward(false);
  };
  const at::Tensor a = states(7), b = states(60);
  CHECK(a.narrow(0, 5, 4).equal(b.narrow(0, 5, 4)));
  CHECK((a - b).abs().amin().item<float>() == 0);
  for (std::int64_t row = 0; row < 5; ++row) CHECK_FALSE(a[row].equal(b[row]));
}

TEST_CASE("layers that are computed again give the same bits", "[model]") {
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    const Decoder decoder(kGolden + "qwen3", at::kFloat, at::kCPU);
    require_gradients(decoder);
    const Forest forest(3, decoder.config().vocab_size);
    std::vector<Gradients> found;
    for (const bool checkpointing : {false, true}) {
      PackedPass pass(decoder, forest.packed, {type, checkpointing});
      pass.backward(at::ones_like(pass.forward(true)));
      found.push_back(taken(decoder));
    }
    for (const auto& [name, value] : found[0]) {
      INFO(name);
      CHECK(value.equal(found[1].at(name)));
      CHECK(value.scalar_type() == at::kFloat);
    }
  }
}

TEST_CASE("in bfloat16 the gradients are near those in float", "[model]") {
  const Decoder decoder(kGolden + "llama3", at::kFloat, at::kCPU);
  require_gradients(decoder);
  const Forest forest(5, decoder.config().vocab_size);
  std::vector<Gradients> found;
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    PackedPass pass(decoder, forest.packed, {type, false});
    const at::Tensor hidden = pass.forward(true);
    CHECK(hidden.scalar_type() == type);
    pass.backward(pull(0, hidden.size(0), hidden.size(1), type));
    found.push_back(taken(decoder));
  }
  CHECK(distance(found[1], found[0]) < 0.1);
  CHECK(distance(found[1], found[0]) > 1e-4);  // it was computed in another type
}

TEST_CASE("low-rank pairs: gradients are those of the matrices they stand for", "[model]") {
  Decoder decoder(kGolden + "llama", at::kDouble, at::kCPU);
  const std::string name = "model.layers.0.mlp.gate_proj.weight";
  at::manual_seed(4);
  const at::Tensor a = (at::randn({3, 32}, at::kDouble) * 0.1).set_requires_grad(true),
                   b = (at::randn({48, 3}, at::kDouble) * 0.1).set_requires_grad(true);
  const PackedIds ids = alone({3, 9, 4, 8, 1, 7, 7, 2});
  const at::Tensor up = pull(0, 8, 32, at::kDouble);
  decoder.set_lora(name, {a, b, 0.5});
  PackedPass pass(decoder, ids, {at::kDouble, false});
  pass.forward(true);
  pass.backward(up.clone());
  decoder.set_lora(name, {});
  // y = (W + s B A) x, so dB = s dW A^T and dA = s B^T dW.
  for (const auto& [parameter, value] : decoder.parameters()) {
    CHECK_FALSE(value.grad().defined());
    if (parameter != name) continue;
    value.add_(b.detach().matmul(a.detach()), 0.5);
    value.set_requires_grad(true);
    PackedPass merged(decoder, ids, {at::kDouble, false});
    merged.forward(true);
    merged.backward(up.clone());
    CHECK((b.grad() - 0.5 * value.grad().matmul(a.detach().t())).abs().max().item<double>() < 1e-10);
    CHECK((a.grad() - 0.5 * b.detach().t().matmul(value.grad())).abs().max().item<double>() < 1e-10);
    value.mutable_grad() = at::Tensor();
    value.set_requires_grad(false);
  }
}
