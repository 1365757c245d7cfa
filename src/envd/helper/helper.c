/*
 * The helper: one static program beside the daemon for what Node cannot do in a sandbox. Static, so that it runs in every image; in C, because Node
 * has neither these system calls nor the speed of a process that has slept (ADR 73).
 *
 *   helper doorman PROGRAM [ARGUMENT …]   holds the daemon's ports while the sandbox waits   doorman.c, judge.c
 *   helper command                        becomes a command, on pipes or a terminal          command.c
 *   helper resize ROWS COLUMNS            sets the size of the terminal at descriptor 0      command.c
 *   helper attributes                     reads and writes the metadata of files             attributes.c
 *   helper watch                          passes on what the kernel says of folders          watch.c
 *
 * All but `doorman` are started by the daemon and end with it. The helper has the rights of the process that starts it and no others.
 */
#include "helper.h"

#include <stdio.h>
#include <string.h>
#include <sysexits.h>

int main(int argc, char **argv) {
  const char *verb = argc > 1 ? argv[1] : "";
  if (strcmp(verb, "doorman") == 0 && argc > 2) return doorman(argv + 2);
  if (strcmp(verb, "command") == 0 && argc == 2) return command();
  if (strcmp(verb, "resize") == 0 && argc == 4) return resize(argv[2], argv[3]);
  if (strcmp(verb, "attributes") == 0 && argc == 2) return attributes();
  if (strcmp(verb, "watch") == 0 && argc == 2) return watch();
  fputs("usage: helper doorman PROGRAM [ARGUMENT …] | command | resize ROWS COLUMNS | attributes | watch\n", stderr);
  return EX_USAGE;
}
