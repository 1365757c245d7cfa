import type { EndEvent } from "#envd-protocol/process-messages.ts";

/** How signals are called in the answers that clients know. */
const signalTexts: Readonly<Record<string, string>> = {
  SIGHUP: "hangup",
  SIGINT: "interrupt",
  SIGQUIT: "quit",
  SIGILL: "illegal instruction",
  SIGTRAP: "trace/breakpoint trap",
  SIGABRT: "aborted",
  SIGBUS: "bus error",
  SIGFPE: "floating point exception",
  SIGKILL: "killed",
  SIGUSR1: "user defined signal 1",
  SIGSEGV: "segmentation fault",
  SIGUSR2: "user defined signal 2",
  SIGPIPE: "broken pipe",
  SIGALRM: "alarm clock",
  SIGTERM: "terminated",
  SIGSTKFLT: "stack fault",
  SIGXCPU: "CPU time limit exceeded",
  SIGXFSZ: "file size limit exceeded",
  SIGVTALRM: "virtual timer expired",
  SIGPROF: "profiling timer expired",
  SIGIO: "I/O possible",
  SIGPWR: "power failure",
  SIGSYS: "bad system call",
};

/** What is told about a process that ended with a code or by a signal. */
export function endEvent(code: number | null, signal: string | null): EndEvent {
  if (signal !== null) {
    const status = `signal: ${signalTexts[signal] ?? signal}`;
    return { exitCode: -1, exited: false, status, error: status };
  }
  const status = `exit status ${code ?? 0}`;
  return { exitCode: code ?? 0, exited: true, status, ...(code === 0 ? {} : { error: status }) };
}
