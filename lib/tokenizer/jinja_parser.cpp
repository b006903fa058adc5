#include <cctype>
#include <charconv>
#include <cstdlib>
#include <utility>

#include "base/error.hpp"
#include "tokenizer/jinja_ast.hpp"
#include "tokenizer/unicode.hpp"

namespace leap::tokenizer::jinja {
namespace {

struct Token {
  enum Kind {
    kData,
    kVariableBegin,
    kVariableEnd,
    kBlockBegin,
    kBlockEnd,
    kName,
    kString,
    kInt,
    kFloat,
    kOp,
    kEnd
  };
  Kind kind = kEnd;
  std::string text;
  int line = 0;
};

[[noreturn]] void fail(int line, const std::string& what) {
  throw Error("chat template, line " + std::to_string(line) + ": " + what);
}

bool is_space(const char* p) {
  std::size_t length = 0;
  const std::uint32_t c = decode_char(p, length);
  return (char_classes()[c] & kSpace) != 0 || (c >= 0x1c && c <= 0x1f);
}

/// Splits a template as jinja2's lexer does with trim_blocks and lstrip_blocks, no trailing newline kept.
class Lexer {
 public:
  explicit Lexer(std::string_view source) {
    for (std::size_t i = 0; i < source.size(); ++i) {
      if (source[i] == '\r') {
        in_ += '\n';
        if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
      } else {
        in_ += source[i];
      }
    }
    if (!in_.empty() && in_.back() == '\n') in_.pop_back();
  }

  std::vector<Token> run() {
    while (at_ < in_.size()) root();
    push(Token::kEnd, "");
    return std::move(tokens_);
  }

 private:
  bool looking_at(std::string_view text) const { return in_.compare(at_, text.size(), text) == 0; }

  void push(Token::Kind kind, std::string text) { tokens_.push_back({kind, std::move(text), line_}); }

  void advance(std::size_t to) {
    for (; at_ < to; ++at_) line_ += in_[at_] == '\n';
  }

  void skip_space() {
    std::size_t to = at_;
    while (to < in_.size() && is_space(in_.data() + to)) {
      std::size_t length = 0;
      decode_char(in_.data() + to, length);
      to += length;
    }
    advance(to);
  }

  /// Text up to the next tag, and the tag.
  void root() {
    std::size_t tag = at_;
    do {
      tag = in_.find('{', tag);
      if (tag == std::string::npos || tag + 1 >= in_.size()) tag = in_.size();
    } while (tag < in_.size() && in_[tag + 1] != '{' && in_[tag + 1] != '%' && in_[tag + 1] != '#' && ++tag);
    std::string data = in_.substr(at_, tag - at_);
    if (tag == in_.size()) {
      push(Token::kData, std::move(data));
      return advance(tag);
    }
    const char type = in_[tag + 1];
    const char sign = tag + 2 < in_.size() ? in_[tag + 2] : ' ';
    const bool strip = sign == '-';
    if (strip) {
      strip_right(data);
    } else if (sign != '+' && type != '{') {
      lstrip(data);
    }
    if (!data.empty()) push(Token::kData, std::move(data));
    advance(tag + 2 + (sign == '-' || sign == '+' ? 1 : 0));
    line_starting_ = false;
    if (type == '#') {
      comment();
    } else if (type == '{') {
      push(Token::kVariableBegin, "");
      expression("}}");
    } else if (!raw()) {
      push(Token::kBlockBegin, "");
      expression("%}");
    }
  }

  static void strip_right(std::string& data) {
    const char* const begin = data.data();
    const char* end = begin + data.size();
    while (end != begin && is_space(char_before(end))) end = char_before(end);
    data.resize(static_cast<std::size_t>(end - begin));
  }

  /// lstrip_blocks: blanks between the start of the line and the tag go.
  void lstrip(std::string& data) const {
    const std::size_t start = data.rfind('\n') + 1;  // npos + 1 is 0
    if (start == 0 && !line_starting_) return;
    std::string rest = data.substr(start);
    strip_right(rest);
    if (rest.empty()) data.resize(start);
  }

