#include "model/local_backend.hpp"

#include <algorithm>
#include <deque>
#include <mutex>

#include "base/error.hpp"
#include "model/draw.hpp"
#include "model/engine.hpp"
#include "tokenizer/stop.hpp"

namespace leap::model {
namespace {

using sampling::Completion;
using sampling::Next;
using sampling::Request;
using sampling::SamplingOptions;

/// Most ids a pass computes: enough for prompts to be computed at full speed, few enough not to hold up the
/// others.
constexpr std::size_t kRowsPerPass = 256;
/// Ids by which what a sequence really holds may exceed its length (pages not full, or copied).
constexpr std::size_t kSlack = 64;
/// Fewest ids worth sharing with another sequence.
constexpr std::size_t kShared = 16;

/// A request in work: its prompt, computed once, from which its completions start.
struct Prompt {
  Request request;
  Engine::Sequence sequence = 0;
  std::size_t computed = 0;        ///< ids of the prompt
  std::size_t started = 0;         ///< completions
  std::vector<float> logits;       ///< after the last id; empty until then
  std::shared_ptr<Prompt> source;  ///< an earlier one, still to be computed, ..
  std::size_t shared = 0;          ///< .. that begins with so many of the same ids
};

/// A completion in work.
struct Active {
  std::uint64_t tag = 0, key = 0;
  std::size_t index = 0;
  std::shared_ptr<const std::vector<std::int64_t>> prompt_ids;
  Engine::Sequence sequence = 0;
  std::vector<std::int64_t> ids;
  std::vector<double> logprobs;
  tokenizer::TextStream text;
  std::string finish_reason;  ///< empty: goes on
};

class LocalBackend final : public sampling::Backend {
 public:
  explicit LocalBackend(const sampling::LocalOptions& options)
      : options_(options),
        workers_(options.threads),
        tokenizer_(tokenizer::Tokenizer::load(options.model_dir)),
        engine_(make_engine(
            {options.model_dir, options.adapter_dir, options.dtype, options.device, options.threads},
            workers_)),
        vocab_(static_cast<std::size_t>(engine_->config().vocab_size)),
        batch_(static_cast<std::size_t>(std::max(1, options.batch_size))),
        version_(read_weight_version(options.adapter_dir.empty() ? options.model_dir : options.adapter_dir)) {
  }

  void run(const SamplingOptions& options, const sampling::NextRequest& next,
           const sampling::Done& done) override;
  std::vector<double> score(const std::vector<std::int64_t>& prompt_ids,
                            const std::vector<std::int64_t>& completion_ids, double temperature) override;
  std::string model_name() const override { return options_.model_dir; }
  std::int64_t weight_version() const override { return version_; }
  std::string logprobs_mode() const override { return "scaled"; }

 private:
  friend class Run;
  std::string bad_id(const std::vector<std::int64_t>& ids) const;

  const sampling::LocalOptions options_;
  Workers workers_;
  tokenizer::Tokenizer tokenizer_;
  std::unique_ptr<Engine> engine_;
  std::size_t vocab_, batch_;
  std::int64_t version_;
  std::mutex scoring_;
};

/// One call of run().
class Run {
 public:
  Run(LocalBackend& backend, const SamplingOptions& options, const sampling::NextRequest& next,
      const sampling::Done& done)
      : backend_(backend),
        engine_(*backend.engine_),
        options_(options),
        next_(next),
        done_(done),
        no_text_(backend.tokenizer_, options.stop) {
    const std::size_t memory = backend.options_.kv_memory_mb << 20;
    if (memory > 0) budget_ = memory / engine_.bytes_per_id();
  }
  ~Run() {  // after an error, or else all of these are empty
    for (const auto& prompt : prompts_) {
      if (!prompt->source) engine_.close(prompt->sequence);
    }
    for (const auto& active : active_) engine_.close(active->sequence);
  }

  void all() {
    while (pull() || !prompts_.empty() || !active_.empty()) {
      start();
      pass();
    }
  }

