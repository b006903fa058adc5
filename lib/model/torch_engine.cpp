// The engine on LibTorch, for CUDA and bfloat16: one padded batch of keys and values, a slot a sequence.
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "model/decoder.hpp"
#include "model/engine.hpp"
#include "model/lora.hpp"

namespace leap::model {
namespace {

class TorchEngine final : public Engine {
 public:
  TorchEngine(const EngineOptions& options, at::ScalarType dtype, at::Device device)
      : decoder_(options.model_dir, dtype, device), dtype_(dtype), device_(device) {
    if (options.threads > 0) at::set_num_threads(options.threads);
    if (options.adapter_dir.empty()) return;
    for (auto& [name, pair] : read_lora(options.adapter_dir)) {
      auto matrix = [&](std::vector<float>& values, std::int64_t rows, std::int64_t columns) {
        return at::from_blob(values.data(), {rows, columns}, at::kFloat).clone().to(device, dtype);
      };
      decoder_.set_lora(
          name, {matrix(pair.a, pair.rank, pair.in), matrix(pair.b, pair.out, pair.rank), pair.scale});
    }
  }

  const ModelConfig& config() const override { return decoder_.config(); }
  Sequence open() override;
  Sequence branch(Sequence sequence, std::size_t length) override;
  void close(Sequence sequence) override { open_[sequence] = false; }
  void forward(const std::vector<Chunk>& chunks, std::vector<float>& logits) override;
  std::size_t logits_stride() const override {
    return (static_cast<std::size_t>(config().vocab_size) + 31) / 32 * 32;
  }
  std::size_t bytes_per_id() const override {
    return static_cast<std::size_t>(2 * config().layers * config().kv_heads * config().head_dim) *
           at::elementSize(dtype_);
  }

 private:
  void make_room(std::int64_t slots, std::int64_t positions);
  void decode(const std::vector<const Chunk*>& chunks, const std::vector<float*>& out);
  void prefill(const Chunk& chunk, float* out);
  void write_logits(const at::Tensor& hidden, const std::vector<float*>& out) const;
  at::Tensor longs(const std::vector<std::int64_t>& values) const {
    return at::from_blob(const_cast<std::int64_t*>(values.data()), {static_cast<std::int64_t>(values.size())},
                         at::kLong)
        .clone()
        .to(device_);
  }

  Decoder decoder_;
  at::ScalarType dtype_;
  at::Device device_;
  KvCache cache_;
  std::int64_t slots_ = 0, capacity_ = 0;  ///< of the cache; its last position is never read
  std::vector<std::int64_t> length_;
  std::vector<bool> open_;
};

/// The cache doubles as it grows, so that copying stays a small part of the work.
void TorchEngine::make_room(std::int64_t slots, std::int64_t positions) {
  if (slots <= slots_ && positions < capacity_) return;
  const std::int64_t old_slots = slots_, old_capacity = capacity_;
  if (slots > slots_) slots_ = std::max(slots, 2 * slots_);
  if (positions >= capacity_) capacity_ = std::max<std::int64_t>({positions + 1, 2 * capacity_, 128});
  const auto layers = static_cast<std::size_t>(config().layers);
  cache_.keys.resize(layers);
  cache_.values.resize(layers);
  for (auto* tensors : {&cache_.keys, &cache_.values}) {
    for (at::Tensor& tensor : *tensors) {
      at::Tensor larger = at::zeros({slots_, config().kv_heads, capacity_, config().head_dim},
                                    at::TensorOptions().dtype(dtype_).device(device_));
      if (old_capacity > 0) larger.narrow(0, 0, old_slots).narrow(2, 0, old_capacity).copy_(tensor);
      tensor = larger;
    }
  }
}

Engine::Sequence TorchEngine::open() {
  const c10::InferenceMode guard;
  const auto free = std::find(open_.begin(), open_.end(), false);
  const auto slot = static_cast<std::size_t>(free - open_.begin());
  if (free == open_.end()) {
    open_.push_back(true);
    length_.push_back(0);
  }
  open_[slot] = true;
  length_[slot] = 0;
  make_room(static_cast<std::int64_t>(open_.size()), 0);
  return slot;
}

Engine::Sequence TorchEngine::branch(Sequence sequence, std::size_t length) {
  const c10::InferenceMode guard;
  const Sequence copy = open();
  const auto used = length_[copy] = static_cast<std::int64_t>(length);
  for (auto* tensors : {&cache_.keys, &cache_.values}) {
    for (at::Tensor& tensor : *tensors) {
      tensor.select(0, static_cast<std::int64_t>(copy))
          .narrow(1, 0, used)
          .copy_(tensor.select(0, static_cast<std::int64_t>(sequence)).narrow(1, 0, used));
    }
  }
  return copy;
}

void TorchEngine::forward(const std::vector<Chunk>& chunks, std::vector<float>& logits) {
  const c10::InferenceMode guard;
  std::vector<std::size_t> rows;
  std::size_t total = 0;
  for (const Chunk& chunk : chunks) {
    rows.push_back(total);
    total += chunk.want == Want::kAll ? chunk.ids.size() : chunk.want == Want::kLast ? 1 : 0;
  }
  logits.resize(total * logits_stride());
  std::vector<const Chunk*> single;
  std::vector<float*> single_out;
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    const Chunk& chunk = chunks[i];
    make_room(slots_, length_[chunk.sequence] + static_cast<std::int64_t>(chunk.ids.size()));
    float* out = chunk.want == Want::kNothing ? nullptr : &logits[rows[i] * logits_stride()];
    if (chunk.ids.size() == 1) {
      single.push_back(&chunk);
      single_out.push_back(out);
    } else if (!chunk.ids.empty()) {
      prefill(chunk, out);
    }
  }
  if (!single.empty()) decode(single, single_out);
}

void TorchEngine::write_logits(const at::Tensor& hidden, const std::vector<float*>& out) const {
  const at::Tensor rows = decoder_.logits(hidden).to(at::kFloat).to(at::kCPU).contiguous();
  const auto vocab = static_cast<std::size_t>(config().vocab_size);
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i]) std::memcpy(out[i], rows.data_ptr<float>() + i * vocab, vocab * sizeof(float));
  }
}

