/*
 * The metadata of files: extended attributes user.e2b.*, which Node cannot read or write. One process answers until the daemon closes its end.
 *
 * A request is a number and the path of a file. To `read` the answer is a number of entries, each a name without the prefix, the size of its value and
 * the value. With `replace` come names and values: the file then has these and no others, and the answer is an error number.
 * Links are not followed.
 */
#include <errno.h>
#include <string.h>
#include <sys/xattr.h>
#include <sysexits.h>

#include "helper.h"
#include "wire.h"

enum { read_them, replace_them };
/* Longer lists and values are not ours: all metadata of a file has 4096 bytes at most. */
enum { list_room = 4096, value_room = 4096 };

static const char prefix[] = "user.e2b.";
enum { prefix_size = sizeof prefix - 1 };

static char names[list_room];
/* Even if every name were as short as can be and had the longest value, an answer has less than 2 MB. */
static char answer[list_room / (prefix_size + 2) * (sizeof(uint32_t) + value_room) + list_room + sizeof(uint32_t)];

static bool is_ours(const char *name) { return strncmp(name, prefix, prefix_size) == 0; }

/* The size of the list; 0 also where a file system has no attributes. */
static size_t list_names(const char *path) {
  ssize_t size = llistxattr(path, names, sizeof names);
  return size < 0 ? 0 : (size_t)size;
}

static char *put(char *to, const void *from, size_t size) {
  memcpy(to, from, size);
  return to + size;
}

static void answer_with_all(const char *path) {
  static char value[value_room];
  char *end = answer + sizeof(uint32_t);
  uint32_t count = 0;
  size_t size = list_names(path);
  for (const char *name = names; name < names + size; name += strlen(name) + 1) {
    if (!is_ours(name)) continue;
    ssize_t length = lgetxattr(path, name, value, sizeof value);
    if (length < 0) continue;
    uint32_t value_size = (uint32_t)length;
    end = put(end, name + prefix_size, strlen(name) - prefix_size + 1);
    end = put(end, &value_size, sizeof value_size);
    end = put(end, value, value_size);
    count++;
  }
  put(answer, &count, sizeof count);
  send_frame(answer, (size_t)(end - answer));
}

static bool is_among(struct frame wanted, const char *name) {
  while (wanted.at < wanted.end) {
    if (strcmp(take_text(&wanted), name) == 0) return true;
    take_text(&wanted);
  }
  return false;
}

static int replace_all(const char *path, struct frame wanted) {
  size_t size = list_names(path);
  for (const char *name = names; name < names + size; name += strlen(name) + 1) {
    if (is_ours(name) && !is_among(wanted, name)) lremovexattr(path, name);
  }
  while (wanted.at < wanted.end) {
    const char *name = take_text(&wanted);
    const char *value = take_text(&wanted);
    if (lsetxattr(path, name, value, strlen(value), 0) != 0) return errno;
  }
  return 0;
}

int attributes(void) {
  struct frame frame;
  while (receive_frame(&frame)) {
    uint32_t wanted = take_number(&frame);
    const char *path = take_text(&frame);
    if (wanted == read_them) {
      answer_with_all(path);
      continue;
    }
    if (wanted != replace_them) end_for_bad_frame();
    uint32_t error = (uint32_t)replace_all(path, frame);
    send_frame(&error, sizeof error);
  }
  return EX_OK;
}
