// CPU inference in float32 without LibTorch: packed weights, keys and values in shared pages, a few parallel
// loops a layer.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <new>

#include "base/error.hpp"
#include "model/engine.hpp"
#include "model/kernels.hpp"
#include "model/layout.hpp"
#include "model/lora.hpp"
#include "model/safetensors.hpp"

namespace leap::model {
namespace {

/// Positions a page of keys and values holds; a panel of keys.
constexpr std::size_t kPage = kPanel;
/// Most rows (ids of all sequences) computed together; more are computed in turn.
constexpr std::size_t kMaxRows = 256;
/// Query positions of one sequence whose attention is computed together.
constexpr std::size_t kTilePositions = 8;

std::size_t round_up(std::size_t n) {
  return (n + kPanel - 1) / kPanel * kPanel;
}

/// Memory aligned for vectors.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::size_t bytes) : data_(std::aligned_alloc(64, (bytes + 63) / 64 * 64)) {
    if (bytes > 0 && !data_) throw std::bad_alloc();
  }
  float* floats() const { return static_cast<float*>(data_.get()); }
  std::uint16_t* halves() const { return static_cast<std::uint16_t*>(data_.get()); }

 private:
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  std::unique_ptr<void, Free> data_;
};

/// A linear layer's weight [n, k] as panels of kPanel outputs, [n/kPanel][k][kPanel]; bfloat16 if stored so.
struct Packed {
  std::size_t n = 0, k = 0;
  bool bf16 = false;
  Buffer memory;
  std::vector<float> bias;  ///< padded to whole panels, or empty

  std::size_t panels() const { return (n + kPanel - 1) / kPanel; }

  /// out[rows, panel's columns] = x W^T + bias, added to what `out` holds when `add`.
  void multiply(std::size_t panel, const float* x, std::size_t ldx, std::size_t rows, float* out,
                std::size_t ldo, bool add) const {
    if (!bias.empty()) {
      for (std::size_t r = 0; r < rows; ++r) {
        for (std::size_t j = 0; j < kPanel; ++j) {
          float& value = out[r * ldo + j];
          value = (add ? value : 0.0f) + bias[panel * kPanel + j];
        }
      }
      add = true;
    }
    if (bf16) {
      kernels().multiply_bf16(x, ldx, rows, memory.halves() + panel * k * kPanel, k, out, ldo, add);
    } else {
      kernels().multiply(x, ldx, rows, memory.floats() + panel * k * kPanel, k, out, ldo, add);
    }
  }
};

struct Layer {
  std::vector<float> input_norm, post_norm, q_norm, k_norm;
  Packed qkv, o, gate, up, down;
};

/// Keys and values of kPage positions for all layers and heads; the keys transposed, both as panels.
struct Page {
  Buffer memory;
  std::size_t users = 0;
};

struct State {
  std::vector<std::size_t> pages;
  std::size_t length = 0;
  bool open = false;
};

/// One row of a pass: a new id at a position of a sequence.
struct Row {
  std::size_t sequence = 0;
  std::size_t position = 0;
  std::int64_t id = 0;
  bool logits = false;
};

/// Rows [first, first + count) are successive positions of one sequence.
struct Tile {
  std::size_t first = 0, count = 0;
};

class CpuEngine final : public Engine {
 public:
  CpuEngine(const std::string& dir, const std::string& adapter_dir, Workers& workers);

  const ModelConfig& config() const override { return config_; }
  Sequence open() override;
  Sequence branch(Sequence sequence, std::size_t length) override;
  void close(Sequence sequence) override;
  void forward(const std::vector<Chunk>& chunks, std::vector<float>& logits) override;
  std::size_t logits_stride() const override { return round_up(vocab_); }
  std::size_t bytes_per_id() const override { return page_floats_ * sizeof(float) / kPage; }

 private:
  void load(const std::string& adapter_dir);
  Packed pack(const std::vector<std::string>& names, bool bias);
  std::vector<float> vector_of(const std::string& name);

  float* keys(std::size_t page, std::size_t layer, std::size_t head) const {
    return pages_[page].memory.floats() + (layer * kv_heads_ + head) * head_floats_;
  }
  float* values(std::size_t page, std::size_t layer, std::size_t head) const {
    return keys(page, layer, head) + dim_ * kPage;
  }
  std::size_t new_page();
  void release_page(std::size_t page);
  void make_room(State& state, std::size_t count);

  void pass(const std::vector<Row>& rows, float* logits);
  void rotate_and_store(std::size_t layer, const Row& row, std::size_t r);
  void attend(std::size_t layer, const std::vector<Row>& rows, const Tile& tile, std::size_t head);

