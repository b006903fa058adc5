#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "base/error.hpp"
#include "tokenizer/jinja.hpp"
#include "tokenizer/unicode.hpp"

namespace leap::tokenizer::jinja {
namespace {

void add_span(Text& to, Span span) {
  if (span.begin == span.end) return;
  if (!to.content.empty() && to.content.back().end == span.begin) {
    to.content.back().end = span.end;
  } else {
    to.content.push_back(span);
  }
}

/// Python's repr of a float.
std::string float_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[40];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr;
  const std::string text(buffer, end);
  const int exponent = std::atoi(text.c_str() + text.find('e') + 1);
  if (exponent < -4 || exponent >= 16) return text;
  const auto fixed = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed).ptr;
  std::string out(buffer, fixed);
  if (out.find('.') == std::string::npos) out += ".0";
  return out;
}

/// Numbers (bool counts) as doubles.
bool number(const Value& value, double& out) {
  if (const auto* b = value.get<bool>()) return out = *b ? 1 : 0, true;
  if (const auto* i = value.get<std::int64_t>()) return out = static_cast<double>(*i), true;
  if (const auto* d = value.get<double>()) return out = *d, true;
  return false;
}

std::string escaped(std::uint32_t c) {
  char buffer[16];
  std::snprintf(buffer, sizeof buffer, c < 0x100 ? "\\x%02x" : c < 0x10000 ? "\\u%04x" : "\\U%08x", c);
  return buffer;
}

std::string quoted(const std::string& text) {
  const bool single = text.find('\'') == std::string::npos || text.find('"') != std::string::npos;
  const char quote = single ? '\'' : '"';
  std::string out(1, quote);
  std::size_t length = 0;
  for (std::size_t i = 0; i < text.size(); i += length) {
    const std::uint32_t c = decode_char(text.data() + i, length);
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\\' || c == static_cast<std::uint32_t>(quote)) {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c < 0x20 || (c >= 0x7f && c <= 0xa0) || c == 0xad ||
               (c > 0x7f && (char_classes()[c] & kSpace) != 0)) {
      out += escaped(c);
    } else {
      out.append(text, i, length);
    }
  }
  out += quote;
  return out;
}

bool has_content(const Value& value) {
  if (const Text* text = value.text()) return !text->content.empty();
  if (const List* list = value.list())
    return std::any_of(list->items.begin(), list->items.end(), has_content);
  if (const Dict* dict = value.dict()) {
    return std::any_of(dict->items.begin(), dict->items.end(), [](const auto& item) {
      return !item.first.content.empty() || has_content(item.second);
    });
  }
  return false;
}

/// The depth of something that has `value` as a member.
int depth_around(const Value& value) {
  const List* list = value.list();
  const Dict* dict = value.dict();
  const int depth = list != nullptr ? list->depth : dict != nullptr ? dict->depth : 0;
  if (depth >= kMaxValueDepth) throw RecordError("chat template: a value is nested too deeply");
  if ((dict != nullptr && dict->kind != Dict::kPlain) || value.get<CallableRef>() != nullptr) {
    throw RecordError("chat template: a " + type_name(value) + " inside another value is not supported");
  }
  return depth + 1;
}

void repr(const Value& value, std::string& out) {
  if (const Text* text = value.text()) {
    out += quoted(text->bytes);
  } else if (const List* list = value.list()) {
    out += list->tuple ? '(' : '[';
    for (std::size_t i = 0; i < list->items.size(); ++i) {
      if (i > 0) out += ", ";
      repr(list->items[i], out);
    }
    if (list->tuple && list->items.size() == 1) out += ',';
    out += list->tuple ? ')' : ']';
  } else if (const Dict* dict = value.dict(); dict != nullptr && dict->kind == Dict::kPlain) {
    out += '{';
    for (std::size_t i = 0; i < dict->items.size(); ++i) {
      if (i > 0) out += ", ";
      out += quoted(dict->items[i].first.bytes);
      out += ": ";
      repr(dict->items[i].second, out);
    }
    out += '}';
  } else if (value.is_undefined()) {
    out += "Undefined";
  } else {
    out += to_text(value).bytes;
  }
}

std::string json_quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    constexpr std::string_view kFrom = "\"\\\n\r\t\b\f", kTo = "\"\\nrtbf";
    if (const std::size_t i = kFrom.find(c); i != std::string_view::npos) {
      out += '\\';
      out += kTo[i];
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char buffer[8];
      std::snprintf(buffer, sizeof buffer, "\\u%04x", static_cast<unsigned>(c));
      out += buffer;
    } else {
      out += c;
    }
  }
  return out + '"';
}

void json(const Value& value, int indent, int depth, std::string& out) {
  const auto separate = [&](std::size_t i, int level) {
    if (i > 0) out += indent < 0 ? ", " : ",";
    if (indent < 0) return;
    out += '\n';
    out.append(static_cast<std::size_t>(indent) * static_cast<std::size_t>(level), ' ');
  };
  if (const Text* text = value.text()) {
    out += json_quoted(text->bytes);
  } else if (const List* list = value.list()) {
    out += '[';
    for (std::size_t i = 0; i < list->items.size(); ++i) {
      separate(i, depth + 1);
      json(list->items[i], indent, depth + 1, out);
    }
    if (!list->items.empty() && indent >= 0) separate(0, depth);
    out += ']';
  } else if (const Dict* dict = value.dict(); dict != nullptr && dict->kind == Dict::kPlain) {
    out += '{';
    for (std::size_t i = 0; i < dict->items.size(); ++i) {
      separate(i, depth + 1);
      out += json_quoted(dict->items[i].first.bytes) + ": ";
      json(dict->items[i].second, indent, depth + 1, out);
    }
    if (!dict->items.empty() && indent >= 0) separate(0, depth);
    out += '}';
  } else if (value.is_none()) {
    out += "null";
  } else if (const auto* flag = value.get<bool>()) {
    out += *flag ? "true" : "false";
  } else if (const auto* real = value.get<double>(); real != nullptr && !std::isfinite(*real)) {
    out += std::isnan(*real) ? "NaN" : *real < 0 ? "-Infinity" : "Infinity";
  } else if (real != nullptr || value.get<std::int64_t>() != nullptr) {
    out += to_text(value).bytes;
  } else {
    throw RecordError("chat template: " + type_name(value) + " is not JSON serializable");
  }
}

}  // namespace