  /// The end of a tag at `at_`: `closer` with a sign before it, or null length. Consumes what goes with it.
  bool tag_end(std::string_view closer) {
    const bool minus = in_[at_] == '-', plus = in_[at_] == '+';
    const std::size_t sign = minus || plus ? 1 : 0;
    if (in_.compare(at_ + sign, closer.size(), closer) != 0) return false;
    if (plus && closer == "}}") return false;
    advance(at_ + sign + closer.size());
    if (minus) {
      const std::size_t before = at_;
      skip_space();
      line_starting_ = at_ > before && in_[at_ - 1] == '\n';
    } else if (!plus && closer != "}}" && at_ < in_.size() && in_[at_] == '\n') {
      advance(at_ + 1);
      line_starting_ = true;
    }
    return true;
  }

  void comment() {
    const int line = line_;
    const std::size_t end = in_.find("#}", at_);
    if (end == std::string::npos) fail(line, "a comment is not closed");
    const bool sign = end > at_ && (in_[end - 1] == '-' || in_[end - 1] == '+');
    advance(sign ? end - 1 : end);
    tag_end("#}");
  }

  /// {% raw %} .. {% endraw %}
  bool raw() {
    std::size_t p = at_;
    const auto blanks = [&] {
      while (p < in_.size() && is_space(in_.data() + p)) ++p;
    };
    const auto word = [&](std::string_view name) {
      blanks();
      if (in_.compare(p, name.size(), name) != 0) return false;
      p += name.size();
      blanks();
      return in_.compare(p, 2, "%}") == 0 || in_.compare(p, 3, "-%}") == 0 || in_.compare(p, 3, "+%}") == 0;
    };
    if (!word("raw")) return false;
    const int line = line_;
    const bool minus = in_[p] == '-';
    advance(p + (in_[p] == '%' ? 2 : 3));
    if (minus) skip_space();
    for (std::size_t tag = at_; (tag = in_.find("{%", tag)) != std::string::npos; tag += 2) {
      p = tag + 2;
      const char sign = p < in_.size() ? in_[p] : ' ';
      if (sign == '-' || sign == '+') ++p;
      if (!word("endraw")) continue;
      std::string data = in_.substr(at_, tag - at_);
      if (sign == '-') {
        strip_right(data);
      } else if (sign != '+') {
        lstrip(data);
      }
      if (!data.empty()) push(Token::kData, std::move(data));
      advance(p);
      tag_end("%}");
      return true;
    }
    fail(line, "raw is not closed");
  }

  void expression(std::string_view closer) {
    const int line = line_;
    std::string open;  // the closers of open brackets
    while (true) {
      skip_space();
      if (at_ >= in_.size()) fail(line, "a tag is not closed");
      if (open.empty()) {
        const int end_line = line_;
        if (tag_end(closer)) {
          tokens_.push_back({closer == "}}" ? Token::kVariableEnd : Token::kBlockEnd, "", end_line});
          return;
        }
      }
      const char c = in_[at_];
      if (std::isdigit(static_cast<unsigned char>(c))) {
        number();
      } else if (std::isalpha(static_cast<unsigned char>(c)) || c == '_') {
        std::size_t to = at_;
        while (to < in_.size() && (std::isalnum(static_cast<unsigned char>(in_[to])) || in_[to] == '_')) ++to;
        push(Token::kName, in_.substr(at_, to - at_));
        advance(to);
      } else if (c == '"' || c == '\'') {
        string(c);
      } else {
        op(open);
      }
    }
  }

  void number() {
    std::size_t to = at_;
    const auto digits = [&] {
      while (to < in_.size() && (std::isdigit(static_cast<unsigned char>(in_[to])) || in_[to] == '_')) ++to;
    };
    digits();
    bool real = false;
    if (to + 1 < in_.size() && in_[to] == '.' && std::isdigit(static_cast<unsigned char>(in_[to + 1]))) {
      real = true;
      ++to;
      digits();
    }
    if (to < in_.size() && (in_[to] == 'e' || in_[to] == 'E')) {
      std::size_t exponent = to + 1;
      if (exponent < in_.size() && (in_[exponent] == '+' || in_[exponent] == '-')) ++exponent;
      if (exponent < in_.size() && std::isdigit(static_cast<unsigned char>(in_[exponent]))) {
        real = true;
        to = exponent;
        digits();
      }
    }
    std::string text;
    for (std::size_t i = at_; i < to; ++i) {
      if (in_[i] != '_') text += in_[i];
    }
    if (to < in_.size() && (std::isalpha(static_cast<unsigned char>(in_[to])) || in_[to] == '_')) {
      fail(line_, "the number " + in_.substr(at_, to + 1 - at_) + " is not supported");
    }
    push(real ? Token::kFloat : Token::kInt, std::move(text));
    advance(to);
  }

