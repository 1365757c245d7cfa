/**
 * Start and ready command of a template. A sandbox of the template runs the start command when it starts, with the user, the folder and the variables of the last
 * step, and its create is answered when the ready command succeeds. Pure.
 */
import type { BuildContext } from "./build-context.ts";

export interface StartPlan {
  readonly startCmd: string;
  readonly readyCmd: string;
  readonly context: BuildContext;
}

export const readyEveryMs = 2000;
export const readyWithinMs = 10 * 60_000;

/** What E2B waits where there is a start command and nothing says when it is ready. */
const usualReady = "sleep 20";

export function readyCommandOf({ startCmd, readyCmd }: Pick<StartPlan, "startCmd" | "readyCmd">): string {
  return readyCmd !== "" || startCmd === "" ? readyCmd : usualReady;
}

/** A ready command that only waits knows nothing of the program: a build waits once, and creates do not. */
export function isOnlyWaiting(readyCmd: string): boolean {
  return /^\s*sleep\s+[\d.]+[smh]?\s*$/.test(readyCmd);
}

const logFile = "/tmp/.agentbox-start.log";

const startScript = `cd "$1" 2>/dev/null || cd
setsid nohup /bin/bash -l -c "$2" >${logFile} 2>&1 </dev/null &`;

/** Starts it in the background and returns; it runs as the user that runs this. */
export function startCommand({ startCmd, context }: StartPlan): readonly string[] {
  const variables = Object.entries(context.env).map(([name, value]) => `${name}=${value}`);
  return ["/usr/bin/env", ...variables, "/bin/bash", "-c", startScript, "start", context.workdir ?? "", startCmd];
}

const readyScript = `cd "$1" 2>/dev/null || cd
until /bin/bash -l -c "$2" >/tmp/.agentbox-ready.log 2>&1; do sleep 0.2; done`;

/** Ends when the ready command has succeeded once. */
export function readyCommand({ readyCmd, context }: StartPlan): readonly string[] {
  const variables = Object.entries(context.env).map(([name, value]) => `${name}=${value}`);
  return ["/usr/bin/env", ...variables, "/bin/bash", "-c", readyScript, "ready", context.workdir ?? "", readyCmd];
}
