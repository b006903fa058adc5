/* What children use and leave behind, seen and removed by the first process of their sandbox. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* Empties a directory, however deep it is; false where a child left something that resists. */
bool leap_clean(const char* path);

typedef struct {
  double cpu_s;
  long rss_kb;
} Use;

/* CPU seconds of a process, or less than 0. */
double leap_cpu_of(pid_t pid);

/* Memory of a process: all (`resident` false) or what is in memory. */
long leap_memory_kb(pid_t pid, bool resident);

/* Of the processes of the sandbox besides this one and `pid`. `contained`: they are all that we see. */
Use leap_others(pid_t pid, bool contained);

/* Ends every process of the sandbox but this one; what those used that was not yet counted. */
Use leap_kill_children(pid_t pid, bool contained);

/* Ends the running child, not yet reaped, and all that is in its group. Those that have left the group, where
 * they may, are leap_kill_children's. */
void leap_end_tree(pid_t pid);
