/*
 * The doorman of a waiting sandbox. It answers in place of the daemon until the sandbox is claimed: a Node process that has slept takes 3 ms of a
 * processor to wake up and answer once, this one a tenth of that, and a burst of creates takes as long as its processors' time (ADR 73).
 *
 * It knows two requests: GET /health, which it answers as the daemon told it to, and an /init that the control plane signed for this pod and this boot.
 * It answers that one, keeps it, and hands it to the daemon with the next connection or a moment later. With any other request it steps aside at
 * once: the daemon answers that one and all that follow.
 *
 * It opens the daemon's ports, leaves a process of its own at them and becomes the program, which finds the doorman at descriptor 3, the listening
 * sockets from 4 on, and their ports in AGENTBOX_DOORS. door.ts has what the two say to each other, judge.c what the doorman makes of a request.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "helper.h"
#include "judge.h"
#include "wire.h"

enum { first_door = 4, most_doors = 2, backlog = 511 };
/* The control plane sends a request in one piece. */
enum { patience_ms = 1000 };
/* The kernel keeps a connection from us for so long while its client sends nothing: clients open connections that they may need later. */
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

/* ---- what is asked, and what is done about it */

/* A request that does not come to its end in time is unknown, too. */
static enum verdict listen_to(int client, struct order *order) {
  int64_t until = now_ms() + patience_ms;
  for (;;) {
    struct pollfd watched = {.fd = client, .events = POLLIN};
    int64_t left = until - now_ms();
    if (poll(&watched, 1, left > 0 ? (int)left : 0) <= 0) return unknown;
    ssize_t size = recv(client, request + got, request_room - got, 0);
    if (size <= 0) return unknown;
    got += (size_t)size;
    *order = (struct order){0};
    enum verdict verdict = judge(order);
    if (verdict != more) return verdict;
  }
}

/* Best effort: without it, a client that sends nothing is unknown. */
static void pass_over_silent(int door, int seconds) { setsockopt(door, IPPROTO_TCP, TCP_DEFER_ACCEPT, &seconds, sizeof seconds); }

/* The daemon accepts silent connections, as any server does. */
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

/* Until the next connection, the daemon's end, or the end of the time. */
static void rest(void) {
  struct pollfd watched[1 + most_doors] = {{.fd = daemon_socket}};
  for (int i = 0; i < door_count; i++) watched[1 + i] = (struct pollfd){.fd = doors[i], .events = POLLIN};
  poll(watched, 1 + (nfds_t)door_count, (int)word.rest_ms);
}

/* Until the sender closes. */
static void carry_all(int from, int to) {
  ssize_t size;
  while ((size = recv(from, request, request_room, 0)) > 0 && send_all(to, request, (size_t)size)) continue;
  shutdown(to, SHUT_WR);
}

/* Connects a client that is here already to the daemon, with what it has sent. One process for each direction: neither waits for the other. */
static void bring_to_daemon(int client) {
  struct sockaddr_in here = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  int daemon = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connect(daemon, (struct sockaddr *)&here, sizeof here) != 0 || !send_all(daemon, request, got)) return;
  if (fork() == 0) carry_all(client, daemon);
  else carry_all(daemon, client);
}

/* The daemon has the listening sockets too, so no connection is refused meanwhile; after the daemon's end all must be. */
static void step_aside(int client) {
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
      /* This request ends every process here, so no process could carry its answer back: the control plane repeats it, and finds the daemon. */
      if (begins_with("POST /retire ")) close(client), client = -1;
      step_aside(client);
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
    /* The daemon closed its end: it answers by itself. */
    hand_back_doors();
    leave();
  }
  struct pollfd watched[1 + most_doors] = {{.fd = daemon_socket, .events = POLLIN}};
  for (int i = 0; i < door_count; i++) watched[1 + i] = (struct pollfd){.fd = doors[i], .events = POLLIN};
  for (;;) {
    if (poll(watched, 1 + (nfds_t)door_count, -1) < 0) continue;
    /* The daemon speaks once, so this is its end. */
    if (watched[0].revents != 0) leave();
    /* The daemon alone answers at the second port. */
    if (door_count > 1 && watched[2].revents != 0) step_aside(-1);
    if (watched[1].revents == 0) continue;
    int client = accept4(doors[0], NULL, NULL, SOCK_CLOEXEC);
    if (client < 0) step_aside(-1);
    receive(client);
  }
}

/* ---- how it comes there */

/* 0 when it is no port. */
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

static _Noreturn void become(char **program) {
  execv(program[0], program);
  perror(program[0]);
  _exit(127);
}

/* At the number where the daemon looks for it. */
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

/* A grandchild, so that the sandbox's init reaps it and the program has no child that it does not know. */
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

int doorman(char **program) {
  char ports[2 * sizeof "65535"];
  /* A value from an image or a template would be taken for ours. */
  unsetenv("AGENTBOX_DOORS");
  port = port_in("AGENTBOX_ENVD_PORT", 49983);
  int second = port_in("AGENTBOX_INTERPRETER_PORT", 0);
  int ends[2];
  /* Without a port of its own the doorman is of no use: the program opens its ports itself, and says what is wrong with them. */
  if (port == 0 || (doors[0] = open_door(port)) < 0) become(program);
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) {
    close(doors[0]);
    become(program);
  }
  door_count = 1;
  snprintf(ports, sizeof ports, "%d", port);
  if (second != 0 && (doors[1] = open_door(second)) >= 0) {
    door_count = 2;
    snprintf(ports, sizeof ports, "%d,%d", port, second);
  }
  if (!leave_doorman(ends[0], ends[1])) {
    perror("doorman");
    return EX_OSERR;
  }
  close(ends[0]);
  ends[1] = put_aside(ends[1]);
  for (int i = 0; i < door_count; i++) doors[i] = put_aside(doors[i]);
  place(ends[1], daemon_at);
  for (int i = 0; i < door_count; i++) place(doors[i], first_door + i);
  setenv("AGENTBOX_DOORS", ports, 1);
  become(program);
}
