#include "model/decoder.hpp"

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/rms_norm.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/silu.h>

#include "base/error.hpp"
#include "model/layout.hpp"

namespace leap::model {

at::Device parse_device(const std::string& name) {
#ifdef LEAP_CUDA
  const bool cuda = at::globalContext().hasCUDA() && at::globalContext().deviceCount(at::kCUDA) > 0;
#else
  const bool cuda = false;
#endif
  if (name == "cpu" || (name == "auto" && !cuda)) return at::Device(at::kCPU);
  if (name != "auto" && name != "cuda") throw UsageError("device '" + name + "': must be auto, cpu or cuda");
  if (!cuda) throw UsageError("device cuda: this build has no CUDA (LEAP_CUDA), or there is no such device");
  return at::Device(at::kCUDA, 0);
}

at::ScalarType parse_dtype(const std::string& name) {
  if (name == "float32") return at::kFloat;
  if (name == "bfloat16") return at::kBFloat16;
  throw UsageError("dtype '" + name + "': must be float32 or bfloat16");
}

/// Takes checked tensors out of the checkpoint and notes them as parameters.
class Decoder::Loader {
 public:
  Loader(Decoder& decoder, const SafetensorsReader& reader) : decoder_(decoder), reader_(reader) {}

  at::Tensor take(const std::string& name) {
    const TensorView& view = reader_.at(name);
    at::Tensor tensor = at::empty(view.shape, at::TensorOptions().dtype(at::kFloat));
    widen(view, 0, view.elements(), tensor.data_ptr<float>());
    tensor = tensor.to(decoder_.device_, decoder_.dtype_);
    decoder_.parameters_.emplace_back(name, tensor);
    decoder_.stored_.push_back(view);
    return tensor;
  }

  void take(Linear& linear, const std::string& name, bool bias) {
    linear.weight = take(name + ".weight");
    if (bias) linear.bias = take(name + ".bias");
    decoder_.linears_[name + ".weight"] = &linear;
  }

 private:
  Decoder& decoder_;
  const SafetensorsReader& reader_;
};

Decoder::Decoder(const std::string& dir, at::ScalarType dtype, at::Device device)
    : config_(read_config(dir)), dtype_(dtype), device_(device) {
  const SafetensorsReader reader(dir);
  try {
    check_layout(config_, reader);
    Loader loader(*this, reader);
    embedding_ = loader.take("model.embed_tokens.weight");
    layers_.resize(static_cast<std::size_t>(config_.layers));
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      Layer& layer = layers_[i];
      const std::string name = "model.layers." + std::to_string(i) + ".";
      layer.input_norm = loader.take(name + "input_layernorm.weight");
      loader.take(layer.q, name + "self_attn.q_proj", config_.qkv_bias);
      loader.take(layer.k, name + "self_attn.k_proj", config_.qkv_bias);
      loader.take(layer.v, name + "self_attn.v_proj", config_.qkv_bias);
      if (config_.qk_norm) {
        layer.q_norm = loader.take(name + "self_attn.q_norm.weight");
        layer.k_norm = loader.take(name + "self_attn.k_norm.weight");
      }
      loader.take(layer.o, name + "self_attn.o_proj", config_.o_bias);
      layer.post_norm = loader.take(name + "post_attention_layernorm.weight");
      loader.take(layer.gate, name + "mlp.gate_proj", config_.mlp_bias);
      loader.take(layer.up, name + "mlp.up_proj", config_.mlp_bias);
      loader.take(layer.down, name + "mlp.down_proj", config_.mlp_bias);
    }
    final_norm_ = loader.take("model.norm.weight");
    if (config_.tied) {
      head_.weight = embedding_;
    } else {
      loader.take(head_, "lm_head", false);
    }
  } catch (const Error& e) {
    throw Error(dir + ": " + e.what());
  }
  std::vector<float> frequencies = rope_frequencies(config_);
  frequencies_ = at::from_blob(frequencies.data(), {config_.head_dim / 2}, at::kFloat).clone().to(device_);
}

Decoder::Decoder(const Decoder& other, WithoutLora)
    : config_(other.config_),
      dtype_(other.dtype_),
      device_(other.device_),
      parameters_(other.parameters_),
      stored_(other.stored_),
      embedding_(other.embedding_),
      final_norm_(other.final_norm_),
      frequencies_(other.frequencies_),
      head_(other.head_),
      layers_(other.layers_) {
  head_.lora = {};
  for (Layer& layer : layers_) {
    for (Linear* linear : {&layer.q, &layer.k, &layer.v, &layer.o, &layer.gate, &layer.up, &layer.down})
      linear->lora = {};
  }
}