  /// Python's escapes in a string literal.
  void string(char quote) {
    const int line = line_;
    std::string out;
    std::size_t p = at_ + 1;
    const auto hex = [&](std::size_t digits) {
      if (p + digits > in_.size()) fail(line, "a string is not closed");
      std::uint32_t c = 0;
      const char* const begin = in_.data() + p;
      const auto result = std::from_chars(begin, begin + digits, c, 16);
      if (result.ptr != begin + digits) fail(line, "a wrong escape in a string");
      if (c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff)) fail(line, "an escape in a string is no character");
      append_char(out, c);
      p += digits;
    };
    for (; p < in_.size() && in_[p] != quote;) {
      if (in_[p] != '\\') {
        out += in_[p++];
        continue;
      }
      if (++p >= in_.size()) break;
      const char c = in_[p++];
      constexpr std::string_view kFrom = "\\'\"abfnrtv", kTo = "\\'\"\a\b\f\n\r\t\v";
      if (const std::size_t i = kFrom.find(c); i != std::string_view::npos) {
        out += kTo[i];
      } else if (c == 'x') {
        hex(2);
      } else if (c == 'u') {
        hex(4);
      } else if (c == 'U') {
        hex(8);
      } else if (c >= '0' && c <= '7') {
        std::uint32_t value = static_cast<std::uint32_t>(c - '0');
        for (int n = 0; n < 2 && p < in_.size() && in_[p] >= '0' && in_[p] <= '7'; ++n) {
          value = value * 8 + static_cast<std::uint32_t>(in_[p++] - '0');
        }
        append_char(out, value);
      } else if (c == 'N') {
        fail(line, "\\N in a string is not supported");
      } else if (c != '\n') {
        out += '\\';
        out += c;
      }
    }
    if (p >= in_.size()) fail(line, "a string is not closed");
    push(Token::kString, std::move(out));
    advance(p + 1);
  }

  void op(std::string& open) {
    for (const char* two : {"//", "**", "==", "!=", ">=", "<="}) {
      if (looking_at(two)) {
        push(Token::kOp, two);
        return advance(at_ + 2);
      }
    }
    const char c = in_[at_];
    if (std::string_view("+-/*%~[](){}><=.:|,").find(c) == std::string_view::npos) {
      fail(line_, std::string("unexpected '") + c + "'");
    }
    if (c == '(') open += ')';
    if (c == '[') open += ']';
    if (c == '{') open += '}';
    if (c == ')' || c == ']' || c == '}') {
      if (open.empty() || open.back() != c) fail(line_, std::string("unexpected '") + c + "'");
      open.pop_back();
    }
    push(Token::kOp, std::string(1, c));
    advance(at_ + 1);
  }

  std::string in_;
  std::size_t at_ = 0;
  int line_ = 1;
  bool line_starting_ = true;
  std::vector<Token> tokens_;
};

class Parser {
 public:
  explicit Parser(std::string_view source) : tokens_(Lexer(source).run()) {}

  Program run() {
    Program program;
    program.body = body({});
    if (now().kind != Token::kEnd) fail(now().line, "unexpected " + describe(now()));
    return program;
  }

 private:
  const Token& now() const { return tokens_[at_]; }
  const Token& peek() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  bool is_op(std::string_view op) const { return now().kind == Token::kOp && now().text == op; }
  bool is_name(std::string_view name) const { return now().kind == Token::kName && now().text == name; }

