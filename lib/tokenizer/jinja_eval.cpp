#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <utility>

#include "base/error.hpp"
#include "tokenizer/jinja_ast.hpp"
#include "tokenizer/jinja_text.hpp"
#include "tokenizer/unicode.hpp"

namespace leap::tokenizer::jinja {
namespace {

using Scope = std::map<std::string, Value, std::less<>>;

constexpr int kMaxDepth = 1000;                   // of evaluations inside evaluations
constexpr std::size_t kBaseWork = 20'000'000;     // steps and bytes, besides a share of the input
constexpr std::size_t kWorkPerInputByte = 1'000;  // a template may look at its messages many times

int depth_of(const Value& value) {
  if (const List* list = value.list()) return list->depth;
  const Dict* dict = value.dict();
  return dict != nullptr ? dict->depth : 0;
}

/// Positional and named arguments of a call.
struct Arguments {
  std::vector<Value> values;
  std::vector<std::pair<std::string, Value>> named;
};

class Evaluator {
 public:
  explicit Evaluator(std::vector<std::pair<std::string, Value>> variables) {
    auto globals = std::make_shared<Scope>();
    std::size_t input = 0;
    for (auto& [name, value] : variables) {
      work_left_ = SIZE_MAX;
      work_on(value);
      input += SIZE_MAX - work_left_;
      (*globals)[name] = std::move(value);
    }
    scopes_.push_back(std::move(globals));
    work_left_ = kBaseWork + input * kWorkPerInputByte;
  }

  Text run(const Program& program) {
    Text out;
    exec(program.body, out);
    return out;
  }

 private:
  enum class Flow { kNext, kBreak, kContinue };

  /// Counts one level of recursion.
  class Deeper {
   public:
    explicit Deeper(Evaluator& it) : it_(it) {
      if (++it_.depth_ > kMaxDepth) it_.fail("nested too deeply");
    }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;
    ~Deeper() { --it_.depth_; }

   private:
    Evaluator& it_;
  };

  std::string where() const { return "chat template, line " + std::to_string(line_) + ": "; }
  /// The template fails on these messages, as it would in jinja2.
  [[noreturn]] void fail(const std::string& what) const { throw RecordError(where() + what); }
  [[noreturn]] void unsupported(const std::string& what) const {
    throw Error(where() + what + " is not supported");
  }

  void work(std::size_t amount) {
    if (amount > work_left_) fail("it does too much work for these messages");
    work_left_ -= amount;
  }

  /// Counts all of a value, which may hold one part many times.
  void work_on(const Value& value) {
    work(1);
    if (const Text* text = value.text()) work(text->bytes.size());
    if (const List* list = value.list()) {
      for (const Value& item : list->items) work_on(item);
    }
    if (const Dict* dict = value.dict()) {
      for (const auto& [key, item] : dict->items) {
        work(key.bytes.size());
        work_on(item);
      }
    }
  }

  // Statements.

  Flow exec(const Body& body, Text& out) {
    const Deeper deeper(*this);
    for (const auto& node : body) {
      line_ = node->line;
      work(1);
      const Flow flow = exec(*node, out);
      if (flow != Flow::kNext) return flow;
    }
    return Flow::kNext;
  }

  void emit(Text& out, const Text& text) {
    work(text.bytes.size() + text.content.size());
    append(out, text);
  }

  Flow exec(const Node& node, Text& out) {
    switch (node.kind) {
      case Node::kText:
        work(node.text.size());
        append(out, node.text);
        return Flow::kNext;
      case Node::kOutput:
        emit(out, text_of(eval(*node.exprs[0])));
        return Flow::kNext;
      case Node::kIf:
        for (std::size_t i = 0; i < node.exprs.size(); ++i) {
          if (truth(eval(*node.exprs[i]))) return exec(node.bodies[i], out);
        }
        return node.bodies.size() > node.exprs.size() ? exec(node.bodies.back(), out) : Flow::kNext;
      case Node::kFor:
        return loop(node, out);
      case Node::kSet:
        assign(node.target, eval(*node.exprs[0]));
        return Flow::kNext;
      case Node::kSetBlock: {
        Text text;
        scopes_.push_back(std::make_shared<Scope>());
        const Flow flow = exec(node.bodies[0], text);
        scopes_.pop_back();
        assign(node.target, std::move(text));
        return flow;
      }
      case Node::kMacro: {
        auto callable = std::make_shared<Callable>();
        callable->name = node.macro.name;
        callable->macro = &node.macro;
        (*scopes_.back())[node.macro.name] = CallableRef(std::move(callable));
        return Flow::kNext;
      }
      case Node::kBlock: {
        scopes_.push_back(std::make_shared<Scope>());
        const Flow flow = exec(node.bodies[0], out);
        scopes_.pop_back();
        return flow;
      }
      case Node::kBreak:
        return Flow::kBreak;
      case Node::kContinue:
        return Flow::kContinue;
    }
    return Flow::kNext;
  }

  void assign(const Target& target, Value value) {
    if (!target.attribute.empty()) {
      const Value holder = lookup(target.names[0]);
      Dict* space = holder.dict();
      if (space == nullptr || space->kind != Dict::kNamespace)
        fail("cannot assign attribute on non-namespace object");
      space->set(Text(target.attribute), std::move(value));
      return;
    }
    if (!target.unpack) {
      (*scopes_.back())[target.names[0]] = std::move(value);
      return;
    }
    std::vector<Value> items = items_of(value);
    if (items.size() != target.names.size()) fail("wrong number of values to unpack");
    for (std::size_t i = 0; i < items.size(); ++i) (*scopes_.back())[target.names[i]] = std::move(items[i]);
  }

