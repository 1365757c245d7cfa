/**
 * Writes lines of a log together: those of a few milliseconds are one system call. On a pipe each call wakes the reader,
 * which then often takes the processor; in a burst each create would pay for two lines. Warnings and errors are
 * written at once, with all lines before them, so that the last words of a process are there.
 */
import type { LogOptions } from "./log.ts";

export interface BatchedOut {
  readonly out: LogOptions["out"];
  /** Writes what is left; for a process that ends. */
  readonly flush: () => void;
}

const waitMs = 20;
const isInformation = /^\{"level":"info"/;

/** To a terminal at once: a person is watching. `later`: after a while. */
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
