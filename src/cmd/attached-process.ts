import type { AttachedProcess } from "#cli/context.ts";
import type { ProcessSignals } from "./process-signals.ts";

/** The streams and signals of this process, while a command that runs elsewhere has them. */
let isAttached = false;

export function attachProcess(signals: ProcessSignals): AttachedProcess {
  const { stdin, stdout, stderr } = process;
  isAttached = true;
  return {
    stdin,
    stdout,
    stderr,
    isStdinTerminal: stdin.isTTY,
    onSignal: (handler) => signals.passTo(handler),
    [Symbol.dispose]: () => {
      isAttached = false;
      signals.passTo(undefined);
      // An input without a reader would keep this process from ending.
      stdin.destroy();
    },
  };
}

/** `agentbox get … | head` closes our output early, which is not a failure; a command in a sandbox whose output it is gets notified. */
export function endOnBrokenOutput(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (!isAttached) process.exit(error.code === "EPIPE" ? 0 : 1);
    });
  }
}
