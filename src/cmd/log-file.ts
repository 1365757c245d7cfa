import { createWriteStream } from "node:fs";
import { mkdir, rename, stat } from "node:fs/promises";
import { dirname } from "node:path";
import type { TextSink } from "#cli/context.ts";
import type { Clock } from "#lib/clock.ts";
import { type Logger, openLog } from "#lib/log.ts";
import type { HomeFolder } from "./home-folder.ts";

export interface ServerLog extends AsyncDisposable {
  readonly log: Logger;
  /** Undefined when lines go to stderr. */
  readonly file: string | undefined;
}

export interface ServerLogOptions {
  readonly home: HomeFolder;
  readonly clock: Clock;
  readonly logFormat: "json" | "text" | undefined;
  readonly stderr: TextSink;
}

/** A file that is larger at the start is put aside, in place of the one before. */
const largestFile = 10 * 1024 * 1024;

/** People who start AgentBox in a terminal want to read its start text, not its log: that goes to a file unless they ask for it. */
export async function openServerLog({ home, clock, logFormat, stderr }: ServerLogOptions): Promise<ServerLog> {
  if (logFormat !== undefined) {
    const out = { write: (line: string) => stderr.write(line), isTTY: logFormat === "text" };
    return { log: openLog({ clock, out }), file: undefined, [Symbol.asyncDispose]: async () => {} };
  }
  await mkdir(dirname(home.logFile), { recursive: true, mode: 0o700 });
  const size = (await stat(home.logFile).catch(() => undefined))?.size ?? 0;
  if (size > largestFile) await rename(home.logFile, `${home.logFile}.1`);
  const stream = createWriteStream(home.logFile, { flags: "a", mode: 0o600 });
  // A full disk must not take down the server for want of its log.
  stream.on("error", (error) => stderr.write(`cannot write ${home.logFile}: ${error.message}\n`));
  return {
    log: openLog({ clock, out: { write: (line) => stream.write(line) } }),
    file: home.logFile,
    [Symbol.asyncDispose]: () => new Promise((resolve) => stream.end(() => resolve())),
  };
}
