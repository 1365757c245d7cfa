#define _GNU_SOURCE
#include "judge.h"

#include <stdio.h>
#include <string.h>

struct word word;
char words[word_room];
struct text health, accepted, subject;
char request[request_room];
size_t got;

bool begins_with(const char *beginning) {
  size_t size = strlen(beginning);
  return got >= size && memcmp(request, beginning, size) == 0;
}

static bool is_named(struct text name, const char *wanted) {
  return name.size == strlen(wanted) && strncasecmp(name.at, wanted, name.size) == 0;
}

static struct text trimmed(struct text value) {
  while (value.size > 0 && (*value.at == ' ' || *value.at == '\t')) value.at++, value.size--;
  while (value.size > 0 && (value.at[value.size - 1] == ' ' || value.at[value.size - 1] == '\t')) value.size--;
  return value;
}

/* No client of ours sends a header twice. */
static bool take_once(struct text *place, struct text value) {
  if (place->at != NULL) return false;
  *place = value;
  return true;
}

static bool take_header(struct text line, struct order *order, struct text *length) {
  const char *colon = memchr(line.at, ':', line.size);
  if (colon == NULL || colon == line.at || *line.at == ' ' || *line.at == '\t') return false;
  struct text name = {line.at, (size_t)(colon - line.at)};
  struct text value = trimmed((struct text){colon + 1, line.size - name.size - 1});
  if (is_named(name, "agentbox-sandbox-id")) return take_once(&order->sandbox_id, value);
  if (is_named(name, "agentbox-signature")) return take_once(&order->signature, value);
  if (is_named(name, "content-length")) return take_once(length, value);
  return !is_named(name, "transfer-encoding") && !is_named(name, "expect");
}

static bool read_headers(const char *from, const char *end, struct order *order, struct text *length) {
  while (from < end) {
    const char *line_end = memmem(from, (size_t)(end - from), "\r\n", 2);
    if (line_end == NULL || !take_header((struct text){from, (size_t)(line_end - from)}, order, length)) return false;
    from = line_end + 2;
  }
  return true;
}

/* The id stands between quotes in what is signed, so it must not need escaping there. */
static bool is_plain_id(struct text id) {
  static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
  if (id.size == 0 || id.size > longest_id) return false;
  for (size_t i = 0; i < id.size; i++) {
    if (id.at[i] == '\0' || strchr(plain, id.at[i]) == NULL) return false;
  }
  return true;
}

static bool is_signed(const struct order *order) {
  static unsigned char signature[crypto_sign_BYTES];
  static unsigned char digest[crypto_hash_sha256_BYTES];
  static char hex[crypto_hash_sha256_BYTES * 2 + 1];
  static char message[word_room + longest_id + sizeof hex + 16];
  size_t size;
  if (sodium_base642bin(signature, sizeof signature, order->signature.at, order->signature.size, NULL, &size, NULL,
                        sodium_base64_VARIANT_ORIGINAL) != 0 ||
      size != sizeof signature)
    return false;
  crypto_hash_sha256(digest, (const unsigned char *)order->body.at, order->body.size);
  sodium_bin2hex(hex, sizeof hex, digest, sizeof digest);
  int length = snprintf(message, sizeof message, "%.*s\"%.*s\",\"%s\"]", (int)subject.size, subject.at, (int)order->sandbox_id.size,
                        order->sandbox_id.at, hex);
  if (length < 0 || (size_t)length >= sizeof message) return false;
  return crypto_sign_verify_detached(signature, (const unsigned char *)message, (unsigned long long)length, word.key) == 0;
}

static bool read_length(struct text digits, size_t *length) {
  *length = 0;
  if (digits.size == 0 || digits.size > 6) return false;
  for (size_t i = 0; i < digits.size; i++) {
    if (digits.at[i] < '0' || digits.at[i] > '9') return false;
    *length = *length * 10 + (size_t)(digits.at[i] - '0');
  }
  return true;
}

static enum verdict judge_init(size_t head_size, struct order *order) {
  struct text digits = {NULL, 0};
  size_t length;
  const char *headers = (const char *)memchr(request, '\n', head_size) + 1;
  if (!read_headers(headers, request + head_size - 2, order, &digits) || !read_length(digits, &length)) return unknown;
  if (head_size + length > request_room || got > head_size + length) return unknown;
  if (got < head_size + length) return more;
  order->body = (struct text){request + head_size, length};
  return is_plain_id(order->sandbox_id) && order->signature.at != NULL && is_signed(order) ? good_order : unknown;
}

enum verdict judge(struct order *order) {
  const char *end = memmem(request, got, "\r\n\r\n", 4);
  if (end == NULL) return got == request_room ? unknown : more;
  size_t head_size = (size_t)(end - request) + 4;
  if (begins_with("GET /health HTTP/1.1\r\n")) return got == head_size ? ask_health : unknown;
  return begins_with("POST /init HTTP/1.1\r\n") ? judge_init(head_size, order) : unknown;
}
