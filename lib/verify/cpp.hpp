/// C++ programs that answer calls or hold tests: the candidate's or the tests' text around a driver
/// (driver.h).
#pragma once

#include <string>
#include <vector>

#include "verify/programs.hpp"

namespace leap::verify {

/// The candidate as a server of calls to `entry_point`, a function or a method of a class Solution.
std::vector<CppSource> cpp_server(const std::string& code, const std::string& entry_point);

/// The tests as a program of their own, in which `entry_point` (with the signature in `starter`) calls the
/// candidate elsewhere. Empty when the signature cannot be read.
std::vector<CppSource> cpp_tester(const std::string& tests, const std::string& call,
                                  const std::string& entry_point, const std::string& starter);

/// Candidate and tests in one program, for what cannot be called by value.
std::vector<CppSource> cpp_together(const std::string& code, const std::string& entry_point,
                                    const std::string& tests, const std::string& call,
                                    const std::string& starter);

/// A program that has nothing but the function of the starter's signature, with this body (parameters are
/// leap_p0, leap_p1, ..). Empty when the signature cannot be read.
std::string cpp_function(const std::string& starter, const std::string& name, const std::string& body);

}  // namespace leap::verify
