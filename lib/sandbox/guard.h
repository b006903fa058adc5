/* What a program must not do to an interpreter that it shares with code that judges it. */
#pragma once

/* From now on, calls that reach into other code of this interpreter end the process as forbidden system calls
 * do: tracing, exchange of a function's code, raw memory (ctypes). In a child, before the program runs. */
void leap_guard_interpreter(void);
