/** Where the daemon stands in a sandbox, and how it is started: the same on both engines. */

/** Read-only; everything that the daemon needs is below it, so that it runs in any image. */
export const daemonPath = "/.envd";

/** Of the Node that the daemon runs on. */
export const daemonFlags: readonly string[] = [
  // A waiting daemon has one connection at a time; four worker threads for the garbage collector are memory for nothing.
  "--v8-pool-size=0",
  "--max-semi-space-size=1",
  // What is asked of it once a second is compiled some day; on a thread of its own that leaves 11 MB behind.
  "--no-concurrent-recompilation",
  // With a larger heap V8 copies its 2 MB of built-in code to be near to it: inside a container it cannot map the same pages twice.
  "--max-old-space-size=1024",
];

/** What a sandbox's container runs as PID 1. Whatever is put behind it is the container's own command, for the daemon to run. */
export const daemonCommand: readonly string[] = [
  `${daemonPath}/init`,
  "--",
  `${daemonPath}/helper`,
  "doorman",
  `${daemonPath}/lib/ld.so`,
  "--library-path",
  `${daemonPath}/lib`,
  `${daemonPath}/node`,
  ...daemonFlags,
  `${daemonPath}/envd.cjs`,
];
