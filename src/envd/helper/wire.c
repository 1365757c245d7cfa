#include "wire.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sysexits.h>
#include <unistd.h>

/* Not on the stack: it is larger than a stack of a container may be. Pages that no frame reaches cost nothing. */
static char room[frame_room];

bool send_all(int to, const void *from, size_t size) {
  for (const char *next = from; size > 0;) {
    ssize_t sent = send(to, next, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    next += sent;
    size -= (size_t)sent;
  }
  return true;
}

bool receive_all(int from, void *to, size_t size) {
  for (char *next = to; size > 0;) {
    ssize_t got = recv(from, next, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    next += got;
    size -= (size_t)got;
  }
  return true;
}

void end_for_bad_frame(void) { _exit(EX_PROTOCOL); }

bool receive_frame(struct frame *frame) {
  uint32_t size;
  if (!receive_all(daemon_at, &size, sizeof size)) return false;
  if (size > frame_room) end_for_bad_frame();
  *frame = (struct frame){room, room + size};
  return receive_all(daemon_at, room, size);
}

uint32_t take_number(struct frame *frame) {
  uint32_t number;
  if ((size_t)(frame->end - frame->at) < sizeof number) end_for_bad_frame();
  memcpy(&number, frame->at, sizeof number);
  frame->at += sizeof number;
  return number;
}

char *take_text(struct frame *frame) {
  char *text = frame->at;
  char *zero = memchr(text, '\0', (size_t)(frame->end - text));
  if (zero == NULL) end_for_bad_frame();
  frame->at = zero + 1;
  return text;
}

void send_frame(const void *bytes, size_t size) {
  uint32_t length = (uint32_t)size;
  if (!send_all(daemon_at, &length, sizeof length) || !send_all(daemon_at, bytes, size)) _exit(EX_IOERR);
}
