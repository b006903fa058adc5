#include "training/text_encoder.hpp"

#include <optional>

#include "base/error.hpp"
#include "tokenizer/chat_template.hpp"
#include "tokenizer/tokenizer.hpp"

namespace leap::training {
namespace {

class ModelTextEncoder : public TextEncoder {
 public:
  ModelTextEncoder(std::string dir, const model::ModelConfig& config)
      : dir_(std::move(dir)), end_ids_(config.eos_ids) {}

  std::vector<std::int64_t> prompt(const Json& record) override {
    const auto ids = record.find("prompt_ids");
    if (ids != record.end() && !ids->is_null()) return jsonl::integers(*ids);
    const auto prompt = record.find("prompt");
    if (prompt != record.end() && prompt->is_string()) {
      return tokenizer().encode(prompt->get_ref<const std::string&>());
    }
    if (prompt == record.end() || !prompt->is_array())
      throw RecordError("prompt: must be a string or a list of messages");
    if (!template_) template_ = tokenizer::ChatTemplate::load(dir_);
    return tokenizer::encode_chat(tokenizer(), *template_, *prompt).ids;
  }

  std::vector<std::int64_t> completion(const std::string& text) override {
    if (end_ids_.empty())
      throw Error(dir_ + ": the configuration has no eos_token_id to end a solution with");
    std::vector<std::int64_t> ids = tokenizer().encode(text, /*add_special=*/false);
    ids.push_back(end_ids_.front());
    return ids;
  }

 private:
  const tokenizer::Tokenizer& tokenizer() {
    if (!tokenizer_) tokenizer_ = tokenizer::Tokenizer::load(dir_);
    return *tokenizer_;
  }

  std::string dir_;
  std::vector<std::int64_t> end_ids_;
  std::optional<tokenizer::Tokenizer> tokenizer_;
  std::optional<tokenizer::ChatTemplate> template_;
};

}  // namespace

std::unique_ptr<TextEncoder> make_text_encoder(const std::string& dir, const model::ModelConfig& config) {
  return std::make_unique<ModelTextEncoder>(dir, config);
}

}  // namespace leap::training