  Flow loop(const Node& node, Text& out) {
    std::vector<Value> items = items_of(eval(*node.exprs[0]));
    if (node.exprs[1]) {
      std::vector<Value> kept;
      for (Value& item : items) {
        scopes_.push_back(std::make_shared<Scope>());
        assign(node.target, item);
        if (truth(eval(*node.exprs[1]))) kept.push_back(std::move(item));
        scopes_.pop_back();
      }
      items = std::move(kept);
    }
    if (items.empty()) {
      if (node.bodies.size() < 2) return Flow::kNext;
      scopes_.push_back(std::make_shared<Scope>());
      const Flow flow = exec(node.bodies[1], out);
      scopes_.pop_back();
      return flow;
    }
    const auto count = static_cast<std::int64_t>(items.size());
    for (std::int64_t i = 0; i < count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      Dict state;
      state.kind = Dict::kLoop;
      const auto set = [&](const char* name, Value value) {
        state.items.emplace_back(Text(name), std::move(value));
      };
      set("index", i + 1);
      set("index0", i);
      set("first", i == 0);
      set("last", i + 1 == count);
      set("length", count);
      set("revindex", count - i);
      set("revindex0", count - i - 1);
      set("previtem", i > 0 ? items[at - 1] : Value::undefined("there is no previous item"));
      set("nextitem", i + 1 < count ? items[at + 1] : Value::undefined("there is no next item"));
      work(16);
      scopes_.push_back(std::make_shared<Scope>());
      (*scopes_.back())["loop"] = std::move(state);
      assign(node.target, items[at]);
      const Flow flow = exec(node.bodies[0], out);
      scopes_.pop_back();
      if (flow == Flow::kBreak) break;
    }
    return Flow::kNext;
  }

  // Expressions.

  Value lookup(const std::string& name) const {
    for (auto it = scopes_.rbegin(); it != scopes_.rend(); ++it) {
      if (const auto found = (*it)->find(name); found != (*it)->end()) return found->second;
    }
    for (const char* known : {"raise_exception", "namespace", "range", "dict"}) {
      if (name == known) {
        auto callable = std::make_shared<Callable>();
        callable->name = name;
        return CallableRef(std::move(callable));
      }
    }
    return Value::undefined(name);
  }

  Value eval(const Expr& expr) {
    const Deeper deeper(*this);
    line_ = expr.line;
    work(1);
    switch (expr.kind) {
      case Expr::kConstant:
        return expr.value;
      case Expr::kName:
        return lookup(expr.name);
      case Expr::kList:
      case Expr::kTuple:
        return eval_list(expr);
      case Expr::kDict:
        return eval_dict(expr);
      case Expr::kAttribute:
        return attribute(eval(*expr.args[0]), expr.name);
      case Expr::kItem:
        return eval_item(expr);
      case Expr::kSlice:
        return eval_slice(expr);
      case Expr::kCall:
        return eval_call(expr);
      case Expr::kFilter: {
        const Value value = eval(*expr.args[0]);
        const Arguments arguments = eval_arguments(expr);
        line_ = expr.line;
        return filter(expr.name, value, arguments);
      }
      case Expr::kTest: {
        const Value value = eval(*expr.args[0]);
        const Arguments arguments = eval_arguments(expr);
        line_ = expr.line;
        return test(expr.name, value, arguments);
      }
      case Expr::kCondition:
        if (truth(eval(*expr.args[1]))) return eval(*expr.args[0]);
        return expr.args[2] ? eval(*expr.args[2])
                            : Value::undefined("the inline if evaluated to false and has no else");
      case Expr::kAnd: {
        Value left = eval(*expr.args[0]);
        return truth(left) ? eval(*expr.args[1]) : left;
      }
      case Expr::kOr: {
        Value left = eval(*expr.args[0]);
        return truth(left) ? left : eval(*expr.args[1]);
      }
      case Expr::kNot:
        return !truth(eval(*expr.args[0]));
      case Expr::kNegate:
      case Expr::kPlus: {
        const Value value = eval(*expr.args[0]);
        return arithmetic(expr.kind == Expr::kNegate ? "-" : "+", std::int64_t{0}, value);
      }
      case Expr::kConcat: {
        Text out;
        for (const auto& arg : expr.args) emit(out, text_of(eval(*arg)));
        return out;
      }
      case Expr::kBinary: {
        const Value left = eval(*expr.args[0]);
        const Value right = eval(*expr.args[1]);
        line_ = expr.line;
        return binary(expr.name, left, right);
      }
      case Expr::kCompare:
        return eval_compare(expr);
    }
    return {};
  }

  Value eval_list(const Expr& expr) {
    List out;
    out.tuple = expr.kind == Expr::kTuple;
    for (const auto& arg : expr.args) out.items.push_back(eval(*arg));
    return out;
  }

  Value eval_dict(const Expr& expr) {
    Dict out;
    for (std::size_t i = 0; i < expr.args.size(); i += 2) {
      const Value key = eval(*expr.args[i]);
      if (key.text() == nullptr) unsupported("a dict key that is a " + type_name(key));
      out.set(*key.text(), eval(*expr.args[i + 1]));
    }
    return out;
  }

  Value eval_compare(const Expr& expr) {
    Value left = eval(*expr.args[0]);
    for (std::size_t i = 0; i < expr.ops.size(); ++i) {
      Value right = eval(*expr.args[i + 1]);
      line_ = expr.line;
      if (!compare(expr.ops[i], left, right)) return false;
      left = std::move(right);
    }
    return true;
  }

  Arguments eval_arguments(const Expr& expr) {
    Arguments out;
    for (std::size_t i = 1; i < expr.args.size(); ++i) out.values.push_back(eval(*expr.args[i]));
    for (const auto& [name, value] : expr.kwargs) out.named.emplace_back(name, eval(*value));
    return out;
  }

