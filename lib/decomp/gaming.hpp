/// What earns no reward: programs whose declared functions do not do the work, and implementations that take
/// the place of other functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "decomp/engine.hpp"
#include "decomp/parsers.hpp"
#include "decomp/program.hpp"

namespace leap::decomp {

/// [function][implementation]: does it define another declared function's name, or `main`? Python is read by
/// its grammar where the names stand in the text otherwise than as calls; one that binds names that it puts
/// together at run time (a key of globals(), exec, setattr of a module) counts as one that does.
std::vector<std::vector<bool>> redefinitions(const Decomposition& decomposition, const std::string& language,
                                             Parsers& parsers);

/// `code` with one function instead of the chosen one, which returns None (C++: a value made of {}).
std::string empty_implementation(const std::string& name, const std::string& signature,
                                 const std::string& chosen, const std::string& language);

/// How many declared functions the program of `choice`, which passes all tests, needs: those whose
/// replacement by an empty one makes it fail. `signatures`: one a function. `engine` runs programs one by
/// one; what it took is added to `runs` and `cpu_s`.
int functions_used(const Decomposition& decomposition, const std::vector<std::string>& signatures,
                   const std::vector<int>& choice, const Json& task, Engine& engine, std::uint64_t& runs,
                   double& cpu_s);

}  // namespace leap::decomp
