/* What the engine and the server inside a shared C++ program (runtime.c) say to each other on the server's
 * fd 3: a greeting of one byte, then a LeapRun with its input and a LeapRan with its output, by turns. */
#pragma once

#include <stdint.h>

enum { kLeapFunctions = 64 };

/* argv[1] of a server. */
#define LEAP_SERVE "leaprt-serve"

typedef struct {
  double cpu_s, wall_s;
  int64_t memory_kb, output_kb, file_kb, processes;
  uint64_t input_size;
  uint16_t choice[kLeapFunctions];
} LeapRun;

enum LeapEnd { kLeapExit, kLeapSignal, kLeapCpu, kLeapWall, kLeapMemory, kLeapOutput };

typedef struct {
  double cpu_s, wall_s;
  int64_t rss_kb;
  int32_t end, code;                 /* a LeapEnd; exit status or signal */
  uint64_t out_size, err_size;       /* of stdout after a normal end, of stderr after abort() */
  uint8_t calls[1 + kLeapFunctions]; /* the page of the runtime: kLeapMagic, when each function was called */
  uint8_t others;                    /* it started processes, whose time is not counted */
} LeapRan;

enum { kLeapMagic = 'L' };