  void check_defined(const Value& value) const {
    if (const auto* undefined = value.get<Undefined>()) {
      fail(undefined->name.find(' ') == std::string::npos ? "'" + undefined->name + "' is undefined"
                                                          : undefined->name);
    }
  }

  Text text_of(const Value& value) {
    if (value.list() != nullptr || value.dict() != nullptr) work_on(value);
    return to_text(value);
  }

  /// What a for loop goes over.
  std::vector<Value> items_of(const Value& value) {
    std::vector<Value> out;
    if (const List* list = value.list()) {
      out = list->items;
    } else if (const Text* text = value.text()) {
      std::size_t length = 0;
      work(text->bytes.size() * 8);
      for (std::size_t i = 0; i < text->bytes.size(); i += length) {
        decode_char(text->bytes.data() + i, length);
        out.emplace_back(part(*text, i, i + length));
      }
    } else if (Dict* dict = value.dict(); dict != nullptr && dict->kind == Dict::kPlain) {
      for (const auto& [key, item] : dict->items) out.emplace_back(key);
    } else if (!value.is_undefined()) {
      fail("a " + type_name(value) + " is not iterable");
    }
    work(out.size());
    return out;
  }

  Value attribute(const Value& object, const std::string& name) {
    check_defined(object);
    if (Dict* dict = object.dict(); dict != nullptr && dict->kind != Dict::kPlain) {
      if (const Value* found = dict->find(name)) return *found;
      if (dict->kind == Dict::kLoop) unsupported("loop." + name);
      return Value::undefined("the namespace has no attribute '" + name + "'");
    }
    if (is_method(object, name)) {
      auto callable = std::make_shared<Callable>();
      callable->name = name;
      callable->object = object;
      callable->method = true;
      return CallableRef(std::move(callable));
    }
    if (Dict* dict = object.dict()) {
      work(dict->items.size() / 8);
      if (const Value* found = dict->find(name)) return *found;
    }
    return Value::undefined("a " + type_name(object) + " has no attribute '" + name + "'");
  }

  static bool is_method(const Value& object, const std::string& name) {
    const auto one_of = [&](std::initializer_list<const char*> names) {
      return std::any_of(names.begin(), names.end(), [&](const char* known) { return name == known; });
    };
    if (object.text() != nullptr) {
      return one_of({"capitalize",   "casefold",    "center",    "count",      "encode",       "endswith",
                     "expandtabs",   "find",        "format",    "format_map", "index",        "isalnum",
                     "isalpha",      "isascii",     "isdecimal", "isdigit",    "isidentifier", "islower",
                     "isnumeric",    "isprintable", "isspace",   "istitle",    "isupper",      "join",
                     "ljust",        "lower",       "lstrip",    "maketrans",  "partition",    "removeprefix",
                     "removesuffix", "replace",     "rfind",     "rindex",     "rjust",        "rpartition",
                     "rsplit",       "rstrip",      "split",     "splitlines", "startswith",   "strip",
                     "swapcase",     "title",       "translate", "upper",      "zfill"});
    }
    if (object.dict() != nullptr) {
      return one_of({"clear", "copy", "fromkeys", "get", "items", "keys", "pop", "popitem", "setdefault",
                     "update", "values"});
    }
    if (object.list() != nullptr) {
      return one_of({"append", "clear", "copy", "count", "extend", "index", "insert", "pop", "remove",
                     "reverse", "sort"});
    }
    return false;
  }

  /// `index` counted from the end when negative; false when outside.
  static bool resolve(std::int64_t index, std::size_t size, std::size_t& at) {
    const auto n = static_cast<std::int64_t>(size);
    if (index < 0) index += n;
    at = static_cast<std::size_t>(index);
    return index >= 0 && index < n;
  }

  static bool integer(const Value& value, std::int64_t& out) {
    if (const auto* i = value.get<std::int64_t>()) return out = *i, true;
    if (const auto* b = value.get<bool>()) return out = *b ? 1 : 0, true;
    return false;
  }

  Value eval_item(const Expr& expr) {
    const Value object = eval(*expr.args[0]);
    const Value key = eval(*expr.args[1]);
    line_ = expr.line;
    check_defined(object);
    if (Dict* dict = object.dict(); dict != nullptr && key.text() != nullptr) {
      work(dict->items.size() / 8);
      if (const Value* found = dict->find(key.text()->bytes)) return *found;
    }
    std::int64_t index = 0;
    if (integer(key, index)) {
      std::size_t at = 0;
      if (const List* list = object.list(); list != nullptr && resolve(index, list->items.size(), at)) {
        return list->items[at];
      }
      if (const Text* text = object.text()) {
        work(text->bytes.size());
        const std::vector<std::size_t> starts = char_starts(text->bytes);
        if (resolve(index, starts.size() - 1, at)) return part(*text, starts[at], starts[at + 1]);
      }
      return Value::undefined("a " + type_name(object) + " has no element " + std::to_string(index));
    }
    if (key.text() != nullptr) return attribute(object, key.text()->bytes);
    return Value::undefined("a " + type_name(object) + " has no such element");
  }

