/* Frames of the control socket: a 4-byte length, then fields of a 4-byte length and bytes each. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { kMaxFds = 6 };

typedef struct {
  char* data;
  size_t size, room;
} Bytes;

typedef struct {
  const char* data;
  size_t size;
} View;

typedef struct {
  Bytes body;
  View* fields;
  size_t count, room;
  int fds[kMaxFds];
  int fd_count;
} Frame;

/* Called where there is nothing left to do: memory is gone or the parent is. Does not return. */
void leap_leave(void);

void leap_reserve(Bytes* bytes, size_t room);
/* Empties it, and gives large memory back. */
void leap_clear(Bytes* bytes);
void leap_append(Bytes* bytes, const void* data, size_t size);

/* The next frame, with the descriptors that came with it; false at the end or where it is none. */
bool leap_read_frame(int control, Frame* frame);

/* A field, or nothing. */
View leap_field(const Frame* frame, size_t i);
bool leap_is(View view, const char* word);
/* A field as a string; cut at `room`. */
char* leap_text(View view, char* out, size_t room);

/* An answer is begun (`kind` is its first field), gets its fields and is sent. */
void leap_begin_frame(Bytes* answer);
void leap_begin_answer(Bytes* answer, const char* kind);
void leap_add_field(Bytes* answer, const void* data, size_t size);
/* Up to `size` bytes of a file from its start. */
void leap_add_file(Bytes* answer, int fd, size_t size);
void leap_send_answer(int control, Bytes* answer);
