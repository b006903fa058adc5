#include "cudacpu/ptx.hpp"

#include <algorithm>
#include <cctype>

namespace leap::cudacpu {
namespace {

std::string strip(std::string_view s) {
  std::size_t a = 0, b = s.size();
  while (a < b && std::isspace(static_cast<unsigned char>(s[a]))) ++a;
  while (b > a && std::isspace(static_cast<unsigned char>(s[b - 1]))) --b;
  return std::string(s.substr(a, b - a));
}

/// "\n\t" and the like of a literal as spaces, "%%" as "%".
std::string unescape(std::string_view s) {
  std::string out;
  for (std::size_t i = 0; i < s.size(); ++i) {
    if (s[i] == '\\' && i + 1 < s.size()) {
      ++i;
      out += ' ';
    } else {
      out += s[i];
    }
  }
  return out;
}

std::vector<std::string> split(std::string_view s, char at) {
  std::vector<std::string> out;
  int depth = 0;
  std::string one;
  for (const char c : s) {
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    if (c == at && depth == 0) {
      out.push_back(strip(one));
      one.clear();
    } else {
      one += c;
    }
  }
  if (!strip(one).empty()) out.push_back(strip(one));
  return out;
}

class Ptx {
 public:
  Ptx(const std::vector<Operand>& outputs, const std::vector<Operand>& inputs) {
    for (const Operand& o : outputs) operands_.push_back(o.expression);
    for (const Operand& o : inputs) operands_.push_back(o.expression);
  }

  /// One instruction without its semicolon.
  bool instruction(std::string_view line, std::string& out) {
    const std::size_t space = line.find_first_of(" \t");
    const std::string name(line.substr(0, space));
    std::vector<std::string> arguments;
    if (space != std::string_view::npos) arguments = split(line.substr(space), ',');
    const std::vector<std::string> parts = split(name, '.');
    const std::string& op = parts[0];
    const std::string type = parts.back();
    const auto has = [&](std::string_view what) {
      return std::find(parts.begin(), parts.end(), what) != parts.end();
    };
    if (op == "mov" && arguments.size() == 2) {
      const std::string special = special_register(arguments[1]);
      std::string source = special.empty() ? value(arguments[1]) : special;
      if (source.empty()) return false;
      return assign(arguments[0], source, out);
    }
    if (op == "ld") return load(arguments, type, out);
    if (op == "st") return store(arguments, type, out);
    if (op == "cp" && has("async")) {
      if (has("commit_group")) return emit("__pipeline_commit()", out);
      if (has("wait_all")) return emit("__pipeline_wait_prior(0)", out);
      if (has("wait_group") && arguments.size() == 1)
        return emit("__pipeline_wait_prior(" + value(arguments[0]) + ")", out);
      if (has("bulk") || has("mbarrier")) return false;
      if (has("shared") && has("global") && arguments.size() >= 3)
        return emit("::leap_cuda::copy_async(::leap_cuda::shared_pointer(" + address(arguments[0]) +
                        "), (const void*)(" + address(arguments[1]) + "), " + value(arguments[2]) + ", " +
                        (arguments.size() > 3 ? value(arguments[3]) : value(arguments[2])) + ")",
                    out);
      return false;
    }
    if (op == "bar" || op == "barrier") {
      if (has("red") || has("cluster")) return false;
      const std::string threads = arguments.size() > 1 ? value(arguments[1]) : "0";
      if (has("warp"))
        return emit("__syncwarp(" + value(arguments.empty() ? "0xffffffff" : arguments[0]) + ")", out);
      const std::string id = arguments.empty() ? "0" : value(arguments[0]);
      return emit("::leap_cuda::named_barrier(__LINE__, " + id + ", " + threads + ", " +
                      (has("arrive") ? "false" : "true") + ")",
                  out);
    }
    if (op == "membar" || op == "fence") {
      if (has("proxy") || has("mbarrier_init")) return false;
      return emit(has("cta")   ? "__threadfence_block()"
                  : has("sys") ? "__threadfence_system()"
                               : "__threadfence()",
                  out);
    }
    if (op == "prefetch" || op == "prefetchu" || op == "discard" || op == "applypriority")
      return emit("(void)0", out);
    if (op == "trap") return emit("__trap()", out);
    if (op == "nanosleep") return emit("__nanosleep(1)", out);
    if (op == "cvta" && arguments.size() == 2) {
      const std::string from = value(arguments[1]);
      if (!has("shared")) return assign(arguments[0], "(unsigned long long)(" + from + ")", out);
      return has("to")
                 ? assign(arguments[0], "__cvta_generic_to_shared((const void*)(" + from + "))", out)
                 : assign(arguments[0], "(unsigned long long)::leap_cuda::shared_pointer(" + from + ")", out);
    }
    if ((op == "atom" || op == "red") && !arguments.empty()) return atomic(op, parts, arguments, type, out);
    if (op == "cvt" && arguments.size() == 2) return convert(parts, arguments, out);
    return arithmetic(op, parts, arguments, out);
  }

