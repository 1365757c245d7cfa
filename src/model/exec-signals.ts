/** Signals that may be sent to a command in a sandbox. */
export const execSignals = [
  "SIGHUP",
  "SIGINT",
  "SIGQUIT",
  "SIGUSR1",
  "SIGUSR2",
  "SIGPIPE",
  "SIGTERM",
  "SIGKILL",
  "SIGCONT",
  "SIGSTOP",
  "SIGTSTP",
  "SIGWINCH",
] as const;
export type ExecSignal = (typeof execSignals)[number];