  Value eval_slice(const Expr& expr) {
    const Value object = eval(*expr.args[0]);
    std::int64_t bounds[3] = {0, 0, 1};
    bool given[3] = {false, false, false};
    for (std::size_t i = 0; i < 3; ++i) {
      if (!expr.args[i + 1]) continue;
      const Value bound = eval(*expr.args[i + 1]);
      if (bound.is_none()) continue;
      if (!integer(bound, bounds[i])) fail("slice indices must be integers");
      given[i] = true;
    }
    line_ = expr.line;
    check_defined(object);
    if (bounds[2] == 0) fail("slice step cannot be zero");
    const Text* text = object.text();
    const List* list = object.list();
    if (text == nullptr && list == nullptr)
      return Value::undefined("a " + type_name(object) + " cannot be sliced");
    work(text != nullptr ? text->bytes.size() : list->items.size());
    const std::vector<std::size_t> starts =
        text != nullptr ? char_starts(text->bytes) : std::vector<std::size_t>{};
    const auto n = static_cast<std::int64_t>(text != nullptr ? starts.size() - 1 : list->items.size());
    const std::int64_t step = std::clamp<std::int64_t>(bounds[2], -n - 1, n + 1);
    const auto clip = [&](std::int64_t at) {
      if (at < 0) at = at < -n ? -1 : at + n;
      return step > 0 ? std::clamp<std::int64_t>(at, 0, n) : std::clamp<std::int64_t>(at, -1, n - 1);
    };
    const std::int64_t begin = given[0] ? clip(bounds[0]) : step > 0 ? 0 : n - 1;
    const std::int64_t end = given[1] ? clip(bounds[1]) : step > 0 ? n : -1;
    if (text != nullptr && step == 1) {
      return begin < end
                 ? part(*text, starts[static_cast<std::size_t>(begin)], starts[static_cast<std::size_t>(end)])
                 : Text();
    }
    Text cut;
    List out;
    out.tuple = list != nullptr && list->tuple;
    for (std::int64_t i = begin; step > 0 ? i < end : i > end; i += step) {
      const auto at = static_cast<std::size_t>(i);
      if (text != nullptr) {
        append(cut, part(*text, starts[at], starts[at + 1]));
      } else {
        out.items.push_back(list->items[at]);
      }
    }
    return text != nullptr ? Value(std::move(cut)) : Value(std::move(out));
  }

  Value binary(const std::string& op, const Value& left, const Value& right) {
    check_defined(left);
    check_defined(right);
    if (op == "+") {
      if (left.text() != nullptr && right.text() != nullptr) {
        Text out;
        emit(out, *left.text());
        emit(out, *right.text());
        return out;
      }
      if (left.list() != nullptr && right.list() != nullptr && left.list()->tuple == right.list()->tuple) {
        List out = *left.list();
        out.items.insert(out.items.end(), right.list()->items.begin(), right.list()->items.end());
        work(out.items.size());
        return out;
      }
    }
    std::int64_t times = 0;
    if (op == "*" && left.text() != nullptr && integer(right, times)) {
      Text out;
      for (std::int64_t i = 0; i < times; ++i) {
        work(1);
        emit(out, *left.text());
      }
      return out;
    }
    if (op == "*" && (left.list() != nullptr || right.list() != nullptr || right.text() != nullptr)) {
      unsupported("'*' of " + type_name(left) + " and " + type_name(right));
    }
    if (op == "%" && left.text() != nullptr) unsupported("'%' of a string");
    return arithmetic(op, left, right);
  }

  Value arithmetic(const std::string& op, const Value& left, const Value& right) {
    std::int64_t a = 0, b = 0, out = 0;
    const auto real = [&](const Value& value) {
      if (const auto* d = value.get<double>()) return *d;
      std::int64_t i = 0;
      if (!integer(value, i)) fail("unsupported operand of '" + op + "': " + type_name(value));
      return static_cast<double>(i);
    };
    const double x = real(left), y = real(right);
    const bool whole = integer(left, a) && integer(right, b);
    bool overflow = false;
    if (op == "+") {
      if (!whole) return x + y;
      overflow = __builtin_add_overflow(a, b, &out);
    } else if (op == "-") {
      if (!whole) return x - y;
      overflow = __builtin_sub_overflow(a, b, &out);
    } else if (op == "*") {
      if (!whole) return x * y;
      overflow = __builtin_mul_overflow(a, b, &out);
    } else if (op == "**") {
      if (!whole || b < 0) return std::pow(x, y);
      out = 1;
      for (std::int64_t i = 0; i < b && !overflow; ++i) {
        work(1);
        overflow = __builtin_mul_overflow(out, a, &out);
      }
    } else {
      if (y == 0) fail("division by zero");
      if (op == "/") return x / y;
      if (!whole) unsupported("'" + op + "' of floats");
      overflow = a == INT64_MIN && b == -1;
      if (!overflow) {
        const std::int64_t rest = a % b;
        const bool down = rest != 0 && (rest < 0) != (b < 0);
        out = op == "//" ? a / b - (down ? 1 : 0) : rest + (down ? b : 0);
      }
    }
    if (overflow) unsupported("an integer beyond 64 bits");
    return out;
  }

  bool compare(const std::string& op, const Value& left, const Value& right) {
    work(1);
    if (op == "==" || op == "!=") {
      if (left.list() != nullptr || left.dict() != nullptr) work_on(left);
      return equal(left, right) == (op == "==");
    }
    if (op == "in" || op == "not in") return contains(left, right) == (op == "in");
    check_defined(left);
    check_defined(right);
    int order = 0;
    if (left.text() != nullptr && right.text() != nullptr) {
      order = left.text()->bytes.compare(right.text()->bytes);
    } else {
      const auto number = [&](const Value& value) {
        std::int64_t i = 0;
        if (const auto* d = value.get<double>()) return *d;
        if (!integer(value, i)) fail("'" + op + "' between " + type_name(left) + " and " + type_name(right));
        return static_cast<double>(i);
      };
      std::int64_t a = 0, b = 0;
      if (integer(left, a) && integer(right, b)) {
        order = a < b ? -1 : a > b ? 1 : 0;
      } else {
        const double x = number(left), y = number(right);
        order = x < y ? -1 : x > y ? 1 : 0;
      }
    }
    if (op == "<") return order < 0;
    if (op == "<=") return order <= 0;
    if (op == ">") return order > 0;
    return order >= 0;
  }