  ModelConfig config_;
  SafetensorsReader reader_;
  Workers& workers_;
  std::map<std::string, LoraWeights> lora_;
  std::size_t vocab_, d_, heads_, kv_heads_, dim_, ffn_;
  std::size_t q_width_, qkv_stride_, ffn_stride_;
  std::size_t value_width_, head_floats_, page_floats_;
  std::vector<float> frequencies_;
  std::vector<Layer> layers_;
  std::vector<float> final_norm_;
  Packed head_;
  const TensorView* embedding_ = nullptr;

  std::vector<State> states_;
  std::vector<Page> pages_;
  std::vector<std::size_t> free_pages_;
  // What one pass works on, a row each.
  std::vector<float> x_, h_, qkv_, attention_, act_, cos_, sin_;
};

CpuEngine::CpuEngine(const std::string& dir, const std::string& adapter_dir, Workers& workers)
    : config_(read_config(dir)), reader_(dir), workers_(workers) {
  auto size = [](std::int64_t n) { return static_cast<std::size_t>(n); };
  vocab_ = size(config_.vocab_size);
  d_ = size(config_.hidden_size);
  heads_ = size(config_.heads);
  kv_heads_ = size(config_.kv_heads);
  dim_ = size(config_.head_dim);
  ffn_ = size(config_.intermediate_size);
  q_width_ = heads_ * dim_;
  qkv_stride_ = round_up((heads_ + 2 * kv_heads_) * dim_);
  ffn_stride_ = round_up(ffn_);
  value_width_ = round_up(dim_);
  head_floats_ = (dim_ + value_width_) * kPage;
  page_floats_ = size(config_.layers) * kv_heads_ * head_floats_;
  frequencies_ = rope_frequencies(config_);
  try {
    load(adapter_dir);
  } catch (const Error& e) {
    throw Error(dir + ": " + e.what());
  }
}

void CpuEngine::load(const std::string& adapter_dir) {
  check_layout(config_, reader_);
  if (!adapter_dir.empty()) lora_ = read_lora(adapter_dir);
  layers_.resize(static_cast<std::size_t>(config_.layers));
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    Layer& layer = layers_[i];
    const std::string name = "model.layers." + std::to_string(i) + ".";
    const std::string attention = name + "self_attn.", mlp = name + "mlp.";
    layer.input_norm = vector_of(name + "input_layernorm.weight");
    layer.post_norm = vector_of(name + "post_attention_layernorm.weight");
    if (config_.qk_norm) {
      layer.q_norm = vector_of(attention + "q_norm.weight");
      layer.k_norm = vector_of(attention + "k_norm.weight");
    }
    layer.qkv = pack({attention + "q_proj", attention + "k_proj", attention + "v_proj"}, config_.qkv_bias);
    layer.o = pack({attention + "o_proj"}, config_.o_bias);
    layer.gate = pack({mlp + "gate_proj"}, config_.mlp_bias);
    layer.up = pack({mlp + "up_proj"}, config_.mlp_bias);
    layer.down = pack({mlp + "down_proj"}, config_.mlp_bias);
  }
  final_norm_ = vector_of("model.norm.weight");
  embedding_ = &reader_.at("model.embed_tokens.weight");
  head_ = pack({config_.tied ? "model.embed_tokens" : "lm_head"}, false);
  if (!lora_.empty()) throw Error("adapter: the model has no linear layer '" + lora_.begin()->first + "'");
}

std::vector<float> CpuEngine::vector_of(const std::string& name) {
  const TensorView& view = reader_.at(name);
  std::vector<float> out(static_cast<std::size_t>(view.elements()));
  widen(view, 0, view.elements(), out.data());
  return out;
}

