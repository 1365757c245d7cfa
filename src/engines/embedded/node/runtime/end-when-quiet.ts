import type { Readable, Writable } from "node:stream";
import type { Clock } from "#lib/clock.ts";

export interface QuietEnd {
  readonly from: Readable;
  readonly to: Writable;
  readonly clock: Clock;
  /** Resolves when the command that writes has ended. */
  readonly ended: Promise<unknown>;
}

/** So long nothing came, although nobody kept it from coming: then all that the command wrote has been read. */
const quietMs = 50;

/**
 * Passes on what is read. The end is when everybody has closed the other side, or when the command has ended and nothing
 * more is there: processes that it left in the background may hold the other side for ever.
 */
export function endWhenQuiet({ from, to, clock, ended }: QuietEnd): void {
  let seen = 0;
  from.on("data", (chunk: Buffer) => {
    seen += chunk.length;
    if (!to.write(chunk)) from.pause();
  });
  to.on("drain", () => from.resume());
  const finish = (): void => {
    from.destroy();
    to.end();
  };
  from.once("end", finish);
  // The last user of a terminal closes it: reading from the other side is then an error.
  from.once("error", finish);
  from.once("close", finish);
  const lookAgain = (): void => {
    const before = seen;
    clock.after(quietMs, () => {
      if (from.destroyed) return;
      if (seen === before && !to.writableNeedDrain) finish();
      else lookAgain();
    });
  };
  void ended.then(lookAgain);
}