  bool contains(const Value& item, const Value& holder) {
    if (const Text* text = holder.text()) {
      if (item.text() == nullptr) fail("'in' needs a string on its left, not a " + type_name(item));
      work(text->bytes.size());
      return text->bytes.find(item.text()->bytes) != std::string::npos;
    }
    if (const List* list = holder.list()) {
      work_on(holder);
      return std::any_of(list->items.begin(), list->items.end(),
                         [&](const Value& value) { return equal(value, item); });
    }
    if (Dict* dict = holder.dict(); dict != nullptr && dict->kind == Dict::kPlain) {
      work(dict->items.size());
      return item.text() != nullptr && dict->find(item.text()->bytes) != nullptr;
    }
    if (!holder.is_undefined()) fail("a " + type_name(holder) + " has nothing 'in' it");
    return false;
  }

  // Calls.

  Value eval_call(const Expr& expr) {
    const Value callee = eval(*expr.args[0]);
    const Arguments arguments = eval_arguments(expr);
    line_ = expr.line;
    const auto* callable = callee.get<CallableRef>();
    if (callable == nullptr) {
      if (const auto* undefined = callee.get<Undefined>()) {
        for (const char* known : {"strftime_now", "lipsum", "cycler", "joiner", "caller"}) {
          if (undefined->name == known) unsupported(undefined->name + "()");
        }
      }
      check_defined(callee);
      fail("a " + type_name(callee) + " is not callable");
    }
    if ((*callable)->macro != nullptr) return call_macro(*(*callable)->macro, arguments);
    if ((*callable)->method) return call_method(**callable, arguments);
    return call_function((*callable)->name, arguments);
  }

  Value call_macro(const Macro& macro, const Arguments& arguments) {
    if (arguments.values.size() > macro.parameters.size())
      fail("macro '" + macro.name + "' takes fewer arguments");
    auto scope = std::make_shared<Scope>();
    const std::vector<std::shared_ptr<Scope>> saved = scopes_;
    const int line = line_;
    scopes_ = {saved.front(), scope};
    const std::size_t required = macro.parameters.size() - macro.defaults.size();
    for (const auto& [name, value] : arguments.named) {
      const auto it = std::find(macro.parameters.begin(), macro.parameters.end(), name);
      if (it == macro.parameters.end()) fail("macro '" + macro.name + "' takes no argument '" + name + "'");
      if (static_cast<std::size_t>(it - macro.parameters.begin()) < arguments.values.size()) {
        fail("macro '" + macro.name + "' got two values for '" + name + "'");
      }
      (*scope)[name] = value;
    }
    for (std::size_t i = 0; i < macro.parameters.size(); ++i) {
      const std::string& name = macro.parameters[i];
      if (i < arguments.values.size()) {
        (*scope)[name] = arguments.values[i];
      } else if (scope->find(name) == scope->end()) {
        (*scope)[name] = i >= required ? eval(*macro.defaults[i - required])
                                       : Value::undefined("parameter '" + name + "' was not provided");
      }
    }
    Text out;
    exec(macro.body, out);
    scopes_ = saved;
    line_ = line;
    return out;
  }

  Value call_function(const std::string& name, const Arguments& arguments) {
    if (name == "raise_exception") {
      fail(arguments.values.empty() ? "raise_exception" : text_of(arguments.values[0]).bytes);
    }
    if (name == "namespace" || name == "dict") {
      Dict out;
      for (const Value& value : arguments.values) {
        const Dict* dict = value.dict();
        if (dict == nullptr || dict->kind != Dict::kPlain) unsupported(name + "() of a " + type_name(value));
        for (const auto& [key, item] : dict->items) out.set(key, item);
      }
      for (const auto& [key, item] : arguments.named) out.set(Text(key), item);
      out.kind = name == "dict" ? Dict::kPlain : Dict::kNamespace;
      work(out.items.size());
      return out;
    }
    std::int64_t bounds[3] = {0, 0, 1};  // range
    const std::size_t n = arguments.values.size();
    if (n < 1 || n > 3 || !arguments.named.empty()) fail("range takes one to three integers");
    for (std::size_t i = 0; i < n; ++i) {
      if (!integer(arguments.values[i], bounds[n == 1 ? 1 : i])) fail("range takes one to three integers");
    }
    if (bounds[2] == 0) fail("range step must not be zero");
    List out;
    for (std::int64_t i = bounds[0]; bounds[2] > 0 ? i < bounds[1] : i > bounds[1];) {
      work(4);
      out.items.emplace_back(i);
      if (__builtin_add_overflow(i, bounds[2], &i)) break;
    }
    return out;
  }

  /// The argument at `index` or called `name`; null when not given.
  static const Value* argument(const Arguments& arguments, std::size_t index, const char* name) {
    if (index < arguments.values.size()) return &arguments.values[index];
    for (const auto& [key, value] : arguments.named) {
      if (key == name) return &value;
    }
    return nullptr;
  }

  /// Refuses calls with more arguments than `count`, or others by name than `names`.
  void check_arguments(const std::string& what, const Arguments& arguments, std::size_t count,
                       std::initializer_list<const char*> names = {}) const {
    if (arguments.values.size() > count)
      unsupported(what + " with " + std::to_string(arguments.values.size()) + " arguments");
    for (const auto& item : arguments.named) {
      const bool known =
          std::any_of(names.begin(), names.end(), [&](const char* name) { return item.first == name; });
      if (!known) unsupported(what + " with the argument '" + item.first + "'");
    }
  }

