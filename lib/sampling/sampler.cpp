#include "sampling/sampler.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/interrupt.hpp"
#include "jsonl/lines.hpp"
#include "records/records.hpp"
#include "sampling/plan.hpp"

namespace leap::sampling {
namespace {

/// Finished lines that wait for an earlier one take at most this much memory.
constexpr std::size_t kMaxWaitingBytes = std::size_t{256} << 20;

struct Line {
  std::string text;
  std::string name;  ///< for messages
  Json record;
  Plan plan;
  std::vector<std::vector<Completion>> results;  ///< [request][key]
  std::size_t outstanding = 0;
  std::string error;
};

/// Where the completions of a request go.
struct Place {
  std::uint64_t line;
  std::size_t request;
};

class Sampler {
 public:
  Sampler(cli::Tool& tool, const cli::StreamOptions& stream, const SamplerOptions& options)
      : tool_(tool),
        stream_(stream),
        options_(options),
        output_(stream, [&options](const Json& record) { return !wants(record, options.stage.stage); }),
        reader_(stream.files),
        progress_(tool, stream),
        order_([this](std::string text) {
          waiting_bytes_ -= text.size();
          output_.write(text);
        }) {}

  SampleTotals run(const std::function<std::unique_ptr<Backend>()>& make_backend) {
    // The backend is made when there is something for it to do.
    Request first;
    if (next(first) == Next::kRequest) {
      backend_ = make_backend();
      start_ = std::chrono::steady_clock::now();
      bool handed = false;
      backend_->run(
          options_.sampling,
          [&](Request& request) {
            if (handed) return next(request);
            handed = true;
            request = std::move(first);
            return Next::kRequest;
          },
          [&](Completion completion) { done(std::move(completion)); });
      totals_.seconds = seconds();
      backend_.reset();
    }
    if (!stop_.empty()) throw Error(stop_);
    if (interrupted() == 0) {
      if (!lines_.empty()) throw Error("the backend ended before its work was done");
      output_.check_all_found();
    }
    return totals_;
  }

 private:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

  Next next(Request& request) {
    const auto window = static_cast<std::size_t>(stream_.jobs > 0 ? stream_.jobs : kWindow);
    while (requests_.empty()) {
      if (options_.deterministic && !lines_.empty()) return Next::kLater;
      if (interrupted() != 0 || !stop_.empty()) return Next::kEnd;
      if (!lines_.empty() && (lines_.size() + order_.waiting() >= window ||
                              waiting_bytes_ > kMaxWaitingBytes || !reader_.ready()))
        return Next::kLater;
      try {
        jsonl::Batch batch;
        if (!reader_.next(batch, 1 << 18, 1)) return Next::kEnd;
        admit(batch);
      } catch (const Error& e) {
        stop_ = e.what();  // what is in work is finished first
        return Next::kEnd;
      }
    }
    request = std::move(requests_.front());
    requests_.pop_front();
    return Next::kRequest;
  }

  /// Takes on a line: queues its requests, or writes it where there is nothing to do.
  void admit(const jsonl::Batch& batch) {
    const std::string_view text = batch.lines[0];
    if (output_.done_before(text, false)) return;
    ++totals_.records;
    input_bytes_ += batch.buffer.size();
    const std::string name = jsonl::line_name(batch.file, batch.first);
    Line line;
    line.text = text;
    line.name = name;
    try {
      line.record = jsonl::parse_record(text);
      records::check_version(line.record);
      if (wants(line.record, options_.stage.stage)) {
        if (!prompts_) prompts_.emplace(options_.prompts);
        line.plan =
            plan_of(line.record, options_.stage, options_.rollouts, options_.sampling.seed, *prompts_);
      }
    } catch (const RecordError& e) {
      if (!stream_.keep_going) throw Error(name + ": " + e.what());
      line.error = e.what();
    }
    const std::uint64_t number = admitted_++;
    if (line.plan.requests.empty()) {
      finish(number, std::move(line));
      return;
    }
    for (std::size_t i = 0; i < line.plan.requests.size(); ++i) {
      Request& request = line.plan.requests[i];
      request.tag = next_tag_++;
      places_[request.tag] = {number, i};
      line.results.emplace_back(request.keys.size());
      line.outstanding += request.keys.size();
      if (!request.prompt_ids.empty())
        totals_.prompt_tokens += request.prompt_ids.size() * request.keys.size();
      // The prompt is kept for the turn's prompt_ids.
      requests_.push_back(request);
    }
    lines_.emplace(number, std::move(line));
  }

  void done(Completion completion) {
    const auto place = places_.at(completion.tag);
    Line& line = lines_.at(place.line);
    if (!completion.error.empty() && line.error.empty()) line.error = completion.error;
    totals_.completion_tokens += completion.ids.size();
    const std::size_t index = completion.index;
    line.results[place.request].at(index) = std::move(completion);
    if (--line.outstanding > 0) return;
    for (const Request& request : line.plan.requests) places_.erase(request.tag);
    Line whole = std::move(line);
    lines_.erase(place.line);
    if (whole.error.empty()) complete(whole);
    // Given up because of a signal: the line stays undone.
    if (!whole.error.empty() && interrupted() != 0) return;
    if (!whole.error.empty() && !stream_.keep_going) {
      if (stop_.empty()) stop_ = whole.name + ": " + whole.error;
      return;
    }
    finish(place.line, std::move(whole));
  }

