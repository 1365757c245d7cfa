/**
 * Lines that are written together: what comes in one turn of the event loop is one call of the system, after the turn. To a pipe each call waits
 * for the kernel and often wakes its reader, who then takes the processor; a burst of requests would pay for two lines each, in the middle of their work.
 */
import type { LogOptions } from "./log.ts";

export interface BatchedOut {
  readonly out: LogOptions["out"];
  /** Writes what is left; for a process that ends in the middle of a turn. */
  readonly flush: () => void;
}

/** `later`: after this turn. */
export function batchedOut(out: LogOptions["out"], later: (run: () => void) => unknown = setImmediate): BatchedOut {
  let pending = "";
  const flush = (): void => {
    const text = pending;
    pending = "";
    if (text !== "") out.write(text);
  };
  const write = (text: string): void => {
    if (pending === "") later(flush);
    pending += text;
  };
  return { out: { ...(out.isTTY === undefined ? {} : { isTTY: out.isTTY }), write }, flush };
}
