/* Where the memory of the first process lies, so that its children are cheap to fork. */
#pragma once

/* Puts what children share onto huge pages: before the first fork. */
void leap_lay_out_memory(void);
