/* What holds children where there are no namespaces: Landlock, an exact limit on processes, one process
 * group, looks at what they write. */
#pragma once

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

typedef struct {
  bool on;
  bool asks; /* a child asks us before it starts a process or thread: the user's own limit is not exact */
  long other_tasks; /* room in that limit for what else our user runs */
  long most_kb;     /* that a child may leave in the directory */
  pid_t supervisor;
} Confinement;

extern Confinement leap_confinement;

/* Confines this process: it becomes `user` (0: stays who it is), which nobody else is if `own_user`, takes on
 * the Landlock rules of `rules` and a filter. NULL, or what failed. */
const char* leap_confine(const char* work_dir, unsigned user, bool own_user, const char* filter,
                         size_t filter_size, long most_kb, int rules);

/* In a child, before anything else: a group of its own, Landlock, death with the supervisor. */
void leap_confine_child(void);

/* In a child: takes on its filter; `channel` is its socket to us when it asks. False when that failed. */
bool leap_load_filter(const struct sock_fprog* filter, int channel);

/* The descriptor at which a child that has just begun asks; -1 when it ended before it could. */
int leap_receive_listener(int channel);

/* Answers one question. `granted` is what it has started since it was counted. */
void leap_answer_wish(int listener, long most, long* granted);

/* Processes below this one, at most `most`; their number. */
int leap_tree(pid_t* pids, int most);

/* Does a directory hold more than leap_confinement.most_kb, or more files or levels than a program needs? */
bool leap_too_full(const char* path);