  const Text& text_argument(const std::string& what, const Value* value) const {
    if (value == nullptr || value->text() == nullptr) {
      fail(what + " needs a string" + (value == nullptr ? "" : ", not a " + type_name(*value)));
    }
    return *value->text();
  }

  std::int64_t count_argument(const std::string& what, const Value* value) const {
    std::int64_t out = -1;
    if (value != nullptr && !value->is_none() && !integer(*value, out)) fail(what + " needs an integer");
    return out;
  }

  Value call_method(const Callable& call, const Arguments& arguments) {
    const std::string what = type_name(call.object) + "." + call.name + "()";
    if (const Text* text = call.object.text()) {
      work(text->bytes.size() + 1);
      return text_method(what, call.name, *text, arguments);
    }
    if (Dict* dict = call.object.dict()) {
      work(dict->items.size());
      if (call.name == "get") {
        check_arguments(what, arguments, 2, {"default"});
        const Value* key = argument(arguments, 0, "key");
        const Value* found =
            key != nullptr && key->text() != nullptr ? dict->find(key->text()->bytes) : nullptr;
        if (found != nullptr) return *found;
        const Value* otherwise = argument(arguments, 1, "default");
        return otherwise != nullptr ? *otherwise : Value(None{});
      }
      check_arguments(what, arguments, 0);
      if (call.name == "items") return dict_items(*dict);
      List out;
      for (const auto& [key, value] : dict->items) {
        if (call.name == "keys") {
          out.items.emplace_back(key);
        } else if (call.name == "values") {
          out.items.push_back(value);
        } else {
          unsupported(what);
        }
      }
      if (call.name == "keys" || call.name == "values") return out;
    }
    unsupported(what);
  }

  static Value dict_items(const Dict& dict) {
    List out;
    for (const auto& [key, value] : dict.items) {
      List pair;
      pair.tuple = true;
      pair.items = {Value(key), value};
      out.items.emplace_back(std::move(pair));
    }
    return out;
  }

  Value text_method(const std::string& what, const std::string& name, const Text& text,
                    const Arguments& arguments) {
    if (name == "strip" || name == "lstrip" || name == "rstrip") {
      check_arguments(what, arguments, 1);
      const Value* chars = argument(arguments, 0, "");
      const bool given = chars != nullptr && !chars->is_none();
      return stripped(text, given ? &text_argument(what, chars).bytes : nullptr, name != "rstrip",
                      name != "lstrip");
    }
    if (name == "split" || name == "rsplit") {
      check_arguments(what, arguments, 2, {"sep", "maxsplit"});
      const Value* separator = argument(arguments, 0, "sep");
      const std::int64_t most = count_argument(what, argument(arguments, 1, "maxsplit"));
      List out;
      const bool given = separator != nullptr && !separator->is_none();
      if (given && text_argument(what, separator).bytes.empty()) fail("empty separator");
      if (name == "rsplit" && (most >= 0 && !given)) unsupported(what + " with maxsplit but no separator");
      for (Text& piece :
           given ? split(text, separator->text()->bytes, most, name == "rsplit") : split_space(text, most)) {
        work(1);
        out.items.emplace_back(std::move(piece));
      }
      return out;
    }
    if (name == "startswith" || name == "endswith") {
      check_arguments(what, arguments, 1);
      const Value* wanted = argument(arguments, 0, "");
      const auto one = [&](const Value& value) {
        const std::string& end = text_argument(what, &value).bytes;
        if (end.size() > text.bytes.size()) return false;
        return text.bytes.compare(name == "startswith" ? 0 : text.bytes.size() - end.size(), end.size(),
                                  end) == 0;
      };
      if (wanted != nullptr && wanted->list() != nullptr && wanted->list()->tuple) {
        return std::any_of(wanted->list()->items.begin(), wanted->list()->items.end(), one);
      }
      text_argument(what, wanted);
      return one(*wanted);
    }
    if (name == "replace") {
      check_arguments(what, arguments, 3, {"count"});
      return replace(what, text, arguments);
    }
    if (name == "removeprefix" || name == "removesuffix") {
      check_arguments(what, arguments, 1);
      const std::string& end = text_argument(what, argument(arguments, 0, "")).bytes;
      const std::size_t n = text.bytes.size();
      if (end.size() > n) return text;
      if (name == "removeprefix")
        return text.bytes.compare(0, end.size(), end) == 0 ? part(text, end.size(), n) : text;
      return text.bytes.compare(n - end.size(), end.size(), end) == 0 ? part(text, 0, n - end.size()) : text;
    }
    if (name == "join") {
      check_arguments(what, arguments, 1);
      const Value* list = argument(arguments, 0, "");
      if (list == nullptr) fail(what + " needs a list");
      Text out;
      bool first = true;
      for (const Value& item : items_of(*list)) {
        if (!first) emit(out, text);
        first = false;
        emit(out, text_argument(what, &item));
      }
      return out;
    }
    if (name == "count" || name == "find") {
      check_arguments(what, arguments, 1);
      const std::string& wanted = text_argument(what, argument(arguments, 0, "")).bytes;
      if (wanted.empty()) unsupported(what + " of an empty string");
      std::size_t at = text.bytes.find(wanted);
      if (name == "find") {
        if (at == std::string::npos) return std::int64_t{-1};
        return static_cast<std::int64_t>(char_starts(text.bytes.substr(0, at)).size() - 1);
      }
      std::int64_t count = 0;
      for (; at != std::string::npos; at = text.bytes.find(wanted, at + wanted.size())) ++count;
      return count;
    }
    check_arguments(what, arguments, 0);
    return changed_case(what, name, text);
  }

  Value changed_case(const std::string& what, const std::string& name, const Text& text) {
    Text out = text;
    if (name != "upper" && name != "lower" && name != "title" && name != "capitalize") unsupported(what);
    if (!change_case(out, name)) unsupported(what + " of text beyond ASCII");
    return out;
  }

