/*
 * What the kernel says of watched folders: Node's own watcher does not tell a file that was moved from one that was removed. The first answer is an
 * error number. Then each request is the path of a folder, and its answer the number of the watch, or 0 if there is no such folder. Events go to
 * standard output as the kernel writes them. An empty path asks for what has happened until now: an event of the watch 0 follows it there.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sysexits.h>
#include <unistd.h>

#include "helper.h"
#include "wire.h"

static const uint32_t wanted = IN_MODIFY | IN_ATTRIB | IN_MOVED_FROM | IN_MOVED_TO | IN_CREATE | IN_DELETE | IN_ONLYDIR;

/* False: nothing has happened since. */
static bool pass_on(int events) {
  static char room[64 * 1024];
  ssize_t size = read(events, room, sizeof room);
  if (size > 0 && !send_all(STDOUT_FILENO, room, (size_t)size)) exit(EX_IOERR);
  return size > 0;
}

static void pass_on_all(int events) {
  static const struct inotify_event up_to_here = {.wd = 0};
  while (pass_on(events)) continue;
  if (!send_all(STDOUT_FILENO, &up_to_here, sizeof up_to_here)) exit(EX_IOERR);
}

static bool answer_request(int events) {
  struct frame frame;
  if (!receive_frame(&frame)) return false;
  const char *path = take_text(&frame);
  int added = -1;
  if (path[0] == '\0') pass_on_all(events);
  else added = inotify_add_watch(events, path, wanted);
  uint32_t number = added < 0 ? 0 : (uint32_t)added;
  send_frame(&number, sizeof number);
  return true;
}

int watch(void) {
  int events = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  uint32_t error = events < 0 ? (uint32_t)errno : 0;
  send_frame(&error, sizeof error);
  if (events < 0) return EX_OSERR;
  struct pollfd watched[] = {{.fd = daemon_at, .events = POLLIN}, {.fd = events, .events = POLLIN}};
  for (;;) {
    if (poll(watched, 2, -1) < 0) continue;
    if (watched[1].revents != 0) pass_on(events);
    if (watched[0].revents != 0 && !answer_request(events)) return EX_OK;
  }
}
