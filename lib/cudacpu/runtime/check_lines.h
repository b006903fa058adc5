// From an address in the candidate's code to its source line, by the program's own line table (DWARF 2 to 4).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace leap_cuda {
namespace check {

// Is this source file the candidate's, not a header's?
bool is_candidate_file(const char* name);

// The line of the candidate for a return address; through headers to the line that used them. 0: unknown.
int line_of(const void* return_address, const void* frame);

// The program's writable data that symbols name: where, how long, what.
struct DataSymbol {
  std::uintptr_t at = 0;
  std::size_t bytes = 0;
  std::string name;
  bool of_function = false;  // a static variable in one
};
const std::vector<DataSymbol>& data_symbols();  // by address

}  // namespace check
}  // namespace leap_cuda