 private:
  static bool emit(const std::string& text, std::string& out) {
    out += text + "; ";
    return true;
  }

  std::string operand(std::string_view name) const {
    if (name.size() < 2 || name[0] != '%' || !std::isdigit(static_cast<unsigned char>(name[1]))) return "";
    const std::size_t number = static_cast<std::size_t>(std::stoi(std::string(name.substr(1))));
    return number < operands_.size() ? "(" + operands_[number] + ")" : "";
  }

  std::string value(const std::string& name) const {
    const std::string o = operand(name);
    if (!o.empty()) return o;
    if (!name.empty() && (std::isdigit(static_cast<unsigned char>(name[0])) || name[0] == '-')) {
      if (name.size() == 10 && name[0] == '0' && (name[1] == 'f' || name[1] == 'F'))
        return "__uint_as_float(0x" + name.substr(2) + "u)";
      return name;
    }
    return "";
  }

  /// "[%1]" or "[%1 + 16]".
  std::string address(const std::string& name) const {
    if (name.size() < 3 || name[0] != '[') return "";
    const std::string inner = strip(name.substr(1, name.size() - 2));
    const std::size_t plus = inner.find('+');
    const std::string base = operand(strip(inner.substr(0, plus)));
    if (base.empty() || plus == std::string::npos) return base;
    return "((unsigned long long)" + base + " + " + strip(inner.substr(plus + 1)) + ")";
  }

  bool assign(const std::string& to, const std::string& from, std::string& out) const {
    const std::string target = operand(to);
    if (target.empty() || from.empty()) return false;
    out += "::leap_cuda::ptx_assign(" + target + ", " + from + "); ";
    return true;
  }

  static std::string special_register(const std::string& written) {
    std::string name = written;
    while (name.size() > 1 && name[0] == '%' && name[1] == '%') name.erase(0, 1);
    static const std::pair<const char*, const char*> table[] = {
        {"%laneid", "::leap_cuda::lane()"},
        {"%warpid", "(::leap_cuda::thread_rank() / 32)"},
        {"%smid", "0u"},
        {"%nsmid", "108u"},
        {"%lanemask_eq", "(1u << ::leap_cuda::lane())"},
        {"%lanemask_lt", "((1u << ::leap_cuda::lane()) - 1)"},
        {"%lanemask_le", "(0xffffffffu >> (31 - ::leap_cuda::lane()))"},
        {"%lanemask_gt", "(0xfffffffeu << ::leap_cuda::lane())"},
        {"%lanemask_ge", "(0xffffffffu << ::leap_cuda::lane())"},
        {"%clock", "(unsigned)clock()"},
        {"%clock64", "clock64()"},
        {"%globaltimer", "clock64()"},
        {"%tid.x", "threadIdx.x"},
        {"%tid.y", "threadIdx.y"},
        {"%tid.z", "threadIdx.z"},
        {"%ntid.x", "blockDim.x"},
        {"%ntid.y", "blockDim.y"},
        {"%ntid.z", "blockDim.z"},
        {"%ctaid.x", "blockIdx.x"},
        {"%ctaid.y", "blockIdx.y"},
        {"%ctaid.z", "blockIdx.z"},
        {"%nctaid.x", "gridDim.x"},
        {"%nctaid.y", "gridDim.y"},
        {"%nctaid.z", "gridDim.z"},
        {"%dynamic_smem_size", "::leap_cuda::dynamic_shared_bytes()"}};
    for (const auto& [from, to] : table)
      if (name == from) return to;
    return "";
  }

