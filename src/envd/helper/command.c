/*
 * Becomes a command. Between fork and exec Node knows no supplementary groups, has no terminals, and makes sockets instead of pipes, which programs
 * cannot open as /dev/stdout.
 *
 * The daemon sends one frame: numbers (flags, user, group, rows, columns, how many groups, arguments and variables), the groups, then texts (the
 * folder, the arguments, the variables). On pipes the helper answers with its ends of them; the daemon opens those by name, below /proc, because
 * Node cannot receive descriptors, and sends an empty frame. An answer with an error number says why there is no command. Once there is one,
 * the socket closes.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/close_range.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sysexits.h>
#include <unistd.h>

#include "helper.h"
#include "wire.h"

enum { has_input = 1, on_terminal = 2, needs_folder = 4 };
/* Where the daemon puts the master of a terminal. */
enum { master = 4 };

/* What an answer is about, as launch.ts knows it. */
enum subject { pipes_made, not_started, folder_not_entered };

struct order {
  uint32_t flags, uid, gid, rows, columns;
  size_t group_count;
  gid_t *groups;
  char *folder, **arguments, **variables;
};

static void tell(enum subject subject, int error, int in, int out, int err) {
  uint32_t said[] = {subject, (uint32_t)error, (uint32_t)in, (uint32_t)out, (uint32_t)err};
  send_frame(said, sizeof said);
}

static _Noreturn void fail(enum subject subject, int error) {
  tell(subject, error, 0, 0, 0);
  _exit(EX_OSERR);
}

/* What is counted takes at least a byte each in the frame, so a count beyond it is wrong and not a reason to allocate. */
static size_t take_count(struct frame *frame) {
  size_t count = take_number(frame);
  if (count > (size_t)(frame->end - frame->at)) end_for_bad_frame();
  return count;
}

static void *allocate(size_t count, size_t size) {
  void *memory = calloc(count, size);
  if (memory == NULL) fail(not_started, ENOMEM);
  return memory;
}

/* With a null pointer at the end, as execve wants them. */
static char **take_texts(struct frame *frame, size_t count) {
  char **texts = allocate(count + 1, sizeof *texts);
  for (size_t i = 0; i < count; i++) texts[i] = take_text(frame);
  return texts;
}

static struct order take_order(struct frame *frame) {
  struct order order = {.flags = take_number(frame), .uid = take_number(frame), .gid = take_number(frame)};
  order.rows = take_number(frame);
  order.columns = take_number(frame);
  order.group_count = take_count(frame);
  size_t arguments = take_count(frame), variables = take_count(frame);
  order.groups = allocate(order.group_count + 1, sizeof *order.groups);
  for (size_t i = 0; i < order.group_count; i++) order.groups[i] = take_number(frame);
  order.folder = take_text(frame);
  order.arguments = take_texts(frame, arguments);
  order.variables = take_texts(frame, variables);
  if (arguments == 0 || frame->at != frame->end) end_for_bad_frame();
  return order;
}

/* Short of memory, the kernel ends the largest of the processes with the highest score: never the daemon first. A container may forbid this. */
static void die_before_daemon(void) {
  int score = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (score < 0) return;
  if (write(score, "900", 3) != 3) errno = 0;
  close(score);
}

/* So that the user can open it again by name, as /dev/stderr. On file systems without owners it stays the daemon's. */
static void give_to_user(int descriptor, const struct order *order) {
  if (fchown(descriptor, order->uid, order->gid) != 0) errno = 0;
}

static void put_at(int descriptor, int number) {
  if (dup2(descriptor, number) < 0) fail(not_started, errno);
}

static void make_pipe(int ends[2]) {
  if (pipe2(ends, O_CLOEXEC) != 0) fail(not_started, errno);
}

