/*
 * The doorman's judgement of requests, without its sockets: built with the sanitizers of the compiler, which end it at the first byte that
 * is read where none was received. Reads the control plane's key, the beginning of what is signed, and requests from standard input (each
 * with its size before it), lets each grow byte by byte, a long one in larger steps, and writes what became of it: the verdict, after how many bytes, the sandbox's id
 * and the body.
 */
#include <sanitizer/asan_interface.h>
#include <stdio.h>

#include "../../src/envd/helper/judge.h"

static bool read_in(void *to, size_t size) { return size == 0 || fread(to, size, 1, stdin) == 1; }

static void write_out(struct text text) {
  uint32_t size = (uint32_t)text.size;
  fwrite(&size, sizeof size, 1, stdout);
  fwrite(text.at == NULL ? "" : text.at, text.size, 1, stdout);
}

static enum verdict grown(size_t size, struct order *order) {
  enum verdict verdict = more;
  for (got = 0; got < size && verdict == more;) {
    got += size / 1024 + 1;
    if (got > size) got = size;
    ASAN_UNPOISON_MEMORY_REGION(request, got);
    ASAN_POISON_MEMORY_REGION(request + got, request_room - got);
    *order = (struct order){0};
    verdict = judge(order);
  }
  ASAN_UNPOISON_MEMORY_REGION(request, request_room);
  return verdict;
}

int main(void) {
  uint32_t size;
  if (sodium_init() < 0 || !read_in(word.key, sizeof word.key) || !read_in(&size, sizeof size) || !read_in(words, size)) return 1;
  subject = (struct text){words, size};
  while (read_in(&size, sizeof size) && size <= request_room && read_in(request, size)) {
    struct order order = {0};
    uint32_t answer[] = {grown(size, &order), (uint32_t)got};
    fwrite(answer, sizeof answer, 1, stdout);
    write_out(order.sandbox_id);
    write_out(order.body);
    fflush(stdout);
  }
  return 0;
}
