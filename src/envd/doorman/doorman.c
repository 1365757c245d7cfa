/*
 * The doorman of a waiting sandbox. It answers in place of the daemon until the sandbox is claimed: a Node process that has slept takes
 * 3 ms of a processor to wake up and answer once, this one a tenth of that, and a burst of creates is as long as its processors' time
 * (ADR 56).
 *
 * It knows two requests: GET /health, to which it says what the daemon told it to say, and an /init that the control plane signed for
 * this pod and this boot. That one it answers, keeps, and hands to the daemon when somebody knocks next, or a moment later. With any other
 * request it gives up its post at once: the daemon answers that one, and all that follow.
 *
 *   doorman PROGRAM [ARGUMENT …]
 *
 * opens the daemon's ports, leaves a process of its own at them and becomes the program, which finds the doorman at descriptor 3, the
 * listening sockets from 4 on, and their ports in AGENTBOX_DOORS. What the two say to each other is in door.ts, what the doorman makes of
 * a request in judge.h.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "judge.h"

enum { daemons_end = 3, first_door = 4, most_doors = 2, backlog = 511 };
/* A whole request comes at once from those who are expected here. */
enum { patience_ms = 1000 };
/* Who connects and says nothing is not shown to us for so long: clients do that with connections that they may need later. */
enum { silence_s = 60 };

static int daemon_socket;
static int doors[most_doors];
static int door_count;
/* Of the first door. */
static int port;

static void leave(void) { _exit(0); }

static int64_t now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static bool send_all(int to, const void *from, size_t size) {
  for (const char *next = from; size > 0;) {
    ssize_t sent = send(to, next, size, MSG_NOSIGNAL);
    if (sent <= 0) return false;
    next += sent;
    size -= (size_t)sent;
  }
  return true;
}

static bool receive_all(int from, void *to, size_t size) { return recv(from, to, size, MSG_WAITALL) == (ssize_t)size; }

/* ---- what is asked, and what is done about it */

/* Strange is also who does not finish. */
static enum verdict listen_to(int client, struct order *order) {
  int64_t until = now_ms() + patience_ms;
  for (;;) {
    struct pollfd watched = {.fd = client, .events = POLLIN};
    int64_t left = until - now_ms();
    if (poll(&watched, 1, left > 0 ? (int)left : 0) <= 0) return strange;
    ssize_t size = recv(client, request + got, request_room - got, 0);
    if (size <= 0) return strange;
    got += (size_t)size;
    *order = (struct order){0};
    enum verdict verdict = judge(order);
    if (verdict != more) return verdict;
  }
}

/* Best effort: where it does not work, who says nothing is strange. */
static void pass_over_silent(int door, int seconds) { setsockopt(door, IPPROTO_TCP, TCP_DEFER_ACCEPT, &seconds, sizeof seconds); }

/* The daemon has time for everybody. */
static void hand_back_doors(void) {
  for (int i = 0; i < door_count; i++) pass_over_silent(doors[i], 0);
}

static void tell_daemon(struct text sandbox_id, struct text body) {
  hand_back_doors();
  uint32_t sizes[] = {(uint32_t)sandbox_id.size, (uint32_t)body.size};
  bool is_told = send_all(daemon_socket, sizes, sizeof sizes) && send_all(daemon_socket, sandbox_id.at, sandbox_id.size) &&
                 send_all(daemon_socket, body.at, body.size);
  if (!is_told) leave();
}

/* Until somebody knocks, the daemon is gone, or the time is over. */
static void rest(void) {
  struct pollfd watched[1 + most_doors] = {{.fd = daemon_socket}};
  for (int i = 0; i < door_count; i++) watched[1 + i] = (struct pollfd){.fd = doors[i], .events = POLLIN};
  poll(watched, 1 + (nfds_t)door_count, (int)word.rest_ms);
}

/* Until nothing more comes from there. */
static void carry_all(int from, int to) {
  ssize_t size;
  while ((size = recv(from, request, request_room, 0)) > 0 && send_all(to, request, (size_t)size)) continue;
  shutdown(to, SHUT_WR);
}

/* Whoever is here already is brought to the daemon, with what he has said. One process for each direction: neither waits for the other. */
static void bring_to_daemon(int client) {
  struct sockaddr_in here = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  int daemon = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connect(daemon, (struct sockaddr *)&here, sizeof here) != 0 || !send_all(daemon, request, got)) return;
  if (fork() == 0) carry_all(client, daemon);
  else carry_all(daemon, client);
}

/* The daemon has the doors too, so nobody is refused meanwhile; and whoever comes after its end must be. */
static void give_up_post(int client) {
  tell_daemon((struct text){NULL, 0}, (struct text){NULL, 0});
  for (int i = 0; i < door_count; i++) close(doors[i]);
  if (client >= 0) bring_to_daemon(client);
  leave();
}

static void receive(int client) {
  struct order order;
  got = 0;
  switch (listen_to(client, &order)) {
    case ask_health:
      send_all(client, health.at, health.size);
      break;
    case good_order:
      send_all(client, accepted.at, accepted.size);
      close(client);
      rest();
      tell_daemon(order.sandbox_id, order.body);
      leave();
      break;
    default:
      /* That order ends every process here, so nobody could carry its answer back: who gives it finds the daemon when he gives it again. */
      if (begins_with("POST /retire ")) close(client), client = -1;
      give_up_post(client);
  }
  close(client);
}