  Value replace(const std::string& what, const Text& text, const Arguments& arguments) {
    const Text& from = text_argument(what, argument(arguments, 0, "old"));
    const Text& to = text_argument(what, argument(arguments, 1, "new"));
    const std::int64_t most = count_argument(what, argument(arguments, 2, "count"));
    if (from.bytes.empty()) unsupported(what + " of an empty string");
    Text out;
    bool first = true;
    for (const Text& piece : split(text, from.bytes, most, false)) {
      if (!first) emit(out, to);
      first = false;
      emit(out, piece);
    }
    return out;
  }

  // Filters and tests.

  Value length(const Value& value) {
    if (const Text* text = value.text()) {
      work(text->bytes.size());
      return static_cast<std::int64_t>(char_starts(text->bytes).size() - 1);
    }
    if (const List* list = value.list()) return static_cast<std::int64_t>(list->items.size());
    if (const Dict* dict = value.dict()) return static_cast<std::int64_t>(dict->items.size());
    if (value.is_undefined()) return std::int64_t{0};
    fail("a " + type_name(value) + " has no length");
  }

  Value filter(const std::string& name, const Value& value, const Arguments& arguments) {
    const std::string what = "the filter '" + name + "'";
    work(1);
    if (name == "trim") {
      check_arguments(what, arguments, 1, {"chars"});
      const Value* chars = argument(arguments, 0, "chars");
      const Text text = text_of(value);
      work(text.bytes.size());
      return stripped(text,
                      chars != nullptr && !chars->is_none() ? &text_argument(what, chars).bytes : nullptr,
                      true, true);
    }
    if (name == "default" || name == "d") {
      check_arguments(what, arguments, 2, {"default_value", "boolean"});
      const Value* boolean = argument(arguments, 1, "boolean");
      const bool missing = value.is_undefined() || (boolean != nullptr && truth(*boolean) && !truth(value));
      const Value* otherwise = argument(arguments, 0, "default_value");
      return !missing ? value : otherwise != nullptr ? *otherwise : Value(Text());
    }
    if (name == "tojson") {
      check_arguments(what, arguments, 1, {"indent", "ensure_ascii"});
      for (const auto& [key, flag] : arguments.named) {
        if (key == "ensure_ascii" && truth(flag)) unsupported(what + " with ensure_ascii");
      }
      // The first positional argument of transformers' filter is ensure_ascii, not indent.
      if (!arguments.values.empty()) unsupported(what + " with a plain argument");
      const auto indent = std::min<std::int64_t>(count_argument(what, argument(arguments, 1, "indent")), 16);
      const std::size_t before = work_left_;
      work_on(value);
      if (indent > 0) work((before - work_left_) * static_cast<std::size_t>(indent) * 8);
      if (indent > 0 && depth_of(value) > 64) unsupported(what + " with indent of a value nested so deeply");
      return to_json(value, static_cast<int>(indent));
    }
    if (name == "join") {
      check_arguments(what, arguments, 2, {"d", "attribute"});
      const Value* separator = argument(arguments, 0, "d");
      const Value* field = argument(arguments, 1, "attribute");
      const Text between = separator != nullptr ? text_of(*separator) : Text();
      Text out;
      bool first = true;
      for (const Value& item : items_of(value)) {
        if (!first) emit(out, between);
        first = false;
        emit(out, text_of(field != nullptr ? field_of(item, text_argument(what, field).bytes) : item));
      }
      return out;
    }
    if (name == "replace") {
      check_arguments(what, arguments, 3, {"count"});
      return replace(what, text_of(value), arguments);
    }
    if (name == "map" || name == "select" || name == "reject" || name == "selectattr" ||
        name == "rejectattr") {
      return sequence_filter(name, value, arguments);
    }
    if (name == "int" || name == "float") {
      check_arguments(what, arguments, 1, {"default"});
      const Value* otherwise = argument(arguments, 0, "default");
      return to_number(name == "int", value, otherwise);
    }
    check_arguments(what, arguments, 0);
    if (name == "length" || name == "count") return length(value);
    if (name == "upper" || name == "lower" || name == "title" || name == "capitalize") {
      return changed_case(what, name, text_of(value));
    }
    if (name == "string") return text_of(value);
    if (name == "list") {
      List out;
      out.items = items_of(value);
      return out;
    }
    if (name == "items") {
      if (value.is_undefined()) return List();
      if (value.dict() == nullptr || value.dict()->kind != Dict::kPlain)
        fail("can only get item pairs from a mapping");
      return dict_items(*value.dict());
    }
    if (name == "first" || name == "last") {
      if (name == "last" && value.dict() != nullptr) unsupported(what + " of a dict");
      std::vector<Value> items = items_of(value);
      if (items.empty()) return Value::undefined("there is no " + name + " item, the sequence was empty");
      return name == "first" ? items.front() : items.back();
    }
    if (name == "reverse") {
      List out;
      out.items = items_of(value);
      std::reverse(out.items.begin(), out.items.end());
      if (value.text() == nullptr) return out;
      Text text;
      for (const Value& item : out.items) append(text, *item.text());
      return text;
    }
    if (name == "abs") {
      check_defined(value);
      return truth(Value(compare("<", value, std::int64_t{0}))) ? arithmetic("-", std::int64_t{0}, value)
                                                                : value;
    }
    unsupported(what);
  }