 private:
  std::size_t completion_cost() const { return static_cast<std::size_t>(options_.max_tokens) + kSlack; }
  bool fits(std::size_t ids) const { return budget_ == 0 || held_ + ids <= budget_; }

  bool pull();
  void accept(Request request);
  void share(Prompt& prompt);
  void start();
  void pass();
  void take_shared();
  void extend(const std::vector<std::pair<Active*, const float*>>& rows);
  void append(Active& active, const Draw& drawn);
  void hand_over();

  LocalBackend& backend_;
  Engine& engine_;
  const SamplingOptions& options_;
  const sampling::NextRequest& next_;
  const sampling::Done& done_;
  const tokenizer::TextStream no_text_;
  std::size_t budget_ = 0;  ///< most ids held; 0: no bound
  std::size_t held_ = 0;    ///< ids whose memory is spoken for
  bool ended_ = false;
  std::deque<std::shared_ptr<Prompt>> prompts_;
  std::vector<std::unique_ptr<Active>> active_;
  std::vector<float> logits_;
};

/// Fetches requests as long as their completions would find a place. False when there will be no more.
bool Run::pull() {
  while (!ended_) {
    std::size_t places = active_.size();
    for (const auto& prompt : prompts_) places += prompt->request.keys.size() - prompt->started;
    const bool idle = prompts_.empty() && active_.empty();
    if (places >= backend_.batch_ || !(idle || fits(completion_cost()))) return true;
    Request request;
    switch (next_(request)) {
      case Next::kRequest:
        accept(std::move(request));
        break;
      case Next::kEnd:
        ended_ = true;
        break;
      case Next::kLater:
        if (idle) throw Error("local model: the next request waits for a completion, but none is in work");
        return true;
    }
  }
  return false;
}

void Run::accept(Request request) {
  std::string error = backend_.bad_id(request.prompt_ids);
  if (request.prompt_ids.empty()) error = "the prompt has no ids";
  if (!error.empty() || options_.max_tokens <= 0) {
    for (std::size_t i = 0; i < request.keys.size(); ++i) {
      Completion completion;
      completion.tag = request.tag;
      completion.index = i;
      completion.prompt_ids = request.prompt_ids;
      completion.finish_reason = error.empty() ? "length" : "";
      completion.error = error;
      done_(std::move(completion));
    }
    return;
  }
  if (request.keys.empty()) return;
  held_ += request.prompt_ids.size() + kSlack;
  auto prompt = std::make_shared<Prompt>();
  prompt->request = std::move(request);
  share(*prompt);
  prompts_.push_back(std::move(prompt));
  take_shared();
}

/// Begins a prompt's sequence with the longest part of it that others in work begin with.
void Run::share(Prompt& prompt) {
  const std::vector<std::int64_t>& ids = prompt.request.prompt_ids;
  const auto common = [&](std::size_t from, const std::vector<std::int64_t>& other) {
    std::size_t n = from;
    while (n + 1 < ids.size() && n - from < other.size() && ids[n] == other[n - from]) ++n;
    return n;  // the last id is always computed: its logits are wanted
  };
  std::size_t best = kShared - 1;
  const Active* active = nullptr;
  for (const auto& other : active_) {
    std::size_t n = common(0, *other->prompt_ids);
    if (n == other->prompt_ids->size()) n = common(n, other->ids);
    n = std::min(n, other->prompt_ids->size() + other->ids.size() - 1);
    if (n > best) {
      best = n;
      active = other.get();
    }
  }
  for (const auto& other : prompts_) {
    const std::size_t n = common(0, other->request.prompt_ids);
    if (n > best) {
      best = prompt.shared = n;
      prompt.source = other;
    }
  }
  if (prompt.source) return;  // waits for it
  prompt.sequence = active == nullptr ? engine_.open() : engine_.branch(active->sequence, best);
  prompt.computed = active == nullptr ? 0 : best;
}

/// Begins completions of prompts that are computed, as many as there are places for.
void Run::start() {
  std::vector<std::pair<Active*, const float*>> rows;
  std::vector<std::shared_ptr<Prompt>> used;  // keeps their logits until the draws are made
  for (auto it = prompts_.begin(); it != prompts_.end();) {
    const std::shared_ptr<Prompt> prompt = *it;
    Request& request = prompt->request;
    if (prompt->logits.empty()) {
      ++it;
      continue;
    }
    auto ids = std::make_shared<const std::vector<std::int64_t>>(request.prompt_ids);
    while (prompt->started < request.keys.size() && active_.size() < backend_.batch_ &&
           (active_.empty() || fits(completion_cost()))) {
      held_ += completion_cost();
      const std::size_t index = prompt->started++;
      active_.push_back(
          std::make_unique<Active>(Active{request.tag,
                                          request.keys[index],
                                          index,
                                          ids,
                                          engine_.branch(prompt->sequence, request.prompt_ids.size()),
                                          {},
                                          {},
                                          no_text_,
                                          {}}));
      rows.emplace_back(active_.back().get(), prompt->logits.data());
    }
    if (prompt->started < request.keys.size()) break;
    engine_.close(prompt->sequence);
    held_ -= request.prompt_ids.size() + kSlack;
    used.push_back(prompt);
    it = prompts_.erase(it);
  }
  extend(rows);
  hand_over();
}

/// The next id of every completion and the next part of prompts, together.
void Run::pass() {
  std::vector<Engine::Chunk> chunks;
  for (const auto& active : active_) {
    chunks.push_back({active->sequence, {active->ids.back()}, Engine::Want::kLast});
  }
  std::size_t room = kRowsPerPass > chunks.size() ? kRowsPerPass - chunks.size() : 1;
  std::vector<Prompt*> finished;
  for (const auto& prompt : prompts_) {
    if (prompt->source) continue;
    const std::vector<std::int64_t>& ids = prompt->request.prompt_ids;
    const std::size_t count = std::min(room, ids.size() - prompt->computed);
    if (count == 0) continue;
    const auto from = ids.begin() + static_cast<std::ptrdiff_t>(prompt->computed);
    prompt->computed += count;
    room -= count;
    const bool last = prompt->computed == ids.size();
    if (last) finished.push_back(prompt.get());
    chunks.push_back({prompt->sequence,
                      {from, from + static_cast<std::ptrdiff_t>(count)},
                      last ? Engine::Want::kLast : Engine::Want::kNothing});
  }
  if (chunks.empty()) return;
  engine_.forward(chunks, logits_);
  const std::size_t stride = engine_.logits_stride();
  std::vector<std::pair<Active*, const float*>> rows;
  const float* row = logits_.data();
  for (const auto& active : active_) {
    rows.emplace_back(active.get(), row);
    row += stride;
  }
  for (Prompt* prompt : finished) {
    prompt->logits.assign(row, row + stride);
    row += stride;
  }
  take_shared();
  extend(rows);
  hand_over();
}

/// Prompts that waited for the beginning of another one get it. In order: a source is never behind.
void Run::take_shared() {
  for (const auto& prompt : prompts_) {
    if (!prompt->source || prompt->source->source || prompt->source->computed < prompt->shared) continue;
    prompt->sequence = engine_.branch(prompt->source->sequence, prompt->shared);
    prompt->computed = prompt->shared;
    prompt->source.reset();
  }
}

void Run::extend(const std::vector<std::pair<Active*, const float*>>& rows) {
  std::vector<Draw> drawn(rows.size());
  backend_.workers_.for_each(rows.size(), [&](std::size_t i) {
    const Active& active = *rows[i].first;
    drawn[i] = draw(rows[i].second, backend_.vocab_, options_, active.key, active.ids.size());
  });
  for (std::size_t i = 0; i < rows.size(); ++i) append(*rows[i].first, drawn[i]);
}

void Run::append(Active& active, const Draw& drawn) {
  active.ids.push_back(drawn.id);
  active.logprobs.push_back(drawn.logprob);
  const std::vector<std::int64_t>& ends = engine_.config().eos_ids;
  if (std::find(ends.begin(), ends.end(), drawn.id) != ends.end() || active.text.push(drawn.id)) {
    active.finish_reason = "stop";
  } else if (active.ids.size() == static_cast<std::size_t>(options_.max_tokens)) {
    active.finish_reason = "length";
  }
}

void Run::hand_over() {
  std::vector<std::unique_ptr<Active>> ended;
  for (auto& active : active_) {
    if (!active->finish_reason.empty()) ended.push_back(std::move(active));
  }
  active_.erase(std::remove(active_.begin(), active_.end(), nullptr), active_.end());
  for (const auto& active : ended) {
    engine_.close(active->sequence);
    held_ -= completion_cost();
  }
  for (const auto& active : ended) {
    Completion completion;
    completion.tag = active->tag;
    completion.index = active->index;
    completion.text = active->text.text();
    completion.prompt_ids = *active->prompt_ids;
    completion.ids = std::move(active->ids);
    completion.logprobs = std::move(active->logprobs);
    completion.finish_reason = active->finish_reason;
    done_(std::move(completion));
  }
}

void LocalBackend::run(const SamplingOptions& options, const sampling::NextRequest& next,
                       const sampling::Done& done) {
  Run(*this, options, next, done).all();
}

std::string LocalBackend::bad_id(const std::vector<std::int64_t>& ids) const {
  for (std::int64_t id : ids) {
    if (id < 0 || id >= static_cast<std::int64_t>(vocab_)) {
      return "id " + std::to_string(id) + " is not among the model's " + std::to_string(vocab_);
    }
  }
  return "";
}

std::vector<double> LocalBackend::score(const std::vector<std::int64_t>& prompt_ids,
                                        const std::vector<std::int64_t>& completion_ids, double temperature) {
  if (prompt_ids.empty()) throw RecordError("prompt_ids: has no ids");
  for (const auto& [name, ids] :
       {std::pair{"prompt_ids", &prompt_ids}, {"completion_ids", &completion_ids}}) {
    const std::string error = bad_id(*ids);
    if (!error.empty()) throw RecordError(std::string(name) + ": " + error);
  }
  const std::lock_guard lock(scoring_);
  struct Closer {
    Engine& engine;
    Engine::Sequence sequence;
    ~Closer() { engine.close(sequence); }
  } closer{*engine_, engine_->open()};
  const Engine::Sequence sequence = closer.sequence;
  std::vector<float> logits;
  // The last id predicts nothing that is asked for.
  std::vector<std::int64_t> ids = prompt_ids;
  ids.insert(ids.end(), completion_ids.begin(), completion_ids.end());
  std::vector<double> out(completion_ids.size());
  const std::size_t first = prompt_ids.size() - 1, end = ids.size() - 1;
  constexpr std::size_t kChunk = 64;  // rows of logits at a time
  for (std::size_t from = 0; from < end;) {
    const bool wanted = from >= first;
    const std::size_t to = wanted ? std::min(from + kChunk, end) : std::min(from + kRowsPerPass, first);
    const std::vector<std::int64_t> part(ids.begin() + static_cast<std::ptrdiff_t>(from),
                                         ids.begin() + static_cast<std::ptrdiff_t>(to));
    engine_->forward({{sequence, part, wanted ? Engine::Want::kAll : Engine::Want::kNothing}}, logits);
    if (wanted) {
      workers_.for_each(to - from, [&](std::size_t i) {
        out[from + i - first] =
            log_probability(&logits[i * engine_->logits_stride()], vocab_, temperature, ids[from + i + 1]);
      });
    }
    from = to;
  }
  return out;
}

}  // namespace

std::unique_ptr<sampling::Backend> make_local_backend(const sampling::LocalOptions& options) {
  return std::make_unique<LocalBackend>(options);
}

}  // namespace leap::model