  static std::string describe(const Token& token) {
    switch (token.kind) {
      case Token::kEnd:
        return "end of template";
      case Token::kData:
        return "text";
      case Token::kVariableBegin:
        return "'{{'";
      case Token::kVariableEnd:
        return "'}}'";
      case Token::kBlockBegin:
        return "'{%'";
      case Token::kBlockEnd:
        return "'%}'";
      default:
        return "'" + token.text + "'";
    }
  }

  Token take() { return tokens_[at_ == tokens_.size() - 1 ? at_ : at_++]; }
  bool skip_op(std::string_view op) { return is_op(op) && (++at_, true); }
  bool skip_name(std::string_view name) { return is_name(name) && (++at_, true); }
  void expect_op(std::string_view op) {
    if (!skip_op(op)) fail(now().line, "expected '" + std::string(op) + "', not " + describe(now()));
  }
  void expect_end() {
    if (now().kind != Token::kBlockEnd) fail(now().line, "expected '%}', not " + describe(now()));
    ++at_;
  }
  std::string expect_name() {
    if (now().kind != Token::kName) fail(now().line, "expected a name, not " + describe(now()));
    return take().text;
  }

  /// Statements up to a block that begins with one of `ends` (that name is left for the caller) or the end.
  Body body(const std::vector<std::string>& ends) {
    if (++nesting_ > kMaxNesting / 2) fail(now().line, "nested too deeply");
    Body out;
    while (now().kind != Token::kEnd) {
      auto node = std::make_unique<Node>();
      node->line = now().line;
      if (now().kind == Token::kData) {
        node->text = take().text;
      } else if (now().kind == Token::kVariableBegin) {
        ++at_;
        node->kind = Node::kOutput;
        node->exprs.push_back(tuple(true));
        if (now().kind != Token::kVariableEnd) fail(now().line, "expected '}}', not " + describe(now()));
        ++at_;
      } else {
        ++at_;  // {%
        if (now().kind != Token::kName) fail(now().line, "expected a statement, not " + describe(now()));
        for (const std::string& end : ends) {
          if (now().text == end) {
            --nesting_;
            return out;
          }
        }
        statement(*node);
      }
      out.push_back(std::move(node));
    }
    if (!ends.empty()) fail(now().line, "end of template where '" + ends.back() + "' was expected");
    --nesting_;
    return out;
  }

  /// Body and its end block, "{% end.. %}".
  Body body_until(const std::string& end) {
    Body out = body({end});
    ++at_;
    expect_end();
    return out;
  }

  void statement(Node& node) {
    const Token name = take();
    if (name.text == "if") {
      if_statement(node);
    } else if (name.text == "for") {
      for_statement(node);
    } else if (name.text == "set") {
      node.target = target();
      if (skip_op("=")) {
        node.kind = Node::kSet;
        node.exprs.push_back(tuple(true));
        expect_end();
      } else {
        if (is_op("|")) fail(name.line, "set with a filter is not supported");
        node.kind = Node::kSetBlock;
        expect_end();
        node.bodies.push_back(body_until("endset"));
      }
    } else if (name.text == "macro") {
      macro(node);
    } else if (name.text == "generation") {
      node.kind = Node::kBlock;
      expect_end();
      node.bodies.push_back(body_until("endgeneration"));
    } else if (name.text == "break" || name.text == "continue") {
      if (loops_ == 0) fail(name.line, name.text + " outside a loop");
      node.kind = name.text == "break" ? Node::kBreak : Node::kContinue;
      expect_end();
    } else {
      fail(name.line, "the statement '" + name.text + "' is not supported");
    }
  }

  void if_statement(Node& node) {
    node.kind = Node::kIf;
    node.exprs.push_back(tuple(false));
    expect_end();
    while (true) {
      node.bodies.push_back(body({"elif", "else", "endif"}));
      const Token end = take();
      if (end.text == "elif") {
        node.exprs.push_back(tuple(false));
        expect_end();
        continue;
      }
      expect_end();
      if (end.text == "else") node.bodies.push_back(body_until("endif"));
      return;
    }
  }

