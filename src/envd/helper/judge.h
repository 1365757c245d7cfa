/*
 * What the doorman makes of a request, with nothing but memory: test/fuzz tries it without sockets. A request is health, an order that the control plane
 * signed for this pod and this boot, or unknown; or more of it has to come.
 */
#ifndef AGENTBOX_JUDGE_H
#define AGENTBOX_JUDGE_H

#include <sodium.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { request_room = 64 * 1024, word_room = 16 * 1024, longest_id = 200 };

struct text {
  const char *at;
  size_t size;
};

/* What the daemon says once it can work: how long an order may wait for it, and the sizes of the texts that follow: two answers, and the beginning of
   what is signed. */
struct word {
  uint32_t rest_ms, health_size, accepted_size, subject_size;
  unsigned char key[crypto_sign_PUBLICKEYBYTES];
};

extern struct word word;
extern char words[word_room];
extern struct text health, accepted, subject;

/* The request of one client at a time, and how much of it is there. */
extern char request[request_room];
extern size_t got;

enum verdict { more, ask_health, good_order, unknown };

struct order {
  struct text sandbox_id, signature, body;
};

bool begins_with(const char *beginning);
enum verdict judge(struct order *order);

#endif
