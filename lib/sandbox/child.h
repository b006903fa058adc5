/* A child of the first process of a sandbox: its limits, files and filter, and how it is started. */
#pragma once

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "frames.h"

/* Of Python's stable interface: no headers are needed for these. */
typedef struct _object PyObject;

/* What a child may use. */
typedef struct {
  double cpu_s, wall_s;
  long memory_kb, output_kb, file_kb, processes;
  int reserves; /* addresses without end: what is resident counts alone */
} Limits;

/* What is the same for all children. */
typedef struct {
  char work_dir[512];
  char shared[1024]; /* names of sealed files, open as kSharedFd, .., for programs of the system; '|' between
                      */
  int shared_count;
  struct sock_fprog filter; /* empty: they have ours */
  unsigned short
      own_pid[8]; /* instructions of the filter that hold the pid of the child that it is loaded in */
  int own_pids;
  rlim_t hard[RLIM_NLIMITS];
} Ground;

/* `own_pid` stands in the filter for the pid of the process that it is loaded in. */
void leap_lay_ground(Ground* ground, const char* work_dir, const char* shared, const char* filter,
                     size_t filter_size, unsigned own_pid);

/* What a child starts with. */
typedef struct {
  int files[5]; /* stdin, stdout, stderr, from and to the parent; -1: none */
  int program;  /* file of a program; -1: argv[0] is the file */
  int ask;      /* where it sends the descriptor at which it asks; -1: it does not ask */
  bool shared;  /* has the sealed files */
} Launch;

/* Starts another program, with words (zero bytes between them) as its arguments. Such a child needs no copy
 * of this process's memory. */
pid_t leap_start_program(const Ground* ground, const Limits* limits, const Launch* launch, View words);

/* In a fork of this process: all that holds it. Does not return where that fails. */
void leap_enter(const Ground* ground, const Limits* limits, const Launch* launch);

/* Files of names and contents into the working directory. Both leave where that fails. */
void leap_place_files(const Ground* ground, const Frame* frame, size_t first);
/* Links there to the sealed files. */
void leap_place_shared(const Ground* ground);
