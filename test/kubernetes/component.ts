/**
 * One server process of the bed. It writes to a log file, never outlives us (not even our own `kill -9`), and if it ends
 * by itself it says so on stderr, with the end of its log.
 */
import { spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";

export interface ComponentSpec {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Working directory; the log goes to `<name>.log` in it. */
  readonly folder: string;
}

export interface Component {
  readonly name: string;
  readonly pid: number;
  /** How it ended, once it has. */
  readonly ended: () => string | undefined;
  /** Resolves when it ends. */
  readonly gone: Promise<void>;
  /** SIGKILL, and resolves when it is gone: the bed keeps nothing that would need an orderly end. */
  readonly kill: () => Promise<void>;
}

// The kernel kills the process when its parent dies. The parent may die before that is set up, so the shell looks once more.
const guard = 'parent=$1; shift; [ "$PPID" = "$parent" ] || exit 1; exec "$@"';

export function startComponent(spec: ComponentSpec): Component {
  const logFile = join(spec.folder, `${spec.name}.log`);
  const log = openSync(logFile, "a");
  const guarded = ["--pdeathsig", "KILL", "--", "/bin/sh", "-c", guard, "sh", String(process.pid), spec.command, ...spec.args];
  // Detached: Ctrl-C in a terminal is for us, and we end the servers in our own order.
  const child = spawn("setpriv", guarded, { cwd: spec.folder, stdio: ["ignore", log, log], detached: true });
  closeSync(log);
  child.unref();

  let end: string | undefined;
  let wanted = false;
  const gone = new Promise<void>((resolve) => {
    const finish = (how: string): void => {
      end = how;
      if (!wanted) console.error(`${spec.name} ${how}; the end of ${logFile}:\n${lastLines(logFile, 25)}`);
      resolve();
    };
    child.once("exit", (code, signal) => finish(signal === null ? `exited with code ${code}` : `was killed by ${signal}`));
    child.once("error", (error) => finish(`could not be started: ${error.message} (setpriv is in the Debian package util-linux)`));
  });
  return {
    name: spec.name,
    pid: child.pid ?? -1,
    ended: () => end,
    gone,
    kill: async () => {
      wanted = true;
      child.ref();
      if (end === undefined) child.kill("SIGKILL");
      await gone;
    },
  };
}

/** Polls until `ready`; fails at once when one of `components` dies meanwhile. */
export async function waitUntil(what: string, ready: () => Promise<boolean>, components: readonly Component[]): Promise<void> {
  const giveUpAt = Date.now() + 90_000;
  const death = Promise.race(components.map((component) => component.gone.then(() => false)));
  for (;;) {
    if (await Promise.race([ready(), death])) return;
    const dead = components.find((component) => component.ended() !== undefined);
    if (dead !== undefined) throw new Error(`waiting for ${what}: ${dead.name} ${dead.ended()}`);
    if (Date.now() > giveUpAt) throw new Error(`${what} did not happen within 90 s`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

function lastLines(file: string, count: number): string {
  try {
    return readFileSync(file, "utf8").trimEnd().split("\n").slice(-count).join("\n");
  } catch (error) {
    return `(${String(error)})`;
  }
}
