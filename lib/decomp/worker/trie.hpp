/// Programs explored on values: bodies of functions are run once for each different course of events.
///
/// Theory. A call of a declared function is looked up by its arguments' values and the position in stdin. For
/// each implementation there is a trie of what its body met: the results of the calls that it made, in order.
/// Following a program through the tries is a walk; a body runs only where a walk leaves what is known. A
/// call whose arguments or result are more than their values (aliased, changed, of other types) is made in
/// its caller's own run, and the trie branches on the implementation itself. The gate (gate.py) has made sure
/// that nothing else connects two calls. Where a body makes thousands of calls, those beyond are branched on
/// by implementation too and made in its own run, or an endless one would fill memory before it times out.
/// Time is a body's own and that of its calls when they were run, never that of looking them up.
///
/// Cells (a set of implementations for each function) are walked as a whole as long as their programs meet
/// the same results, and split where these differ, so that no program is ever looked at alone without need.
/// What cannot be told for sure - close to the CPU limit, deep recursion, much memory - is "unknown": such
/// programs are run by themselves.
#pragma once

#include "program.hpp"

namespace leap::decomp {

/// In a child: answers requests to explore on `socket` until its end.
[[noreturn]] void serve_trie(const Source& source, const std::vector<Test>& tests, Shared& shared,
                             int socket);

}  // namespace leap::decomp