  static std::string type_name(const std::string& type) {
    static const std::pair<const char*, const char*> table[] = {
        {"f32", "float"},          {"f64", "double"},
        {"u32", "unsigned"},       {"s32", "int"},
        {"b32", "unsigned"},       {"u64", "unsigned long long"},
        {"s64", "long long"},      {"b64", "unsigned long long"},
        {"u16", "unsigned short"}, {"s16", "short"},
        {"b16", "unsigned short"}, {"u8", "unsigned char"},
        {"s8", "signed char"},     {"b8", "unsigned char"}};
    for (const auto& [from, to] : table)
      if (type == from) return to;
    return "";
  }

  std::vector<std::string> members(const std::string& list) const {
    if (list.empty() || list[0] != '{') return {list};
    return split(std::string_view(list).substr(1, list.size() - 2), ',');
  }

  std::string pointer(const std::string& where, const std::string& type) const {
    const std::string at = address(where);
    return at.empty() ? "" : "((" + type + "*)::leap_cuda::any_pointer(" + at + "))";
  }

  bool load(const std::vector<std::string>& arguments, const std::string& type, std::string& out) const {
    const std::string t = type_name(type);
    if (t.empty() || arguments.size() != 2) return false;
    const std::string at = pointer(arguments[1], "const volatile " + t);
    if (at.empty()) return false;
    const auto targets = members(arguments[0]);
    for (std::size_t i = 0; i < targets.size(); ++i)
      if (!assign(targets[i], at + "[" + std::to_string(i) + "]", out)) return false;
    return true;
  }

  bool store(const std::vector<std::string>& arguments, const std::string& type, std::string& out) const {
    const std::string t = type_name(type);
    if (t.empty() || arguments.size() != 2) return false;
    const std::string at = pointer(arguments[0], "volatile " + t);
    if (at.empty()) return false;
    const auto sources = members(arguments[1]);
    for (std::size_t i = 0; i < sources.size(); ++i) {
      const std::string from = value(sources[i]);
      if (from.empty()) return false;
      out += at + "[" + std::to_string(i) + "] = ::leap_cuda::ptx_as<" + t + ">(" + from + "); ";
    }
    return true;
  }

  bool atomic(const std::string& op, const std::vector<std::string>& parts,
              const std::vector<std::string>& arguments, const std::string& type, std::string& out) const {
    const std::size_t from = op == "atom" ? 1 : 0;
    const std::string t = type_name(type);
    if (t.empty() || arguments.size() < from + 2) return false;
    static const std::pair<const char*, const char*> table[] = {
        {"add", "atomicAdd"}, {"min", "atomicMin"}, {"max", "atomicMax"},   {"and", "atomicAnd"},
        {"or", "atomicOr"},   {"xor", "atomicXor"}, {"exch", "atomicExch"}, {"cas", "atomicCAS"},
        {"inc", "atomicInc"}, {"dec", "atomicDec"}};
    for (const auto& [name, function] : table) {
      if (std::find(parts.begin(), parts.end(), name) == parts.end()) continue;
      const std::string at = pointer(arguments[from], t);
      if (at.empty()) return false;
      std::string call = std::string(function) + "(" + at;
      for (std::size_t i = from + 1; i < arguments.size(); ++i)
        call += ", ::leap_cuda::ptx_as<" + t + ">(" + value(arguments[i]) + ")";
      call += ")";
      return op == "atom" ? assign(arguments[0], call, out) : emit(call, out);
    }
    return false;
  }

  bool convert(const std::vector<std::string>& parts, const std::vector<std::string>& arguments,
               std::string& out) const {
    const std::string& to = parts[parts.size() - 2];
    const std::string& from = parts.back();
    const std::string source = value(arguments[1]);
    if (source.empty()) return false;
    const auto has = [&](std::string_view what) {
      return std::find(parts.begin(), parts.end(), what) != parts.end();
    };
    if (to == "f16" && from == "f32" && has("rn"))
      return assign(arguments[0], "__half_as_ushort(__float2half_rn(" + source + "))", out);
    if (to == "f32" && from == "f16")
      return assign(arguments[0], "__half2float(__ushort_as_half(" + source + "))", out);
    const std::string t = type_name(to), f = type_name(from);
    if (t.empty() || f.empty()) return false;
    const bool to_integer = to[0] != 'f', from_float = from[0] == 'f';
    if (to_integer && from_float && !has("rzi")) {
      if (!has("rni")) return false;
      return assign(arguments[0], "(" + t + ")rint(" + source + ")", out);
    }
    return assign(arguments[0], "(" + t + ")(::leap_cuda::ptx_as<" + f + ">(" + source + "))", out);
  }

