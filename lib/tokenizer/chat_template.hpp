/// A checkpoint's chat template: messages -> the text, and the ids, that its model was trained on.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "jsonl/json.hpp"
#include "tokenizer/tokenizer.hpp"

namespace leap::tokenizer {

/// Rendered text; `content` are the parts of it that come from the messages (roles that are plain words
/// excepted), not from the template.
struct Rendered {
  std::string text;
  std::vector<Span> content;
};

/// Immutable and cheap to copy; may be rendered by many threads at once.
class ChatTemplate {
 public:
  /// Reads `dir`/chat_template.jinja, else `chat_template` of `dir`/tokenizer_config.json (a string, or a
  /// list of named ones of which "default" is taken), and bos_token and eos_token of the latter. Throws Error
  /// when there is no template, or when it uses a statement that is not supported.
  static ChatTemplate load(const std::filesystem::path& dir);

  /// Is there a template that load() would find?
  static bool exists(const std::filesystem::path& dir);

  /// A template from its text. An empty token is undefined in the template, as a missing one is.
  static ChatTemplate from_text(std::string_view source, const std::string& bos_token,
                                const std::string& eos_token);

  /// The template of `messages` (an array of objects with role and content) as jinja2 renders it with
  /// trim_blocks and lstrip_blocks; its variables are messages, add_generation_prompt, bos_token and
  /// eos_token. Throws RecordError when the template rejects the messages (raise_exception, say), and Error
  /// naming the filter, test, method or function that it came to and that is not supported.
  Rendered render(const Json& messages, bool add_generation_prompt = true) const;

 private:
  struct Impl;
  explicit ChatTemplate(std::shared_ptr<const Impl> impl);
  std::shared_ptr<const Impl> impl_;
};

struct EncodedChat {
  std::string text;
  std::vector<std::int64_t> ids;
};

/// The rendered messages and their ids: special tokens that stand in the template are parsed, those typed in
/// a message are text, and no BOS is added to what the template has.
EncodedChat encode_chat(const Tokenizer& tokenizer, const ChatTemplate& chat_template, const Json& messages,
                        bool add_generation_prompt = true);

}  // namespace leap::tokenizer