static bool hear_word(void) {
  if (!receive_all(daemon_socket, &word, sizeof word)) return false;
  size_t sizes[] = {word.health_size, word.accepted_size, word.subject_size};
  if (sizes[0] > word_room || sizes[1] > word_room || sizes[2] > word_room || sizes[0] + sizes[1] + sizes[2] > word_room) return false;
  if (!receive_all(daemon_socket, words, sizes[0] + sizes[1] + sizes[2])) return false;
  health = (struct text){words, sizes[0]};
  accepted = (struct text){health.at + health.size, sizes[1]};
  subject = (struct text){accepted.at + accepted.size, sizes[2]};
  return true;
}

static void stand_at_doors(void) {
  prctl(PR_SET_NAME, "doorman");
  if (sodium_init() < 0 || !hear_word()) {
    /* Sent away: the daemon answers by itself. */
    hand_back_doors();
    leave();
  }
  struct pollfd watched[1 + most_doors] = {{.fd = daemon_socket, .events = POLLIN}};
  for (int i = 0; i < door_count; i++) watched[1 + i] = (struct pollfd){.fd = doors[i], .events = POLLIN};
  for (;;) {
    if (poll(watched, 1 + (nfds_t)door_count, -1) < 0) continue;
    /* It speaks once: this is its end. */
    if (watched[0].revents != 0) leave();
    /* The second door is the daemon's alone. */
    if (door_count > 1 && watched[2].revents != 0) give_up_post(-1);
    if (watched[1].revents == 0) continue;
    int client = accept4(doors[0], NULL, NULL, SOCK_CLOEXEC);
    if (client < 0) give_up_post(-1);
    receive(client);
  }
}

/* ---- how it comes there */

/* Undefined or wrong is 0. */
static int port_in(const char *name, int otherwise) {
  const char *value = getenv(name);
  if (value == NULL) return otherwise;
  char *end;
  long port = strtol(value, &end, 10);
  return *value != '\0' && *end == '\0' && port > 0 && port < 65536 ? (int)port : 0;
}

static int open_door(int port) {
  int door = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  int yes = 1;
  struct sockaddr_in everywhere = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  if (door < 0) return -1;
  setsockopt(door, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  pass_over_silent(door, silence_s);
  if (bind(door, (struct sockaddr *)&everywhere, sizeof everywhere) == 0 && listen(door, backlog) == 0) return door;
  close(door);
  return -1;
}

static void become(char **program) {
  execv(program[0], program);
  perror(program[0]);
  _exit(127);
}

/* At a number that the daemon knows. */
static void place(int descriptor, int number) {
  dup2(descriptor, number);
  close(descriptor);
}

/* Out of the way of those numbers. */
static int put_aside(int descriptor) {
  int aside = fcntl(descriptor, F_DUPFD, 16);
  close(descriptor);
  return aside;
}

/* A grandchild, so that the sandbox's first process buries it and the program has no child that it does not know. */
static bool leave_doorman(int own_end, int other_end) {
  pid_t child = fork();
  if (child < 0) return false;
  if (child == 0) {
    pid_t doorman = fork();
    if (doorman != 0) _exit(doorman < 0);
    for (int i = 0; i < 3; i++) close(i);
    close(other_end);
    daemon_socket = own_end;
    stand_at_doors();
  }
  int status;
  return waitpid(child, &status, 0) == child && status == 0;
}

int main(int argc, char **argv) {
  if (argc < 2) {
    fputs("usage: doorman PROGRAM [ARGUMENT …]\n", stderr);
    return 64;
  }
  char ports[2 * sizeof "65535"];
  /* An image's or a template's own would be taken for ours. */
  unsetenv("AGENTBOX_DOORS");
  port = port_in("AGENTBOX_ENVD_PORT", 49983);
  int second = port_in("AGENTBOX_INTERPRETER_PORT", 0);
  int ends[2];
  /* Where there is no post to hold the program opens its ports itself, and says what is wrong with them. */
  if (port == 0 || (doors[0] = open_door(port)) < 0) become(argv + 1);
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) {
    close(doors[0]);
    become(argv + 1);
  }
  door_count = 1;
  snprintf(ports, sizeof ports, "%d", port);
  if (second != 0 && (doors[1] = open_door(second)) >= 0) {
    door_count = 2;
    snprintf(ports, sizeof ports, "%d,%d", port, second);
  }
  if (!leave_doorman(ends[0], ends[1])) {
    perror("doorman");
    return 71;
  }
  close(ends[0]);
  ends[1] = put_aside(ends[1]);
  for (int i = 0; i < door_count; i++) doors[i] = put_aside(doors[i]);
  place(ends[1], daemons_end);
  for (int i = 0; i < door_count; i++) place(doors[i], first_door + i);
  setenv("AGENTBOX_DOORS", ports, 1);
  become(argv + 1);
}