  /// Puts the turns into the line's record.
  void complete(Line& line) {
    std::vector<std::vector<Json>> turns(line.results.size());
    try {
      for (std::size_t r = 0; r < turns.size(); ++r) {
        const Request& request = line.plan.requests[r];
        const auto& results = line.results[r];
        for (const Completion& result : results) {
          turns[r].push_back(turn_of(request, result));
          ++totals_.turns;
          totals_.stopped += result.finish_reason == "stop" ? 1 : 0;
        }
        if (results.size() < 2) continue;
        ++totals_.groups;
        const bool same = std::all_of(results.begin(), results.end(),
                                      [&](const Completion& other) { return other.text == results[0].text; });
        totals_.identical += same ? 1 : 0;
      }
      line.plan.attach(line.record, std::move(turns));
    } catch (const RecordError& e) {
      line.error = e.what();
    }
  }

  Json turn_of(const Request& request, const Completion& result) const {
    const SamplingOptions& options = options_.sampling;
    Json turn = {{"completion", result.text}};
    const auto& prompt = request.prompt_ids.empty() ? result.prompt_ids : request.prompt_ids;
    if (!prompt.empty()) turn["prompt_ids"] = jsonl::raw_ids(prompt);
    if (!result.ids.empty()) turn["completion_ids"] = jsonl::raw_ids(result.ids);
    if (!result.logprobs.empty()) turn["logprobs"] = jsonl::raw_logprobs(result.logprobs);
    turn["finish_reason"] = result.finish_reason;
    Json& sampling = turn["sampling"];
    sampling = {{"model", backend_->model_name()},
                {"weight_version", backend_->weight_version()},
                {"temperature", options.temperature},
                {"top_p", options.top_p},
                {"top_k", options.top_k},
                {"max_tokens", options.max_tokens},
                {"seed", options.seed}};
    if (!options.stop.empty()) sampling["stop"] = options.stop;
    if (!result.logprobs.empty()) sampling["logprobs_mode"] = backend_->logprobs_mode();
    return turn;
  }

  /// Hands a line to the output: as it was when it has an error or nothing to do.
  void finish(std::uint64_t number, Line line) {
    std::string text = std::move(line.text);
    const bool changed = !line.plan.requests.empty() && line.error.empty();
    if (changed) {
      text.clear();
      jsonl::dump_to(text, line.record);
    }
    if (!line.error.empty()) tool_.report_failed(line.name, line.error);
    text.push_back('\n');
    if (stream_.unordered) {
      output_.write(text);
    } else {
      waiting_bytes_ += text.size();
      order_.put(number, std::move(text));
    }
    ++finished_;
    char note[48] = "";
    if (totals_.completion_tokens > 0) {
      std::snprintf(note, sizeof note, "%.0f tokens/s",
                    static_cast<double>(totals_.completion_tokens) / std::max(1e-3, seconds()));
    }
    progress_.update(finished_, input_bytes_, reader_.bytes_total(), note);
  }

  cli::Tool& tool_;
  const cli::StreamOptions& stream_;
  const SamplerOptions& options_;
  cli::Output output_;
  jsonl::LineReader reader_;
  cli::Progress progress_;
  std::optional<Prompts> prompts_;
  std::unique_ptr<Backend> backend_;

  std::deque<Request> requests_;  // of the line read last
  std::unordered_map<std::uint64_t, Line> lines_;
  std::unordered_map<std::uint64_t, Place> places_;
  jsonl::Reorder order_;
  std::size_t waiting_bytes_ = 0;
  std::uint64_t admitted_ = 0, finished_ = 0, next_tag_ = 0, input_bytes_ = 0;
  std::string stop_;  // why no more lines are read
  SampleTotals totals_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace

Json SampleTotals::json() const {
  Json out = {{"turns", turns},
              {"finish_stop", stopped},
              {"finish_length", turns - stopped},
              {"prompt_tokens", prompt_tokens},
              {"completion_tokens", completion_tokens},
              {"groups", groups},
              {"identical_groups", identical}};
  out["measured"] = {{"sampling_s", seconds},
                     {"tokens_per_s", seconds > 0 ? static_cast<double>(completion_tokens) / seconds : 0.0}};
  return out;
}

SampleTotals sample(cli::Tool& tool, const cli::StreamOptions& stream, const SamplerOptions& options,
                    const std::function<std::unique_ptr<Backend>()>& make_backend) {
  cli::require_input(stream);
  SampleTotals totals = Sampler(tool, stream, options).run(make_backend);
  if (options.sampling.temperature > 0 && totals.groups >= 3 && totals.identical == totals.groups)
    tool.warn("all completions of each group are the same; the server may draw them with one seed");
  return totals;
}

}  // namespace leap::sampling