/// The layers of `names` one after the other, as one. Adapters are added in float32.
Packed CpuEngine::pack(const std::vector<std::string>& names, bool bias) {
  struct Part {
    const TensorView* view;
    const LoraWeights* lora;
    std::size_t first;
  };
  Packed out;
  const auto k = static_cast<std::size_t>(reader_.at(names[0] + ".weight").shape[1]);
  out.k = k;
  out.bf16 = true;
  std::vector<Part> parts;
  for (const std::string& name : names) {
    const TensorView& view = reader_.at(name + ".weight");
    auto lora = lora_.find(view.name);
    if (lora != lora_.end() && (lora->second.in != view.shape[1] || lora->second.out != view.shape[0])) {
      throw Error("adapter: '" + view.name + "': its shape does not suit the model");
    }
    parts.push_back({&view, lora == lora_.end() ? nullptr : &lora->second, out.n});
    out.n += static_cast<std::size_t>(view.shape[0]);
    out.bf16 = out.bf16 && view.dtype == "BF16" && lora == lora_.end();
  }
  out.memory = Buffer(out.panels() * k * kPanel * (out.bf16 ? 2 : 4));
  workers_.for_each(out.panels(), [&](std::size_t panel) {
    std::vector<float> row(k);
    for (std::size_t j = 0; j < kPanel; ++j) {
      const std::size_t n = panel * kPanel + j;
      std::fill(row.begin(), row.end(), 0.0f);
      if (n < out.n) {
        const Part& part =
            *std::find_if(parts.rbegin(), parts.rend(), [n](const Part& p) { return p.first <= n; });
        const std::size_t own = n - part.first;
        widen(*part.view, static_cast<std::int64_t>(own * k), static_cast<std::int64_t>(k), row.data());
        if (part.lora) {
          const auto rank = static_cast<std::size_t>(part.lora->rank);
          for (std::size_t i = 0; i < k; ++i) {
            double delta = 0;
            for (std::size_t r = 0; r < rank; ++r) {
              delta += static_cast<double>(part.lora->b[own * rank + r]) *
                       static_cast<double>(part.lora->a[r * k + i]);
            }
            row[i] = static_cast<float>(row[i] + part.lora->scale * delta);
          }
        }
      }
      for (std::size_t i = 0; i < k; ++i) {
        const std::size_t at = (panel * k + i) * kPanel + j;
        if (out.bf16) {
          std::uint32_t bits = 0;
          std::memcpy(&bits, &row[i], 4);
          out.memory.halves()[at] = static_cast<std::uint16_t>(bits >> 16);
        } else {
          out.memory.floats()[at] = row[i];
        }
      }
    }
  });
  if (bias) {
    out.bias.resize(out.panels() * kPanel);
    for (std::size_t i = 0; i < names.size(); ++i) {
      const std::vector<float> part = vector_of(names[i] + ".bias");
      std::copy(part.begin(), part.end(), out.bias.begin() + static_cast<std::ptrdiff_t>(parts[i].first));
    }
  }
  for (const Part& part : parts) lora_.erase(part.view->name);
  return out;
}

std::size_t CpuEngine::new_page() {
  if (free_pages_.empty()) {
    pages_.push_back({Buffer(page_floats_ * sizeof(float)), 0});
    // Zeros: what a page holds beyond a sequence's end is multiplied by zero, so it must be finite.
    std::memset(pages_.back().memory.floats(), 0, page_floats_ * sizeof(float));
    free_pages_.push_back(pages_.size() - 1);
  }
  const std::size_t page = free_pages_.back();
  free_pages_.pop_back();
  pages_[page].users = 1;
  return page;
}

void CpuEngine::release_page(std::size_t page) {
  if (--pages_[page].users == 0) free_pages_.push_back(page);
}

Engine::Sequence CpuEngine::open() {
  for (std::size_t i = 0; i < states_.size(); ++i) {
    if (!states_[i].open) {
      states_[i].open = true;
      return i;
    }
  }
  states_.emplace_back().open = true;
  return states_.size() - 1;
}

Engine::Sequence CpuEngine::branch(Sequence sequence, std::size_t length) {
  const Sequence copy = open();
  State& state = states_[copy];
  state = states_[sequence];
  state.length = length;
  state.pages.resize((length + kPage - 1) / kPage);
  for (std::size_t page : state.pages) ++pages_[page].users;
  return copy;
}

void CpuEngine::close(Sequence sequence) {
  for (std::size_t page : states_[sequence].pages) release_page(page);
  states_[sequence] = {};
}

/// Pages for `count` more positions that are this sequence's alone.
void CpuEngine::make_room(State& state, std::size_t count) {
  if (state.length % kPage != 0 && pages_[state.pages.back()].users > 1) {
    const std::size_t shared = state.pages.back(), own = new_page();
    std::memcpy(pages_[own].memory.floats(), pages_[shared].memory.floats(), page_floats_ * sizeof(float));
    release_page(shared);
    state.pages.back() = own;
  }
  while (state.pages.size() * kPage < state.length + count) state.pages.push_back(new_page());
}

