#define _GNU_SOURCE
#include "frames.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum { kMaxFields = 1 << 16, kPart = 1 << 15, kLarge = 1 << 16 };

/* `old` memory of `size` bytes, or none, becomes `wanted` bytes. Not by malloc: its memory is the children's,
 * and what is written there while one runs costs a copy of the page or, worse, of the map of a huge one. */
static void* resized(void* old, size_t size, size_t wanted) {
  void* memory = old ? mremap(old, size, wanted, MREMAP_MAYMOVE)
                     : mmap(NULL, wanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) leap_leave();
  return memory;
}

void leap_reserve(Bytes* bytes, size_t room) {
  if (room <= bytes->room) return;
  const size_t wanted = (room + room / 4 + kPart) / kPart * kPart;
  bytes->data = resized(bytes->data, bytes->room, wanted);
  bytes->room = wanted;
}

void leap_clear(Bytes* bytes) {
  bytes->size = 0;
  if (bytes->room <= kLarge) return;
  munmap(bytes->data, bytes->room);
  memset(bytes, 0, sizeof *bytes);
}

void leap_append(Bytes* bytes, const void* data, size_t size) {
  leap_reserve(bytes, bytes->size + size);
  if (size) memcpy(bytes->data + bytes->size, data, size);
  bytes->size += size;
}

static void append_number(Bytes* bytes, size_t number) {
  const unsigned char four[4] = {number, number >> 8, number >> 16, number >> 24};
  leap_append(bytes, four, 4);
}

static size_t number_at(const char* data) {
  const unsigned char* p = (const unsigned char*)data;
  return p[0] | p[1] << 8 | p[2] << 16 | (size_t)p[3] << 24;
}

static bool read_exactly(int fd, char* data, size_t size) {
  while (size) {
    const ssize_t n = read(fd, data, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    data += n;
    size -= (size_t)n;
  }
  return true;
}

static bool write_all(int fd, const char* data, size_t size) {
  while (size) {
    const ssize_t n = write(fd, data, size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    data += n;
    size -= (size_t)n;
  }
  return true;
}

/* Fields of `frame->body`. */
static bool unpack(Frame* frame) {
  frame->count = 0;
  for (size_t at = 0; at < frame->body.size;) {
    if (at + 4 > frame->body.size) return false;
    const size_t size = number_at(frame->body.data + at);
    if (size > frame->body.size - at - 4 || frame->count == kMaxFields) return false;
    if (frame->count == frame->room) {
      const size_t before = frame->room * sizeof *frame->fields;
      frame->room = frame->room * 2 + 256;
      frame->fields = resized(frame->fields, before, frame->room * sizeof *frame->fields);
    }
    frame->fields[frame->count++] = (View){frame->body.data + at + 4, size};
    at += 4 + size;
  }
  return true;
}

/* The length that a frame begins with, and its descriptors. */
static bool read_head(int control, Frame* frame, char head[4]) {
  _Alignas(struct cmsghdr) char room[CMSG_SPACE(sizeof frame->fds)];
  struct iovec part = {head, 4};
  struct msghdr message = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
  ssize_t n;
  do n = recvmsg(control, &message, MSG_CMSG_CLOEXEC);
  while (n < 0 && errno == EINTR);
  frame->fd_count = 0;
  const struct cmsghdr* header = n > 0 ? CMSG_FIRSTHDR(&message) : NULL;
  if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
    frame->fd_count = (int)((header->cmsg_len - CMSG_LEN(0)) / sizeof(int));
    memcpy(frame->fds, CMSG_DATA(header), (size_t)frame->fd_count * sizeof(int));
  }
  return n > 0 && read_exactly(control, head + n, 4 - (size_t)n);
}

bool leap_read_frame(int control, Frame* frame) {
  char head[4];
  leap_clear(&frame->body);
  if (!read_head(control, frame, head)) return false;
  const size_t size = number_at(head);
  leap_reserve(&frame->body, size);
  frame->body.size = size;
  return read_exactly(control, frame->body.data, size) && unpack(frame) && frame->count > 0;
}

View leap_field(const Frame* frame, size_t i) {
  return i < frame->count ? frame->fields[i] : (View){"", 0};
}

bool leap_is(View view, const char* word) {
  return view.size == strlen(word) && memcmp(view.data, word, view.size) == 0;
}

char* leap_text(View view, char* out, size_t room) {
  const size_t size = view.size < room - 1 ? view.size : room - 1;
  memcpy(out, view.data, size);
  out[size] = 0;
  return out;
}

void leap_begin_frame(Bytes* answer) {
  leap_clear(answer);
  append_number(answer, 0);
}

void leap_begin_answer(Bytes* answer, const char* kind) {
  leap_begin_frame(answer);
  leap_add_field(answer, kind, strlen(kind));
}

void leap_add_field(Bytes* answer, const void* data, size_t size) {
  append_number(answer, size);
  leap_append(answer, data, size);
}

void leap_add_file(Bytes* answer, int fd, size_t size) {
  const size_t at = answer->size;
  append_number(answer, 0);
  leap_reserve(answer, answer->size + size);
  size_t got = 0;
  while (got < size) {
    const ssize_t n = pread(fd, answer->data + answer->size + got, size - got, (off_t)got);
    if (n <= 0) break;
    got += (size_t)n;
  }
  answer->size = at;
  append_number(answer, got);
  answer->size += got;
}

void leap_send_answer(int control, Bytes* answer) {
  const size_t size = answer->size;
  answer->size = 0;
  append_number(answer, size - 4);
  answer->size = size;
  if (!write_all(control, answer->data, size)) leap_leave();
  leap_clear(answer);
}