  void for_statement(Node& node) {
    node.kind = Node::kFor;
    node.target = target();
    if (!skip_name("in")) fail(now().line, "expected 'in', not " + describe(now()));
    node.exprs.push_back(tuple(false));
    node.exprs.push_back(skip_name("if") ? expression() : nullptr);
    if (is_name("recursive")) fail(now().line, "'for .. recursive' is not supported");
    expect_end();
    ++loops_;
    node.bodies.push_back(body({"else", "endfor"}));
    --loops_;
    const Token end = take();
    expect_end();
    if (end.text == "else") node.bodies.push_back(body_until("endfor"));
  }

  void macro(Node& node) {
    if (nesting_ > 1) fail(node.line, "a macro inside another block is not supported");
    node.kind = Node::kMacro;
    node.macro.name = expect_name();
    expect_op("(");
    while (!is_op(")")) {
      node.macro.parameters.push_back(expect_name());
      if (skip_op("=")) {
        node.macro.defaults.push_back(expression());
      } else if (!node.macro.defaults.empty()) {
        fail(now().line, "a parameter without default after one with a default");
      }
      if (!skip_op(",")) break;
    }
    expect_op(")");
    expect_end();
    const int loops = std::exchange(loops_, 0);
    node.macro.body = body_until("endmacro");
    loops_ = loops;
  }

  Target target() {
    Target out;
    const bool parenthesis = skip_op("(");
    out.names.push_back(expect_name());
    if (skip_op(".")) {
      out.attribute = expect_name();
      return out;
    }
    while (skip_op(",")) {
      out.unpack = true;
      if (now().kind != Token::kName || is_name("in")) break;
      out.names.push_back(expect_name());
    }
    if (parenthesis) expect_op(")");
    return out;
  }

  ExprRef make(Expr::Kind kind, int line, std::vector<ExprRef> args = {}, std::string name = {}) const {
    auto out = std::make_unique<Expr>();
    out->kind = kind;
    out->line = line;
    out->name = std::move(name);
    out->args = std::move(args);
    measure(*out);
    return out;
  }

  static void measure(Expr& expr) {
    for (const auto& arg : expr.args) {
      if (arg) expr.depth = std::max(expr.depth, arg->depth + 1);
    }
    for (const auto& [key, arg] : expr.kwargs) expr.depth = std::max(expr.depth, arg->depth + 1);
    if (expr.depth > kMaxNesting) fail(expr.line, "an expression is nested too deeply");
  }

  static std::vector<ExprRef> list_of(ExprRef a, ExprRef b = nullptr) {
    std::vector<ExprRef> out;
    out.push_back(std::move(a));
    if (b) out.push_back(std::move(b));
    return out;
  }

  /// An expression, or several with commas between, which are a tuple.
  ExprRef tuple(bool with_condition) {
    const int line = now().line;
    ExprRef first = with_condition ? expression() : or_expression();
    if (!is_op(",")) return first;
    std::vector<ExprRef> items = list_of(std::move(first));
    while (skip_op(",")) {
      if (now().kind == Token::kVariableEnd || now().kind == Token::kBlockEnd) break;
      items.push_back(with_condition ? expression() : or_expression());
    }
    return make(Expr::kTuple, line, std::move(items));
  }

  ExprRef expression() {
    if (++nesting_ > kMaxNesting) fail(now().line, "nested too deeply");
    ExprRef out = or_expression();
    while (is_name("if")) {
      const int line = take().line;
      std::vector<ExprRef> args = list_of(std::move(out), or_expression());
      args.push_back(skip_name("else") ? expression() : nullptr);
      out = make(Expr::kCondition, line, std::move(args));
    }
    --nesting_;
    return out;
  }

  ExprRef or_expression() {
    ExprRef out = and_expression();
    while (is_name("or")) {
      const int line = take().line;
      out = make(Expr::kOr, line, list_of(std::move(out), and_expression()));
    }
    return out;
  }

  ExprRef and_expression() {
    ExprRef out = not_expression();
    while (is_name("and")) {
      const int line = take().line;
      out = make(Expr::kAnd, line, list_of(std::move(out), not_expression()));
    }
    return out;
  }

  ExprRef not_expression() {
    if (!is_name("not")) return comparison();
    const int line = take().line;
    if (++nesting_ > kMaxNesting) fail(line, "nested too deeply");
    ExprRef out = make(Expr::kNot, line, list_of(not_expression()));
    --nesting_;
    return out;
  }