void CpuEngine::forward(const std::vector<Chunk>& chunks, std::vector<float>& logits) {
  std::vector<Row> rows;
  std::size_t wanted = 0;
  for (const Chunk& chunk : chunks) {
    State& state = states_[chunk.sequence];
    make_room(state, chunk.ids.size());
    for (std::size_t i = 0; i < chunk.ids.size(); ++i) {
      const bool want = chunk.want == Want::kAll || (chunk.want == Want::kLast && i + 1 == chunk.ids.size());
      rows.push_back({chunk.sequence, state.length + i, chunk.ids[i], want});
      wanted += want;
    }
    state.length += chunk.ids.size();
  }
  logits.resize(wanted * logits_stride());
  float* out = logits.data();
  workers_.run([&] {
    for (std::size_t from = 0; from < rows.size(); from += kMaxRows) {
      const std::vector<Row> part(
          rows.begin() + static_cast<std::ptrdiff_t>(from),
          rows.begin() + static_cast<std::ptrdiff_t>(std::min(from + kMaxRows, rows.size())));
      pass(part, out);
      for (const Row& row : part) out += row.logits ? logits_stride() : 0;
    }
  });
}

void CpuEngine::pass(const std::vector<Row>& rows, float* logits) {
  const std::size_t n = rows.size(), half = dim_ / 2, x_stride = round_up(d_);
  const Kernels& k = kernels();
  const auto eps = static_cast<float>(config_.norm_eps);
  // A thread's share of a matrix's panels: few enough shares to start quickly, enough to even out.
  constexpr std::size_t kGrain = 2;
  x_.resize(n * x_stride);
  h_.resize(n * x_stride);
  qkv_.resize(n * qkv_stride_);
  attention_.resize(n * round_up(q_width_));
  act_.resize(n * ffn_stride_);
  cos_.resize(n * half);
  sin_.resize(n * half);

  std::vector<Tile> tiles;
  for (std::size_t r = 0; r < n; ++r) {
    if (!tiles.empty() && tiles.back().count < kTilePositions && rows[r].sequence == rows[r - 1].sequence) {
      ++tiles.back().count;
    } else {
      tiles.push_back({r, 1});
    }
  }
  workers_.for_each(
      n,
      [&](std::size_t r) {
        const auto d = static_cast<std::int64_t>(d_);
        widen(*embedding_, rows[r].id * d, d, &x_[r * x_stride]);
        for (std::size_t i = 0; i < half; ++i) {
          const float angle = static_cast<float>(rows[r].position) * frequencies_[i];
          cos_[r * half + i] = std::cos(angle);
          sin_[r * half + i] = std::sin(angle);
        }
      },
      8);
  auto norm_rows = [&](const std::vector<float>& weight) {
    workers_.for_each(
        n, [&](std::size_t r) { k.rms_norm(&x_[r * x_stride], weight.data(), d_, eps, &h_[r * x_stride]); },
        16);
  };

  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const Layer& layer = layers_[i];
    norm_rows(layer.input_norm);
    workers_.for_each(
        layer.qkv.panels(),
        [&](std::size_t p) {
          layer.qkv.multiply(p, h_.data(), x_stride, n, &qkv_[p * kPanel], qkv_stride_, false);
        },
        kGrain);
    workers_.for_each(
        n, [&](std::size_t r) { rotate_and_store(i, rows[r], r); }, 8);
    // By head first: sequences with the same beginning read the same pages one after the other.
    workers_.for_each(tiles.size() * kv_heads_, [&](std::size_t task) {
      attend(i, rows, tiles[task % tiles.size()], task / tiles.size());
    });
    workers_.for_each(
        layer.o.panels(),
        [&](std::size_t p) {
          layer.o.multiply(p, attention_.data(), round_up(q_width_), n, &x_[p * kPanel], x_stride, true);
        },
        kGrain);
    norm_rows(layer.post_norm);
    workers_.for_each(
        layer.gate.panels(),
        [&](std::size_t p) {
          alignas(64) float up[kMaxRows * kPanel];
          float* gate = &act_[p * kPanel];
          layer.gate.multiply(p, h_.data(), x_stride, n, gate, ffn_stride_, false);
          layer.up.multiply(p, h_.data(), x_stride, n, up, kPanel, false);
          for (std::size_t r = 0; r < n; ++r)
            k.silu_multiply(gate + r * ffn_stride_, up + r * kPanel, kPanel);
        },
        kGrain);
    workers_.for_each(
        layer.down.panels(),
        [&](std::size_t p) {
          layer.down.multiply(p, act_.data(), ffn_stride_, n, &x_[p * kPanel], x_stride, true);
        },
        kGrain);
  }

  std::size_t wanted = 0;
  for (std::size_t r = 0; r < n; ++r) {
    if (rows[r].logits) k.rms_norm(&x_[r * x_stride], final_norm_.data(), d_, eps, &h_[wanted++ * x_stride]);
  }
  if (wanted == 0) return;
  workers_.for_each(
      head_.panels(),
      [&](std::size_t p) {
        head_.multiply(p, h_.data(), x_stride, wanted, logits + p * kPanel, logits_stride(), false);
      },
      4);
}