/// One new id for each of these sequences. Slots between them that have none compute for nothing.
void TorchEngine::decode(const std::vector<const Chunk*>& chunks, const std::vector<float*>& out) {
  std::int64_t batch = 0, used = 0;
  for (const Chunk* chunk : chunks) {
    batch = std::max(batch, static_cast<std::int64_t>(chunk->sequence) + 1);
    used = std::max(used, length_[chunk->sequence] + 1);
  }
  const auto n = static_cast<std::size_t>(batch);
  std::vector<std::int64_t> ids(n, 0), places(n, capacity_ - 1), last(n, 0), wanted;
  for (const Chunk* chunk : chunks) {
    const std::size_t slot = chunk->sequence;
    ids[slot] = chunk->ids[0];
    places[slot] = last[slot] = length_[slot]++;
    wanted.push_back(static_cast<std::int64_t>(slot));
  }
  KvCache part;
  for (std::size_t i = 0; i < cache_.keys.size(); ++i) {
    part.keys.push_back(cache_.keys[i].narrow(0, 0, batch));
    part.values.push_back(cache_.values[i].narrow(0, 0, batch));
  }
  const at::Tensor range = at::arange(used, at::TensorOptions().dtype(at::kLong).device(device_));
  const at::Tensor mask = range.view({1, 1, 1, used}).le(longs(last).view({batch, 1, 1, 1}));
  const at::Tensor hidden =
      decoder_.forward_cached(longs(ids).unsqueeze(1), longs(places).unsqueeze(1), part, used, mask);
  write_logits(hidden.select(1, 0).index_select(0, longs(wanted)), out);
}

/// Several ids of one sequence.
void TorchEngine::prefill(const Chunk& chunk, float* out) {
  const auto slot = static_cast<std::int64_t>(chunk.sequence),
             count = static_cast<std::int64_t>(chunk.ids.size());
  const std::int64_t from = length_[chunk.sequence], used = from + count;
  length_[chunk.sequence] = used;
  KvCache part;
  for (std::size_t i = 0; i < cache_.keys.size(); ++i) {
    part.keys.push_back(cache_.keys[i].narrow(0, slot, 1));
    part.values.push_back(cache_.values[i].narrow(0, slot, 1));
  }
  const at::Tensor range = at::arange(used, at::TensorOptions().dtype(at::kLong).device(device_));
  const at::Tensor positions = range.narrow(0, from, count);
  const at::Tensor mask = range.view({1, 1, 1, used}).le(positions.view({1, 1, count, 1}));
  at::Tensor hidden =
      decoder_.forward_cached(longs(chunk.ids).unsqueeze(0), positions.unsqueeze(0), part, used, mask)[0];
  if (chunk.want == Want::kNothing) return;
  if (chunk.want == Want::kLast) hidden = hidden.narrow(0, count - 1, 1);
  std::vector<float*> rows;
  for (std::int64_t i = 0; i < hidden.size(0); ++i)
    rows.push_back(out + static_cast<std::size_t>(i) * logits_stride());
  write_logits(hidden, rows);
}

}  // namespace

std::unique_ptr<Engine> make_engine(const EngineOptions& options, Workers& workers) {
  const at::Device device = parse_device(options.device);
  const at::ScalarType dtype = parse_dtype(options.dtype);
  if (device.is_cpu() && dtype == at::kFloat)
    return make_cpu_engine(options.model_dir, options.adapter_dir, workers);
  return std::make_unique<TorchEngine>(options, dtype, device);
}

}  // namespace leap::model
