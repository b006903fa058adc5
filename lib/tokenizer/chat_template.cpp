#include "tokenizer/chat_template.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/text.hpp"
#include "tokenizer/jinja.hpp"

namespace leap::tokenizer {
namespace {

namespace fs = std::filesystem;

std::string read_text(const fs::path& path) {
  std::string text = read_file(path);
  if (!is_utf8(text)) throw Error(path.string() + ": not UTF-8");
  return text;
}

Json read_config(const fs::path& dir) {
  const fs::path path = dir / "tokenizer_config.json";
  if (!fs::exists(path)) return Json::object();
  try {
    Json config = Json::parse(read_text(path));
    if (config.is_object()) return config;
  } catch (const Json::exception& error) {
    throw Error(path.string() + ": " + error.what());
  }
  throw Error(path.string() + ": must be a JSON object");
}

/// The template's text of a tokenizer_config.json; false when there is none.
bool find_template(const Json& config, std::string& source) {
  const auto it = config.find("chat_template");
  if (it == config.end()) return false;
  if (it->is_string()) return source = it->get<std::string>(), true;
  if (!it->is_array()) return false;
  for (const Json& item : *it) {
    if (item.is_object() && item.value("name", "") == "default" && item.contains("template") &&
        item["template"].is_string()) {
      return source = item["template"].get<std::string>(), true;
    }
  }
  return false;
}

/// A special token of a tokenizer_config.json: a string, or an object with its content.
std::string token_text(const Json& config, const char* name) {
  const auto it = config.find(name);
  if (it == config.end()) return {};
  if (it->is_string()) return it->get<std::string>();
  if (it->is_object() && it->contains("content") && (*it)["content"].is_string())
    return (*it)["content"].get<std::string>();
  return {};
}

/// Is this the name of a role? Templates put it into their tokens: '<|' + role + '|>'.
bool is_role(const std::string& key, const Json& value) {
  if (key != "role" || !value.is_string()) return false;
  const auto& name = value.get_ref<const std::string&>();
  return std::all_of(name.begin(), name.end(), [](char c) { return c == '_' || (c >= 'a' && c <= 'z'); });
}

/// A value of the messages: all its text but the roles is content.
jinja::Value to_value(const Json& json) {
  if (jsonl::is_raw(json)) {
    Json parsed = json;
    jsonl::expand(parsed);
    if (jsonl::is_raw(parsed)) throw RecordError("messages: an integer beyond 64 bits");
    return to_value(parsed);
  }
  switch (json.type()) {
    case Json::value_t::null:
      return jinja::None{};
    case Json::value_t::boolean:
      return json.get<bool>();
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned:
      if (json.is_number_unsigned() && json.get<std::uint64_t>() > INT64_MAX) {
        throw RecordError("messages: an integer beyond 64 bits");
      }
      return json.get<std::int64_t>();
    case Json::value_t::number_float:
      return json.get<double>();
    case Json::value_t::string:
      return jinja::Text(json.get<std::string>(), true);
    case Json::value_t::array: {
      jinja::List list;
      for (const Json& item : json) list.items.push_back(to_value(item));
      return list;
    }
    case Json::value_t::object: {
      jinja::Dict dict;
      for (const auto& [key, item] : json.items()) {
        jinja::Value value = is_role(key, item) ? jinja::Text(item.get<std::string>()) : to_value(item);
        dict.items.emplace_back(jinja::Text(key, true), std::move(value));
      }
      return dict;
    }
    default:
      throw RecordError("messages: a value that is no JSON");
  }
}

}  // namespace

struct ChatTemplate::Impl {
  jinja::Template program;
  std::string bos_token, eos_token;
};

ChatTemplate::ChatTemplate(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

bool ChatTemplate::exists(const fs::path& dir) {
  std::string source;
  return fs::exists(dir / "chat_template.jinja") || find_template(read_config(dir), source);
}

ChatTemplate ChatTemplate::load(const fs::path& dir) {
  const Json config = read_config(dir);
  std::string source;
  fs::path path = dir / "chat_template.jinja";
  if (fs::exists(path)) {
    source = read_text(path);
  } else if (find_template(config, source)) {
    path = dir / "tokenizer_config.json";
  } else {
    throw Error(dir.string() +
                ": no chat template (chat_template.jinja, or chat_template in tokenizer_config.json); give "
                "the problems "
                "string prompts, or add the template that the model was trained with");
  }
  try {
    return from_text(source, token_text(config, "bos_token"), token_text(config, "eos_token"));
  } catch (const Error& error) {
    throw Error(path.string() + ": " + error.what());
  }
}

ChatTemplate ChatTemplate::from_text(std::string_view source, const std::string& bos_token,
                                     const std::string& eos_token) {
  if (!is_utf8(source)) throw Error("chat template: not UTF-8");
  return ChatTemplate(std::make_shared<const Impl>(Impl{jinja::Template(source), bos_token, eos_token}));
}

Rendered ChatTemplate::render(const Json& messages, bool add_generation_prompt) const {
  if (!messages.is_array()) throw RecordError("messages: must be an array of {\"role\", \"content\"}");
  std::vector<std::pair<std::string, jinja::Value>> variables;
  variables.emplace_back("messages", to_value(messages));
  variables.emplace_back("add_generation_prompt", add_generation_prompt);
  if (!impl_->bos_token.empty()) variables.emplace_back("bos_token", jinja::Text(impl_->bos_token));
  if (!impl_->eos_token.empty()) variables.emplace_back("eos_token", jinja::Text(impl_->eos_token));
  jinja::Text text = impl_->program.render(std::move(variables));
  return {std::move(text.bytes), std::move(text.content)};
}

EncodedChat encode_chat(const Tokenizer& tokenizer, const ChatTemplate& chat_template, const Json& messages,
                        bool add_generation_prompt) {
  Rendered rendered = chat_template.render(messages, add_generation_prompt);
  std::vector<std::int64_t> ids = tokenizer.encode_with_content(rendered.text, rendered.content);
  return {std::move(rendered.text), std::move(ids)};
}

}  // namespace leap::tokenizer