  ExprRef comparison() {
    const int line = now().line;
    ExprRef first = sum();
    std::vector<std::string> ops;
    std::vector<ExprRef> args;
    while (true) {
      if (now().kind == Token::kOp &&
          (is_op("==") || is_op("!=") || is_op("<") || is_op("<=") || is_op(">") || is_op(">="))) {
        ops.push_back(take().text);
      } else if (skip_name("in")) {
        ops.emplace_back("in");
      } else if (is_name("not") && peek().kind == Token::kName && peek().text == "in") {
        at_ += 2;
        ops.emplace_back("not in");
      } else {
        break;
      }
      args.push_back(sum());
    }
    if (ops.empty()) return first;
    args.insert(args.begin(), std::move(first));
    ExprRef out = make(Expr::kCompare, line, std::move(args));
    out->ops = std::move(ops);
    return out;
  }

  ExprRef sum() {
    ExprRef out = concat();
    while (is_op("+") || is_op("-")) {
      const Token op = take();
      out = make(Expr::kBinary, op.line, list_of(std::move(out), concat()), op.text);
    }
    return out;
  }

  ExprRef concat() {
    const int line = now().line;
    std::vector<ExprRef> args = list_of(product());
    while (skip_op("~")) args.push_back(product());
    if (args.size() == 1) return std::move(args[0]);
    return make(Expr::kConcat, line, std::move(args));
  }

  ExprRef product() {
    ExprRef out = power();
    while (is_op("*") || is_op("/") || is_op("//") || is_op("%")) {
      const Token op = take();
      out = make(Expr::kBinary, op.line, list_of(std::move(out), power()), op.text);
    }
    return out;
  }

  ExprRef power() {
    ExprRef out = unary(true);
    while (is_op("**")) {
      const Token op = take();
      out = make(Expr::kBinary, op.line, list_of(std::move(out), unary(true)), op.text);
    }
    return out;
  }

  ExprRef unary(bool with_filter) {
    if (++nesting_ > kMaxNesting) fail(now().line, "nested too deeply");
    const int line = now().line;
    ExprRef out;
    if (skip_op("-")) {
      out = make(Expr::kNegate, line, list_of(unary(false)));
    } else if (skip_op("+")) {
      out = make(Expr::kPlus, line, list_of(unary(false)));
    } else {
      out = primary();
    }
    out = postfix(std::move(out));
    if (with_filter) out = filters(std::move(out));
    --nesting_;
    return out;
  }

  ExprRef constant(int line, Value value) const {
    ExprRef out = make(Expr::kConstant, line);
    out->value = std::move(value);
    return out;
  }

  ExprRef primary() {
    const Token token = take();
    const int line = token.line;
    switch (token.kind) {
      case Token::kName:
        if (token.text == "true" || token.text == "True") return constant(line, true);
        if (token.text == "false" || token.text == "False") return constant(line, false);
        if (token.text == "none" || token.text == "None") return constant(line, None{});
        return make(Expr::kName, line, {}, token.text);
      case Token::kString: {
        std::string text = token.text;
        while (now().kind == Token::kString) text += take().text;
        return constant(line, Text(std::move(text)));
      }
      case Token::kInt: {
        std::int64_t value = 0;
        const char* const end = token.text.data() + token.text.size();
        if (std::from_chars(token.text.data(), end, value).ec != std::errc())
          fail(line, "an integer is too large");
        return constant(line, value);
      }
      case Token::kFloat:
        return constant(line, std::strtod(token.text.c_str(), nullptr));
      case Token::kOp:
        if (token.text == "(") return parenthesis(line);
        if (token.text == "[") return bracketed(Expr::kList, line, "]");
        if (token.text == "{") return braces(line);
        break;
      default:
        break;
    }
    fail(line, "expected an expression, not " + describe(token));
  }

  ExprRef parenthesis(int line) {
    if (skip_op(")")) return make(Expr::kTuple, line);
    ExprRef first = expression();
    if (skip_op(")")) return first;
    expect_op(",");
    ExprRef rest = bracketed(Expr::kTuple, line, ")");
    rest->args.insert(rest->args.begin(), std::move(first));
    measure(*rest);
    return rest;
  }

