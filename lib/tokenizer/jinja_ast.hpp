/// The syntax tree of a template.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tokenizer/jinja.hpp"

namespace leap::tokenizer::jinja {

inline constexpr int kMaxNesting = 200;

struct Expr;
using ExprRef = std::unique_ptr<Expr>;

struct Expr {
  enum Kind {
    kConstant,  ///< value
    kName,      ///< name
    kList,      ///< args
    kTuple,
    kDict,       ///< args: key, value, ..
    kAttribute,  ///< args[0].name
    kItem,       ///< args[0][args[1]]
    kSlice,      ///< args[0][args[1]:args[2]:args[3]], null where left out
    kCall,       ///< args[0](args[1..], kwargs)
    kFilter,     ///< args[0]|name(args[1..], kwargs)
    kTest,       ///< args[0] is name(args[1..])
    kCondition,  ///< args[0] if args[1] else args[2] (null: undefined)
    kAnd,
    kOr,
    kNot,
    kNegate,
    kPlus,
    kConcat,   ///< args ~ ..
    kBinary,   ///< args[0] name args[1], arithmetic
    kCompare,  ///< args[0] ops[0] args[1] ops[1] args[2] ..
  };
  Kind kind = kConstant;
  int line = 0;
  int depth = 1;
  std::string name;
  Value value;
  std::vector<ExprRef> args;
  std::vector<std::pair<std::string, ExprRef>> kwargs;
  std::vector<std::string> ops;
};

struct Node;
using Body = std::vector<std::unique_ptr<Node>>;

/// Where an assignment goes: names to unpack into, or one attribute of a namespace.
struct Target {
  std::vector<std::string> names;
  bool unpack = false;
  std::string attribute;
};

struct Macro {
  std::string name;
  std::vector<std::string> parameters;
  std::vector<ExprRef> defaults;  ///< of the last parameters
  Body body;
};

struct Node {
  enum Kind { kText, kOutput, kIf, kFor, kSet, kSetBlock, kMacro, kBlock, kBreak, kContinue };
  Kind kind = kText;
  int line = 0;
  std::string text;            ///< kText
  Target target;               ///< kFor, kSet, kSetBlock
  std::vector<ExprRef> exprs;  ///< kOutput, kSet: the value; kIf: conditions; kFor: iterable, filter or null
  std::vector<Body> bodies;    ///< kIf: one a condition and perhaps else; kFor: body, else; others: body
  Macro macro;
};

struct Program {
  Body body;
};

Program parse(std::string_view source);

}  // namespace leap::tokenizer::jinja
