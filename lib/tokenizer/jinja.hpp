/// The part of Jinja that chat templates use. A template is hostile input: its nesting, its work and the size
/// of what it makes are bounded, and whatever is not supported is refused by name.
///
/// Every text carries which of its bytes come from the messages (`content`), through all that a template does
/// with it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tokenizer/tokenizer.hpp"

namespace leap::tokenizer::jinja {

struct Text {
  std::string bytes;
  std::vector<Span> content;  ///< ascending, neither touching nor empty

  Text() = default;
  explicit Text(std::string text, bool is_content = false) : bytes(std::move(text)) {
    if (is_content && !bytes.empty()) content.push_back({0, bytes.size()});
  }
};

void append(Text& to, const Text& from);
void append(Text& to, std::string_view from);  ///< no content
Text part(const Text& text, std::size_t begin, std::size_t end);

struct Value;
struct Callable;

struct Undefined {
  std::string name;
};
struct None {};
struct List {
  std::vector<Value> items;
  bool tuple = false;
  int depth = 1;  ///< of nesting
};
struct Dict {
  enum Kind { kPlain, kNamespace, kLoop };
  Kind kind = kPlain;
  int depth = 1;
  std::vector<std::pair<Text, Value>> items;

  Value* find(std::string_view key);
  void set(Text key, Value value);  ///< throws as Value(Dict) does
};

using TextRef = std::shared_ptr<const Text>;
using ListRef = std::shared_ptr<List>;
using DictRef = std::shared_ptr<Dict>;
using CallableRef = std::shared_ptr<const Callable>;

struct Value {
  using Variant =
      std::variant<Undefined, None, bool, std::int64_t, double, TextRef, ListRef, DictRef, CallableRef>;
  Variant data;

  Value() = default;
  Value(None none) : data(none) {}
  Value(bool value) : data(value) {}
  Value(std::int64_t value) : data(value) {}
  Value(double value) : data(value) {}
  Value(Text text) : data(std::make_shared<const Text>(std::move(text))) {}
  /// Throw RecordError when the nesting passes kMaxValueDepth, or when a namespace, loop or function is to be
  /// a member: so no value can be a part of itself.
  Value(List list);
  Value(Dict dict);
  Value(CallableRef callable) : data(std::move(callable)) {}
  static Value undefined(std::string name) {
    Value out;
    std::get<Undefined>(out.data).name = std::move(name);
    return out;
  }

  template <typename T>
  const T* get() const {
    return std::get_if<T>(&data);
  }
  const Text* text() const { return get<TextRef>() ? get<TextRef>()->get() : nullptr; }
  const List* list() const { return get<ListRef>() ? get<ListRef>()->get() : nullptr; }
  Dict* dict() const { return get<DictRef>() ? get<DictRef>()->get() : nullptr; }
  bool is_undefined() const { return get<Undefined>() != nullptr; }
  bool is_none() const { return get<None>() != nullptr; }
};

struct Macro;
/// A macro, a function, or a method bound to its object.
struct Callable {
  std::string name;
  const Macro* macro = nullptr;
  Value object;  ///< of a method; undefined for functions
  bool method = false;
};

inline constexpr int kMaxValueDepth = 700;

bool truth(const Value& value);
/// Python's ==.
bool equal(const Value& a, const Value& b);
/// Python's str() and repr().
Text to_text(const Value& value);
Text to_repr(const Value& value);
/// json.dumps(value, ensure_ascii=False, indent=indent); no indent when negative.
Text to_json(const Value& value, int indent);
std::string type_name(const Value& value);

struct Program;

class Template {
 public:
  /// Throws Error that names the line and what is wrong or not supported.
  explicit Template(std::string_view source);

  /// Throws RecordError when the template raises an exception or fails on these variables, Error when it
  /// comes to something that is not supported.
  Text render(std::vector<std::pair<std::string, Value>> variables) const;

 private:
  std::shared_ptr<const Program> program_;
};

}  // namespace leap::tokenizer::jinja