  ExprRef bracketed(Expr::Kind kind, int line, std::string_view close) {
    std::vector<ExprRef> items;
    while (!is_op(close)) {
      items.push_back(expression());
      if (!skip_op(",")) break;
    }
    expect_op(close);
    return make(kind, line, std::move(items));
  }

  ExprRef braces(int line) {
    std::vector<ExprRef> items;
    while (!is_op("}")) {
      items.push_back(expression());
      expect_op(":");
      items.push_back(expression());
      if (!skip_op(",")) break;
    }
    expect_op("}");
    return make(Expr::kDict, line, std::move(items));
  }

  ExprRef postfix(ExprRef out) {
    while (true) {
      const int line = now().line;
      if (skip_op(".")) {
        if (now().kind == Token::kInt) {
          std::int64_t index = 0;
          const std::string digits = take().text;
          std::from_chars(digits.data(), digits.data() + digits.size(), index);
          out = make(Expr::kItem, line, list_of(std::move(out), constant(line, index)));
        } else {
          out = make(Expr::kAttribute, line, list_of(std::move(out)), expect_name());
        }
      } else if (skip_op("[")) {
        out = subscript(line, std::move(out));
      } else if (is_op("(")) {
        out = make(Expr::kCall, line, list_of(std::move(out)));
        arguments(*out);
      } else {
        return out;
      }
    }
  }

  ExprRef subscript(int line, ExprRef object) {
    std::vector<ExprRef> args = list_of(std::move(object));
    bool slice = false;
    if (is_op(":")) {
      args.push_back(nullptr);
    } else {
      args.push_back(expression());
    }
    for (int i = 0; i < 2 && skip_op(":"); ++i) {
      slice = true;
      args.push_back(is_op(":") || is_op("]") ? nullptr : expression());
    }
    expect_op("]");
    if (slice) args.resize(4);
    return make(slice ? Expr::kSlice : Expr::kItem, line, std::move(args));
  }

  void arguments(Expr& call) {
    expect_op("(");
    while (!is_op(")")) {
      if (is_op("*") || is_op("**")) fail(now().line, "'" + now().text + "' in a call is not supported");
      if (now().kind == Token::kName && peek().kind == Token::kOp && peek().text == "=") {
        std::string key = take().text;
        ++at_;
        call.kwargs.emplace_back(std::move(key), expression());
      } else {
        if (!call.kwargs.empty()) fail(now().line, "a plain argument after a named one");
        call.args.push_back(expression());
      }
      if (!skip_op(",")) break;
    }
    expect_op(")");
    measure(call);
  }

  ExprRef filters(ExprRef out) {
    while (true) {
      const int line = now().line;
      if (skip_op("|")) {
        std::string name = expect_name();
        while (skip_op(".")) name += "." + expect_name();
        out = make(Expr::kFilter, line, list_of(std::move(out)), std::move(name));
        if (is_op("(")) arguments(*out);
      } else if (skip_name("is")) {
        const bool negated = skip_name("not");
        out = make(Expr::kTest, line, list_of(std::move(out)), expect_name());
        const Token& next = now();
        if (is_op("(")) {
          arguments(*out);
        } else if (next.kind == Token::kString || next.kind == Token::kInt || next.kind == Token::kFloat ||
                   is_op("[") || is_op("{") ||
                   (next.kind == Token::kName && next.text != "else" && next.text != "or" &&
                    next.text != "and" && next.text != "is" && next.text != "if" && next.text != "in" &&
                    next.text != "not")) {
          out->args.push_back(postfix(primary()));
          measure(*out);
        }
        if (negated) out = make(Expr::kNot, line, list_of(std::move(out)));
      } else if (is_op("(")) {
        out = make(Expr::kCall, line, list_of(std::move(out)));
        arguments(*out);
      } else {
        return out;
      }
    }
  }

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  int nesting_ = 0;
  int loops_ = 0;
};

}  // namespace

Program parse(std::string_view source) {
  return Parser(source).run();
}

}  // namespace leap::tokenizer::jinja