void append(Text& to, const Text& from) {
  const std::size_t base = to.bytes.size();
  to.bytes += from.bytes;
  for (const Span& span : from.content) add_span(to, {base + span.begin, base + span.end});
}

void append(Text& to, std::string_view from) {
  to.bytes += from;
}

Text part(const Text& text, std::size_t begin, std::size_t end) {
  Text out(text.bytes.substr(begin, end - begin));
  for (const Span& span : text.content) {
    const Span cut{std::max(span.begin, begin), std::min(span.end, end)};
    if (cut.begin < cut.end) add_span(out, {cut.begin - begin, cut.end - begin});
  }
  return out;
}

Value* Dict::find(std::string_view key) {
  for (auto& [name, value] : items) {
    if (name.bytes == key) return &value;
  }
  return nullptr;
}

Value::Value(List list) {
  for (const Value& item : list.items) list.depth = std::max(list.depth, depth_around(item));
  data = std::make_shared<List>(std::move(list));
}

Value::Value(Dict dict) {
  for (const auto& [key, item] : dict.items) dict.depth = std::max(dict.depth, depth_around(item));
  data = std::make_shared<Dict>(std::move(dict));
}

void Dict::set(Text key, Value value) {
  depth = std::max(depth, depth_around(value));
  if (Value* known = find(key.bytes)) {
    *known = std::move(value);
  } else {
    items.emplace_back(std::move(key), std::move(value));
  }
}

bool truth(const Value& value) {
  if (const auto* flag = value.get<bool>()) return *flag;
  if (const auto* integer = value.get<std::int64_t>()) return *integer != 0;
  if (const auto* real = value.get<double>()) return *real != 0;
  if (const Text* text = value.text()) return !text->bytes.empty();
  if (const List* list = value.list()) return !list->items.empty();
  if (const Dict* dict = value.dict()) return dict->kind != Dict::kPlain || !dict->items.empty();
  return value.get<CallableRef>() != nullptr;
}

bool equal(const Value& a, const Value& b) {
  const auto* left = a.get<std::int64_t>();
  const auto* right = b.get<std::int64_t>();
  if (left != nullptr && right != nullptr) return *left == *right;
  double x = 0, y = 0;
  if (number(a, x)) return number(b, y) && x == y;
  if (a.data.index() != b.data.index()) return false;
  if (a.text() != nullptr) return a.text()->bytes == b.text()->bytes;
  if (const List* list = a.list()) {
    const List* other = b.list();
    return list->tuple == other->tuple && std::equal(list->items.begin(), list->items.end(),
                                                     other->items.begin(), other->items.end(), equal);
  }
  if (Dict* dict = a.dict()) {
    Dict* other = b.dict();
    if (dict == other) return true;
    if (dict->kind != Dict::kPlain || other->kind != Dict::kPlain ||
        dict->items.size() != other->items.size())
      return false;
    return std::all_of(dict->items.begin(), dict->items.end(), [&](const auto& item) {
      const Value* found = other->find(item.first.bytes);
      return found != nullptr && equal(item.second, *found);
    });
  }
  if (const auto* callable = a.get<CallableRef>()) return *callable == *b.get<CallableRef>();
  return true;  // undefined and none equal their own kind
}

Text to_text(const Value& value) {
  if (const Text* text = value.text()) return *text;
  if (value.is_undefined()) return {};
  if (value.is_none()) return Text("None");
  if (const auto* flag = value.get<bool>()) return Text(*flag ? "True" : "False");
  if (const auto* integer = value.get<std::int64_t>()) return Text(std::to_string(*integer));
  if (const auto* real = value.get<double>()) return Text(float_text(*real));
  const Dict* dict = value.dict();
  if (value.list() != nullptr || (dict != nullptr && dict->kind == Dict::kPlain)) return to_repr(value);
  throw Error("chat template: the text of a " + type_name(value) + " is not supported");
}

Text to_repr(const Value& value) {
  std::string out;
  repr(value, out);
  return Text(std::move(out), has_content(value));
}

Text to_json(const Value& value, int indent) {
  std::string out;
  json(value, indent, 0, out);
  return Text(std::move(out), has_content(value));
}

std::string type_name(const Value& value) {
  if (value.is_undefined()) return "undefined value";
  if (value.is_none()) return "none";
  if (value.get<bool>() != nullptr) return "bool";
  if (value.get<std::int64_t>() != nullptr) return "int";
  if (value.get<double>() != nullptr) return "float";
  if (value.text() != nullptr) return "string";
  if (const List* list = value.list()) return list->tuple ? "tuple" : "list";
  if (const Dict* dict = value.dict()) {
    return dict->kind == Dict::kPlain ? "dict" : dict->kind == Dict::kLoop ? "loop" : "namespace";
  }
  return "function";
}

}  // namespace leap::tokenizer::jinja