/// Turns the row's queries and keys by its position, and puts keys and values into the sequence's page.
void CpuEngine::rotate_and_store(std::size_t layer, const Row& row, std::size_t r) {
  const Layer& weights = layers_[layer];
  const std::size_t half = dim_ / 2;
  const float *cos = &cos_[r * half], *sin = &sin_[r * half];
  const float shrink = 1.0f / std::sqrt(static_cast<float>(dim_));
  const auto eps = static_cast<float>(config_.norm_eps);
  float* vectors = &qkv_[r * qkv_stride_];
  const std::size_t page = states_[row.sequence].pages[row.position / kPage], place = row.position % kPage;
  for (std::size_t head = 0; head < heads_ + kv_heads_; ++head) {
    float* v = vectors + head * dim_;
    const bool query = head < heads_;
    if (config_.qk_norm) {
      kernels().rms_norm(v, query ? weights.q_norm.data() : weights.k_norm.data(), dim_, eps, v);
    }
    for (std::size_t i = 0; i < half; ++i) {  // the second half is the imaginary part
      const float re = v[i], im = v[i + half];
      v[i] = re * cos[i] - im * sin[i];
      v[i + half] = im * cos[i] + re * sin[i];
    }
    if (query) {
      for (std::size_t i = 0; i < dim_; ++i) v[i] *= shrink;
    } else {
      float* column = keys(page, layer, head - heads_) + place;
      for (std::size_t i = 0; i < dim_; ++i) column[i * kPage] = v[i];
    }
  }
  for (std::size_t head = 0; head < kv_heads_; ++head) {
    const float* v = vectors + (heads_ + kv_heads_ + head) * dim_;
    float* panels = values(page, layer, head);
    for (std::size_t i = 0; i < dim_; ++i) panels[(i / kPanel * kPage + place) * kPanel + i % kPanel] = v[i];
  }
}

/// One key/value head against the query heads that share it, for the positions of a tile.
void CpuEngine::attend(std::size_t layer, const std::vector<Row>& rows, const Tile& tile, std::size_t head) {
  const Kernels& k = kernels();
  const std::size_t group = heads_ / kv_heads_, count = tile.count * group;
  const State& state = states_[rows[tile.first].sequence];
  const std::size_t seen = rows[tile.first + tile.count - 1].position + 1;
  const std::size_t pages = (seen + kPage - 1) / kPage, width = pages * kPage;
  thread_local std::vector<float> queries, scores, out;
  queries.resize(count * dim_);
  scores.resize(count * width);
  out.resize(count * value_width_);
  for (std::size_t t = 0; t < tile.count; ++t) {
    std::memcpy(&queries[t * group * dim_], &qkv_[(tile.first + t) * qkv_stride_ + head * group * dim_],
                group * dim_ * sizeof(float));
  }
  for (std::size_t p = 0; p < pages; ++p) {
    k.multiply(queries.data(), dim_, count, keys(state.pages[p], layer, head), dim_, &scores[p * kPage],
               width, false);
  }
  for (std::size_t q = 0; q < count; ++q) {
    float* row = &scores[q * width];
    const std::size_t visible = rows[tile.first + q / group].position + 1;
    const float sum = k.exponentials(row, visible, k.maximum(row, visible), 1.0f);
    std::fill(row + round_up(visible), row + width, 0.0f);
    const float scale = 1.0f / sum;
    for (std::size_t j = 0; j < visible; ++j) row[j] *= scale;
  }
  for (std::size_t p = 0; p < pages; ++p) {
    for (std::size_t column = 0; column < value_width_; column += kPanel) {
      k.multiply(&scores[p * kPage], width, count, values(state.pages[p], layer, head) + column * kPage,
                 kPage, &out[column], value_width_, p > 0);
    }
  }
  for (std::size_t q = 0; q < count; ++q) {
    std::memcpy(
        &attention_[(tile.first + q / group) * round_up(q_width_) + (head * group + q % group) * dim_],
        &out[q * value_width_], dim_ * sizeof(float));
  }
}

}  // namespace

std::unique_ptr<Engine> make_cpu_engine(const std::string& model_dir, const std::string& adapter_dir,
                                        Workers& workers) {
  return std::make_unique<CpuEngine>(model_dir, adapter_dir, workers);
}

}  // namespace leap::model