  bool arithmetic(const std::string& op, const std::vector<std::string>& parts,
                  const std::vector<std::string>& arguments, std::string& out) const {
    if (arguments.size() < 2) return false;
    const std::string t = type_name(parts.back());
    if (t.empty()) return false;
    const bool wide = std::find(parts.begin(), parts.end(), "wide") != parts.end();
    const bool high = std::find(parts.begin(), parts.end(), "hi") != parts.end();
    if (wide || high || std::find(parts.begin(), parts.end(), "cc") != parts.end() ||
        std::find(parts.begin(), parts.end(), "sat") != parts.end())
      return false;
    std::vector<std::string> in;
    for (std::size_t i = 1; i < arguments.size(); ++i) {
      const std::string v = value(arguments[i]);
      if (v.empty()) return false;
      in.push_back("::leap_cuda::ptx_as<" + t + ">(" + v + ")");
    }
    const bool is_float = parts.back()[0] == 'f';
    const bool single = parts.back() == "f32";
    std::string result;
    static const std::pair<const char*, const char*> binary[] = {
        {"add", "+"}, {"sub", "-"}, {"mul", "*"}, {"div", "/"},  {"and", "&"},
        {"or", "|"},  {"xor", "^"}, {"rem", "%"}, {"shl", "<<"}, {"shr", ">>"}};
    for (const auto& [name, symbol] : binary)
      if (op == name && in.size() == 2) result = in[0] + " " + symbol + " " + in[1];
    if (op == "fma" && in.size() == 3) result = "fma(" + in[0] + ", " + in[1] + ", " + in[2] + ")";
    if (op == "mad" && in.size() == 3) result = in[0] + " * " + in[1] + " + " + in[2];
    if (is_float && (op == "min" || op == "max") && in.size() == 2)
      result = "f" + op + "(" + in[0] + ", " + in[1] + ")";
    if (!is_float && (op == "min" || op == "max") && in.size() == 2)
      result = op + "(" + in[0] + ", " + in[1] + ")";
    if (op == "neg") result = "-" + in[0];
    if (op == "not") result = "~" + in[0];
    if (op == "abs") result = (is_float ? "fabs(" : "abs(") + in[0] + ")";
    if (single) {
      if (op == "ex2") result = "exp2f(" + in[0] + ")";
      if (op == "lg2") result = "log2f(" + in[0] + ")";
      if (op == "rcp") result = "1.0f / " + in[0];
      if (op == "rsqrt") result = "rsqrtf(" + in[0] + ")";
      if (op == "sqrt") result = "sqrtf(" + in[0] + ")";
      if (op == "sin") result = "sinf(" + in[0] + ")";
      if (op == "cos") result = "cosf(" + in[0] + ")";
      if (op == "tanh") result = "tanhf(" + in[0] + ")";
    }
    if (op == "popc") result = "__popc(" + in[0] + ")";
    if (op == "clz") result = "__clz(" + in[0] + ")";
    if (op == "brev") result = "__brev(" + in[0] + ")";
    if (op == "prmt" && in.size() == 3) result = "__byte_perm(" + in[0] + ", " + in[1] + ", " + in[2] + ")";
    if (op == "lop3" && in.size() == 4)
      result = "::leap_cuda::lop3(" + in[0] + ", " + in[1] + ", " + in[2] + ", " + in[3] + ")";
    if (op == "bfe" && in.size() == 3)
      result = "(" + in[0] + " >> " + in[1] + ") & (unsigned)((1ull << " + in[2] + ") - 1)";
    if (result.empty()) return false;
    return assign(arguments[0], "(" + t + ")(" + result + ")", out);
  }

  std::vector<std::string> operands_;
};

}  // namespace

bool translate_ptx(std::string_view assembly, const std::vector<Operand>& outputs,
                   const std::vector<Operand>& inputs, std::string& text, std::string& feature) {
  std::string plain = strip(unescape(assembly));
  if (plain.size() >= 2 && plain.front() == '{' && plain.back() == '}' &&
      plain.find(';') != std::string::npos)
    plain = strip(plain.substr(1, plain.size() - 2));
  Ptx ptx(outputs, inputs);
  std::string out;
  std::string one;
  for (const std::string& line : split(plain, ';')) {
    if (line.empty()) continue;
    if (!ptx.instruction(line, out)) {
      feature = line.substr(0, line.find_first_of(" \t"));
      return false;
    }
  }
  text = "do { " + out + "} while (0)";
  return true;
}

}  // namespace leap::cudacpu