  Value to_number(bool whole, const Value& value, const Value* otherwise) {
    std::int64_t i = 0;
    const Value missing = otherwise != nullptr ? *otherwise : whole ? Value(std::int64_t{0}) : Value(0.0);
    if (integer(value, i)) return whole ? Value(i) : Value(static_cast<double>(i));
    double d = 0;
    if (const auto* real = value.get<double>()) {
      d = *real;
    } else if (const Text* text = value.text()) {
      const std::string digits = stripped(*text, nullptr, true, true).bytes;
      const char* const begin = digits.data() + (digits.size() > 1 && digits[0] == '+' ? 1 : 0);
      const char* const end = digits.data() + digits.size();
      if (begin == end) return missing;
      if (const auto result = std::from_chars(begin, end, i); whole && result.ptr == end) {
        if (result.ec != std::errc()) unsupported("an integer beyond 64 bits");
        return i;
      }
      const auto result = std::from_chars(begin, end, d);
      if (result.ptr != end || result.ec != std::errc()) return missing;
    } else {
      return missing;
    }
    if (!whole) return d;
    if (!std::isfinite(d)) return missing;
    if (std::abs(d) >= 9e18) unsupported("an integer beyond 64 bits");
    return static_cast<std::int64_t>(d);
  }

  /// `item.a.b` for a path "a.b", numbers being indices.
  Value field_of(const Value& item, const std::string& path) {
    Value out = item;
    for (std::size_t begin = 0; begin <= path.size();) {
      const std::size_t end = std::min(path.find('.', begin), path.size());
      const std::string name = path.substr(begin, end - begin);
      check_defined(out);
      Dict* dict = out.dict();
      if (!name.empty() &&
          std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; })) {
        unsupported("the attribute path '" + path + "'");
      }
      const Value* found = dict != nullptr ? dict->find(name) : nullptr;
      out = found != nullptr ? *found : attribute(out, name);
      begin = end + 1;
    }
    return out;
  }

  Value sequence_filter(const std::string& name, const Value& value, const Arguments& arguments) {
    const std::string what = "the filter '" + name + "'";
    Arguments rest = arguments;
    std::string field, inner;
    const auto take = [&](std::string& to) {
      to = text_argument(what, argument(rest, 0, "")).bytes;
      rest.values.erase(rest.values.begin());
    };
    const Value* otherwise = nullptr;
    if (name == "map" && rest.values.empty()) {
      check_arguments(what, arguments, 0, {"attribute", "default"});
      field = text_argument(what, argument(arguments, 0, "attribute")).bytes;
      otherwise = argument(arguments, 1, "default");
    } else if (name == "map") {
      take(inner);
    } else {
      if (name == "selectattr" || name == "rejectattr") take(field);
      if (!rest.values.empty()) take(inner);
    }
    const bool keep = name[0] == 's';
    List out;
    for (const Value& item : items_of(value)) {
      const Value seen = field.empty() ? item : field_of(item, field);
      if (name == "map") {
        Value mapped = inner.empty() ? seen : filter(inner, seen, rest);
        out.items.push_back(mapped.is_undefined() && otherwise != nullptr ? *otherwise : std::move(mapped));
      } else if ((inner.empty() ? truth(seen) : test(inner, seen, rest)) == keep) {
        out.items.push_back(item);
      }
    }
    return out;
  }

  bool test(const std::string& name, const Value& value, const Arguments& arguments) {
    const std::string what = "the test '" + name + "'";
    static const std::pair<const char*, const char*> kComparisons[] = {
        {"eq", "=="}, {"equalto", "=="}, {"ne", "!="},         {"lt", "<"},  {"lessthan", "<"},
        {"le", "<="}, {"gt", ">"},       {"greaterthan", ">"}, {"ge", ">="}, {"in", "in"}};
    for (const auto& [known, op] : kComparisons) {
      if (name != known) continue;
      if (arguments.values.size() != 1) fail(what + " needs one argument");
      return compare(op, value, arguments.values[0]);
    }
    if (name == "divisibleby") {
      if (arguments.values.size() != 1) fail(what + " needs one argument");
      return equal(arithmetic("%", value, arguments.values[0]), std::int64_t{0});
    }
    check_arguments(what, arguments, 0);
    if (name == "defined") return !value.is_undefined();
    if (name == "undefined") return value.is_undefined();
    if (name == "none") return value.is_none();
    if (name == "string") return value.text() != nullptr;
    if (name == "mapping") return value.dict() != nullptr && value.dict()->kind == Dict::kPlain;
    if (name == "iterable" || name == "sequence") {
      return value.text() != nullptr || value.list() != nullptr || value.is_undefined() ||
             (value.dict() != nullptr && value.dict()->kind == Dict::kPlain);
    }
    if (name == "boolean") return value.get<bool>() != nullptr;
    if (name == "integer") return value.get<std::int64_t>() != nullptr;
    if (name == "float") return value.get<double>() != nullptr;
    if (name == "number") {
      return value.get<bool>() != nullptr || value.get<std::int64_t>() != nullptr ||
             value.get<double>() != nullptr;
    }
    if (name == "true" || name == "false") {
      const auto* flag = value.get<bool>();
      return flag != nullptr && *flag == (name == "true");
    }
    if (name == "odd" || name == "even") {
      const Value rest = arithmetic("%", value, std::int64_t{2});
      return equal(rest, std::int64_t{name == "odd" ? 1 : 0});
    }
    if (name == "callable") return value.get<CallableRef>() != nullptr;
    unsupported(what);
  }

  std::vector<std::shared_ptr<Scope>> scopes_;
  std::size_t work_left_ = 0;
  int depth_ = 0;
  int line_ = 1;
};

}  // namespace

Template::Template(std::string_view source) : program_(std::make_shared<const Program>(parse(source))) {}

Text Template::render(std::vector<std::pair<std::string, Value>> variables) const {
  return Evaluator(std::move(variables)).run(*program_);
}

}  // namespace leap::tokenizer::jinja
