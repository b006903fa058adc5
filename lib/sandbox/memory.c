/* Theory. A fork copies an entry for each page that the process has written to, and its end takes them down
 * again: 0.1 us a page and direction, as much as all else that a short program costs. A huge page is one
 * entry, for the code of the interpreter (no faults either), for its data, and for what it has allocated. To
 * lie on huge pages these must be aligned to them: this library, loaded before the interpreter starts, moves
 * the start of the heap and gives Python's allocator aligned memory for its first arenas. Where huge pages
 * cannot be had all of it is as it would be. */
#define _GNU_SOURCE
#include "memory.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

enum { kArena = 1 << 20, kArenas = 4 }; /* of Python's allocator */
static const uintptr_t kHuge = 2 << 20;

static uintptr_t heap; /* where it starts; 0: not ours */
static char* arenas;
static int arenas_given;

static uintptr_t up(uintptr_t address) {
  return (address + kHuge - 1) / kHuge * kHuge;
}

static uintptr_t down(uintptr_t address) {
  return address / kHuge * kHuge;
}

__attribute__((constructor)) static void align_heap(void) {
  const uintptr_t end = (uintptr_t)sbrk(0);
  if (sbrk((intptr_t)(up(end) - end)) != (void*)-1) heap = up(end);
}

/* Aligned memory of `size` bytes, to be had in huge pages. NULL when there is none. */
static char* aligned(size_t size) {
  char* room = (char*)syscall(SYS_mmap, NULL, size + kHuge, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) return NULL;
  char* at = (char*)up((uintptr_t)room);
  if (at != room) munmap(room, (size_t)(at - room));
  if (at != room + kHuge) munmap(at + size, (size_t)(room + kHuge - at));
  if (mprotect(at, size, PROT_READ | PROT_WRITE) != 0) return NULL;
  madvise(at, size, MADV_HUGEPAGE);
  return at;
}

/* In place of the C library's, for the interpreter: its arenas come from here, all else from the kernel. */
__attribute__((visibility("default"))) void* mmap64(void* address, size_t size, int rights, int flags, int fd,
                                                    off64_t offset) {
  if (!address && size == kArena && fd == -1 && flags == (MAP_PRIVATE | MAP_ANONYMOUS) &&
      rights == (PROT_READ | PROT_WRITE) && arenas_given < kArenas) {
    if (!arenas) arenas = aligned((size_t)kArenas * kArena);
    if (arenas) return arenas + (size_t)kArena * (size_t)arenas_given++;
  }
  return (void*)syscall(SYS_mmap, address, size, rights, flags, fd, offset);
}

/* Replaces memory, aligned, by a copy in huge pages. */
static void move(uintptr_t start, uintptr_t end, uintptr_t filled, int rights) {
  const size_t size = end - start;
  char* copy = aligned(size);
  if (!copy) return;
  memcpy(copy, (const void*)start, filled - start);
  if (mprotect(copy, size, rights) != 0 ||
      mremap(copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, (void*)start) == MAP_FAILED)
    munmap(copy, size);
}

/* The interpreter's code and constants, then its variables. What lies on no whole huge page stays where it
 * is, but the last variables, after which nothing comes. */
static void move_interpreter(void) {
  char exe[512], line[1024];
  const ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
  FILE* maps = fopen("/proc/self/maps", "re");
  exe[n > 0 ? n : 0] = 0;
  uintptr_t begin = 0, constant_end = 0, end = 0, next = 0;
  while (maps && n > 0 && !next && fgets(line, sizeof line, maps)) {
    uintptr_t from, to;
    char rights[8], path[600] = "";
    sscanf(line, "%lx-%lx %7s %*s %*s %*s %599s", &from, &to, rights, path);
    const bool own = strcmp(path, exe) == 0;
    if (end && (from != end || (!own && path[0]))) {
      next = from;
    } else if (end || own) {
      if (!end) begin = from;
      end = to;
      if (rights[1] != 'w') constant_end = to;
    }
  }
  if (maps) fclose(maps);
  if (!next || !constant_end) return;
  const uintptr_t code = up(begin), data = down(constant_end), last = up(end) <= next ? up(end) : down(end);
  if (code < data) move(code, data, data, PROT_READ | PROT_EXEC);
  if (code <= data && data < last) move(data, last, last < end ? last : end, PROT_READ | PROT_WRITE);
}

/* Takes what is free between things on the heap: what a child allocates then lies together. */
static void fill_gaps(void) {
  enum { kLargest = 100000, kSmallest = 512 }; /* smaller things are the allocator of Python's */
  void* block = malloc(kLargest);
  const uintptr_t last = (uintptr_t)block; /* it fits nowhere between */
  free(block);
  for (size_t size = kLargest; size >= kSmallest; size -= size / 8) {
    while ((block = malloc(size)) && (uintptr_t)block < last) continue;
    free(block);
  }
}

/* Makes the heap end with a huge page; what is below is free for children. */
static void fill_heap(void) {
  enum { kBlock = 60000, kBlocks = 64 };
  void* blocks[kBlocks];
  int count = 0;
  const uintptr_t goal = up((uintptr_t)sbrk(0));
  while (count < kBlocks && (uintptr_t)sbrk(0) < goal && (blocks[count] = malloc(kBlock))) ++count;
  for (int i = 0; i + 1 < count; ++i) free(blocks[i]); /* the last one stays, or all would be given back */
  madvise((void*)heap, down((uintptr_t)sbrk(0)) - heap, MADV_COLLAPSE);
}

void leap_lay_out_memory(void) {
  if (heap) {
    fill_gaps();
    fill_heap();
  }
  move_interpreter();
}
