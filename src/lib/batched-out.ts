/**
 * Lines of a log that are written together: what comes within a few milliseconds is one call of the system. To a pipe each call wakes its reader,
 * who then often takes the processor; a burst of creates would pay for two lines each, in the middle of its work. Whatever is more than
 * information is written at once, with all that came before it, so that the last words of a process are there.
 */
import type { LogOptions } from "./log.ts";

export interface BatchedOut {
  readonly out: LogOptions["out"];
  /** Writes what is left; for a process that ends. */
  readonly flush: () => void;
}

const waitMs = 20;
const isInformation = /^\{"level":"info"/;

/** To a terminal as it comes: somebody is watching. `later`: after a while. */
export function batchedOut(out: LogOptions["out"], later: (run: () => void) => unknown = afterAWhile): BatchedOut {
  if (out.isTTY === true) return { out, flush: () => {} };
  let pending = "";
  const flush = (): void => {
    const text = pending;
    pending = "";
    if (text !== "") out.write(text);
  };
  const write = (line: string): void => {
    if (pending === "") later(flush);
    pending += line;
    if (!isInformation.test(line)) flush();
  };
  return { out: { write }, flush };
}

function afterAWhile(run: () => void): void {
  setTimeout(run, waitMs);
}
