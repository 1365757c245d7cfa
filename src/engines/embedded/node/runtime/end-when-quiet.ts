import type { Readable, Writable } from "node:stream";
import type { Clock } from "#lib/clock.ts";

export interface QuietEnd {
  readonly from: Readable;
  readonly to: Writable;
  readonly clock: Clock;
  /** Resolves when the command that writes has ended. */
  readonly ended: Promise<unknown>;
}

/** When nothing has come for so long, and the reader was not held back, all that the command wrote has been read. */
const quietMs = 50;

/**
 * Passes on what is read. It ends when all processes have closed the other side, or when the command has ended and there is nothing
 * more to read: background processes of the command may hold the other side for ever.
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
  // A reader that leaves early leaves the command with a broken pipe.
  if (to.destroyed) from.destroy();
  else to.once("close", () => from.destroy());
  const lookAgain = (): void => {
    const before = seen;
    // A process that was busy finds its timers over before it has read what came meanwhile: what is there to be read is read first.
    clock.after(quietMs, () =>
      setImmediate(() => {
        if (from.destroyed) return;
        if (seen === before && !to.writableNeedDrain) finish();
        else lookAgain();
      }),
    );
  };
  void ended.then(lookAgain);
}
