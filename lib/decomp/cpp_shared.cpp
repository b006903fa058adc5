#include "decomp/cpp_parts.hpp"
#include "verify/programs.hpp"

namespace leap::decomp {
namespace {

/// Types of parameters out of CppImplementation::type.
std::vector<std::string> types_of(const std::string& type) {
  std::vector<std::string> out;
  for (std::size_t at = type.find('(') + 1; at < type.size();) {
    const std::size_t end = std::min(type.find('|', at), type.size());
    out.push_back(type.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

constexpr const char* kRunTime = R"(
extern "C" {
extern unsigned short leaprt_choice[64];
extern unsigned char* volatile leaprt_page;
}
static unsigned char leaprt_calls;
static inline void leaprt_use(int l) {
  if (!leaprt_page[1 + l]) leaprt_page[1 + l] = ++leaprt_calls;
}
template <class R> void leaprt_take(R);
template <class R> R leaprt_empty(decltype((leaprt_take<R>({}), 0))) { return {}; }
template <class R> R leaprt_empty(...) { __builtin_trap(); }
template <> inline void leaprt_empty<void>(...) {}
template <class F> struct leaprt_none;
template <class R, class... P> struct leaprt_none<R(P...)> {
  static R call(P...) { return leaprt_empty<R>(0); }
};
)";

}  // namespace

std::string shared_text(const Decomposition& decomposition, const CppParts& parts) {
  auto line = [](int number) { return "\n#line " + std::to_string(number) + " \"solution.cpp\"\n"; };
  std::string out =
      verify::begins_with_all_headers(decomposition.preamble) ? "#include <bits/stdc++.h>\n" : "";
  out += kRunTime + line(1) + decomposition.preamble + line(1) + "namespace std {}\n";
  int index = 0;
  // A name that the library, the language's own library or the preamble has too is ambiguous here.
  for (const auto& function : parts.functions) {
    for (const CppImplementation& one : function) {
      ++index;
      if (one.part != CppPart::kShared) continue;
      int count = 0;
      for (const std::string& name : one.names) {
        const std::string own = std::to_string(index) + "_" + std::to_string(count++);
        out += "namespace leaprt_names_" + own + " { struct " + name + "; }" + line(kCppLines * index + 1) +
               "inline void leaprt_check_" + own + "() { using namespace leaprt_names_" + own +
               "; using namespace std; (void)(" + name + "*)0; }\n";
      }
    }
  }
  index = 0;
  for (std::size_t l = 0; l < parts.functions.size(); ++l) {
    const std::string& name = decomposition.functions[l].name;
    const std::string number = std::to_string(l);
    std::string table, type;
    for (const CppImplementation& one : parts.functions[l]) {
      ++index;
      if (one.part == CppPart::kShared) {
        out += line(kCppLines * index + 1) + one.text + line(1);
        type = one.type;
        table += cpp_own_name(name, index) + ", ";
      } else {
        table += "nullptr, ";
      }
    }
    if (type.empty()) return "";
    const std::string result = type.substr(0, type.find('('));
    std::string parameters, arguments;
    int at = 0;
    for (const std::string& one : types_of(type)) {
      const std::string p = kCppPrefix + ("p" + std::to_string(at++));
      parameters += (at > 1 ? ", " : "") + one + " " + p;
      arguments += (at > 1 ? ", " : "") + ("static_cast<decltype(" + p + ")&&>(" + p + ")");
    }
    out += "typedef " + result + " leaprt_type_" + number + "(" + parameters + ");\n" +
           "static leaprt_type_" + number + "* const leaprt_all_" + number + "[] = {" + table +
           "leaprt_none<leaprt_type_" + number + ">::call};\n" + result + " " + name + "(" + parameters +
           ") { leaprt_use(" + number + "); return leaprt_all_" + number + "[leaprt_choice[" + number +
           "]](" + arguments + "); }\n" + "inline void leaprt_alone_" + number +
           "() { using namespace std; (void)sizeof(decltype(&" + name + ")); }\n";
  }
  return out + line(1) + decomposition.main + "\n";
}

std::string shared_argument(const std::vector<int>& choice) {
  std::string out = "./solution";
  for (const int j : choice) out += " " + std::to_string(j);
  return out;
}

}  // namespace leap::decomp