at::Tensor Decoder::Linear::operator()(const at::Tensor& x) const {
  at::Tensor y = at::linear(x, weight, bias.defined() ? std::optional<at::Tensor>(bias) : std::nullopt);
  if (lora.a.defined()) y = y + at::linear(at::linear(x, lora.a), lora.b) * lora.scale;
  return y;
}

at::Tensor Decoder::rms_norm(const at::Tensor& x, const at::Tensor& weight) const {
  return at::rms_norm(x, {x.size(-1)}, weight, config_.norm_eps);
}

/// Cosines and sines for positions [.., time], with a place for the heads.
Decoder::Rotation Decoder::rotation(const at::Tensor& positions) const {
  at::Tensor angles = positions.to(at::kFloat).unsqueeze(-1) * frequencies_;
  angles = at::cat({angles, angles}, -1).unsqueeze(-3);
  return {angles.cos().to(dtype_), angles.sin().to(dtype_)};
}

namespace {

/// The second half of the head is the imaginary part (Hugging Face's layout, not Meta's pairs).
at::Tensor rotate(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin) {
  const std::int64_t half = x.size(-1) / 2;
  return x * cos + at::cat({-x.narrow(-1, half, half), x.narrow(-1, 0, half)}, -1) * sin;
}

}  // namespace

/// Queries [batch, heads, time, head_dim], keys and values [batch, kv_heads, time, head_dim], rotated.
std::tuple<at::Tensor, at::Tensor, at::Tensor> Decoder::project(const Layer& layer, const at::Tensor& x,
                                                                const Rotation& r) const {
  const at::Tensor h = rms_norm(x, layer.input_norm);
  auto heads = [&](const Linear& linear) {
    return linear(h).view({x.size(0), x.size(1), -1, config_.head_dim});
  };
  at::Tensor q = heads(layer.q), k = heads(layer.k), v = heads(layer.v);
  if (config_.qk_norm) {
    q = rms_norm(q, layer.q_norm);
    k = rms_norm(k, layer.k_norm);
  }
  return {rotate(q.transpose(1, 2), r.cos, r.sin), rotate(k.transpose(1, 2), r.cos, r.sin),
          v.transpose(1, 2)};
}

/// What follows attention [batch, heads, time, head_dim]: its output projection and the MLP, each added to
/// the stream.
at::Tensor Decoder::finish(const Layer& layer, const at::Tensor& x, const at::Tensor& attention) const {
  at::Tensor y = x + layer.o(attention.transpose(1, 2).reshape({x.size(0), x.size(1), -1}));
  const at::Tensor h = rms_norm(y, layer.post_norm);
  return y + layer.down(at::silu(layer.gate(h)) * layer.up(h));
}

at::Tensor Decoder::embed(const at::Tensor& ids) const {
  return at::embedding(embedding_, ids);
}

at::Tensor Decoder::logits(const at::Tensor& hidden) const {
  return head_(hidden);
}

const at::Tensor& Decoder::output_weight() const {
  return head_.weight;
}

at::Tensor Decoder::forward_cached(const at::Tensor& ids, const at::Tensor& positions, KvCache& cache,
                                   std::int64_t used, const at::Tensor& mask) const {
  const std::int64_t batch = ids.size(0), time = ids.size(1), group = config_.heads / config_.kv_heads;
  const Rotation r = rotation(positions);
  // The query heads of a group become further rows of one head, so that keys and values are never repeated.
  const at::Tensor rows = mask.repeat({1, 1, group, 1});
  const at::Tensor place =
      positions.view({batch, 1, time, 1}).expand({batch, config_.kv_heads, time, config_.head_dim});
  at::Tensor x = embed(ids);
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    auto [q, k, v] = project(layers_[i], x, r);
    cache.keys[i].scatter_(2, place, k);
    cache.values[i].scatter_(2, place, v);
    const at::Tensor out = at::scaled_dot_product_attention(
        q.reshape({batch, config_.kv_heads, group * time, config_.head_dim}),
        cache.keys[i].narrow(2, 0, used), cache.values[i].narrow(2, 0, used), rows);
    x = finish(layers_[i], x, out.reshape({batch, config_.heads, time, config_.head_dim}));
  }
  return rms_norm(x, final_norm_);
}

void Decoder::set_lora(const std::string& weight_name, LoraPair pair) {
  auto it = linears_.find(weight_name);
  if (it == linears_.end()) throw Error("adapter: the model has no linear layer '" + weight_name + "'");
  const at::Tensor& weight = it->second->weight;
  if (!pair.a.defined()) {
    it->second->lora = {};  // none
    return;
  }
  if (pair.a.size(1) != weight.size(1) || pair.b.size(0) != weight.size(0))
    throw Error("adapter: '" + weight_name + "': its shape does not suit the model");
  it->second->lora = std::move(pair);
}

}  // namespace leap::model
