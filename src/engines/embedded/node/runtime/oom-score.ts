/**
 * When the machine itself runs out of memory, sandboxes go before services; when a sandbox does, its commands go before its daemon. The kernel
 * adds this many thousandths of the limit to what a process uses: with a small limit, and a daemon larger than each process of a fork bomb, the
 * distance has to be large.
 */
export const oomScores = {
  daemon: 100,
  /** The first process of a container without the daemon. */
  container: 500,
  /** The same that the daemon gives its own commands. */
  command: 900,
} as const;

/**
 * A command line whose processes have this score from their start. The runtime's specification has a field for it, but that holds for the
 * container as a whole: a command in it would get the container's score. Without the field both inherit the score of the runtime's process.
 */
export function withOomScore(score: number, argv: readonly string[]): readonly [string, ...string[]] {
  return ["/bin/sh", "-c", '{ echo "$0" >/proc/self/oom_score_adj; } 2>/dev/null; exec "$@"', String(score), ...argv];
}