static void use_pipes(const struct order *order) {
  int in[2] = {-1, -1}, out[2], err[2];
  if (order->flags & has_input) make_pipe(in);
  make_pipe(out);
  make_pipe(err);
  tell(pipes_made, 0, in[1], out[0], err[0]);
  struct frame opened;
  /* The daemon could not open them, or is gone. */
  if (!receive_frame(&opened)) _exit(EX_IOERR);
  if (in[0] >= 0) put_at(in[0], STDIN_FILENO), give_to_user(STDIN_FILENO, order);
  put_at(out[1], STDOUT_FILENO);
  put_at(err[1], STDERR_FILENO);
  give_to_user(STDOUT_FILENO, order);
  give_to_user(STDERR_FILENO, order);
}

static int set_size(int terminal, uint32_t rows, uint32_t columns) {
  struct winsize size = {.ws_row = (unsigned short)rows, .ws_col = (unsigned short)columns};
  return ioctl(terminal, TIOCSWINSZ, &size);
}

/* The daemon starts each helper in a session of its own, whose terminal this becomes. */
static void use_terminal(const struct order *order) {
  int unlocked = 0;
  if (ioctl(master, TIOCSPTLCK, &unlocked) != 0) fail(not_started, errno);
  int terminal = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY);
  if (terminal < 0) fail(not_started, errno);
  give_to_user(terminal, order);
  if (set_size(terminal, order->rows, order->columns) != 0 || ioctl(terminal, TIOCSCTTY, 0) != 0) fail(not_started, errno);
  for (int i = 0; i < 3; i++) put_at(terminal, i);
  close(terminal);
  close(master);
}

/* A daemon that is not root can start only what is its own, and may not say so again. */
static void become_user(const struct order *order) {
  if (order->uid == getuid() && order->uid != 0) return;
  bool is_done = setgroups(order->group_count, order->groups) == 0 && setresgid(order->gid, order->gid, order->gid) == 0 &&
                 setresuid(order->uid, order->uid, order->uid) == 0;
  if (!is_done) fail(not_started, errno);
}

static const char *search_path(char **variables) {
  for (; *variables != NULL; variables++) {
    if (strncmp(*variables, "PATH=", 5) == 0) return *variables + 5;
  }
  return "";
}

/* One try for each folder of the search path; the reason of the last failure is the one that is told. An empty folder is the current one. */
static void become_program(const struct order *order) {
  char *name = order->arguments[0];
  if (strchr(name, '/') != NULL) {
    execve(name, order->arguments, order->variables);
    return;
  }
  const char *from = search_path(order->variables);
  char *path = allocate(strlen(from) + strlen(name) + sizeof "./", 1);
  for (const char *end;; from = end + 1) {
    end = strchrnul(from, ':');
    sprintf(path, "%.*s/%s", end == from ? 1 : (int)(end - from), end == from ? "." : from, name);
    execve(path, order->arguments, order->variables);
    if (*end == '\0') return;
  }
}

int command(void) {
  struct frame frame;
  if (!receive_frame(&frame)) return EX_IOERR;
  struct order order = take_order(&frame);
  /* Not only ours: the command gets none of what the daemon may have been started with. Kernels before 5.11 cannot do it in one call. */
  bool is_closed = close_range(daemon_at, ~0U, CLOSE_RANGE_CLOEXEC) == 0 || fcntl(daemon_at, F_SETFD, FD_CLOEXEC) == 0;
  if (!is_closed) fail(not_started, errno);
  die_before_daemon();
  if (order.flags & on_terminal) use_terminal(&order);
  else use_pipes(&order);
  become_user(&order);
  if (chdir(order.folder) != 0 && (order.flags & needs_folder)) fail(folder_not_entered, errno);
  become_program(&order);
  fail(not_started, errno);
}

int resize(const char *rows, const char *columns) {
  return set_size(STDIN_FILENO, (uint32_t)strtoul(rows, NULL, 10), (uint32_t)strtoul(columns, NULL, 10)) == 0 ? EX_OK : EX_OSERR;
}
