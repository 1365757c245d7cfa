/*
 * How the daemon and the helper talk over descriptor 3: frames of a 4-byte size and so many bytes. A frame holds numbers of 4 bytes and texts with a
 * zero at their end (src/envd/helper/helper-frames.ts writes and reads the same). Numbers are in the machine's own order: both sides run on one machine.
 */
#ifndef AGENTBOX_WIRE_H
#define AGENTBOX_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { daemon_at = 3, frame_room = 4 * 1024 * 1024 };

/* What is left to read of a frame. */
struct frame {
  char *at, *end;
};

bool send_all(int to, const void *from, size_t size);
bool receive_all(int from, void *to, size_t size);

/* The next frame of the daemon, in memory that the frame after it overwrites. False: the daemon has closed its end. */
bool receive_frame(struct frame *frame);
/* Each ends the helper when the frame does not hold what is taken: the daemon and the helper are then not of one version. */
uint32_t take_number(struct frame *frame);
char *take_text(struct frame *frame);
/* Ends the helper when the daemon is gone. */
void send_frame(const void *bytes, size_t size);

/* Exit codes as in sysexits.h. */
_Noreturn void end_for_bad_frame(void);

#endif
