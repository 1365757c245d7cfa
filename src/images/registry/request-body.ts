/** What is sent with a request, bit by bit: the whole of it is never in memory, and a peer that takes nothing more is given up. */
import { Readable } from "node:stream";
import { ChildAbort } from "#lib/abortable.ts";
import type { Clock, Timer } from "#lib/clock.ts";
import { ImageError } from "../image-error.ts";

export interface RequestBody {
  readonly bytes: number;
  /** From the beginning: asked for again when it has to be sent again. */
  readonly open: () => AsyncIterable<Buffer>;
}

export interface BodyStream extends Disposable {
  readonly stream: Readable;
  /** Aborted with the caller's, and when nothing moves. */
  readonly signal: AbortSignal;
}

/** Between two signs of life of a connection. */
export const idleMs = 30_000;

export function bodyStream(
  body: RequestBody,
  { what, clock, signal }: { what: string; clock: Clock; signal: AbortSignal | undefined },
): BodyStream {
  const abort = new ChildAbort(signal);
  let timer: Timer | undefined;
  const alive = (): void => {
    timer?.cancel();
    timer = clock.after(idleMs, () =>
      abort.abort(new ImageError("unreachable", `${what}: the registry has taken nothing for ${idleMs / 1000} s`)),
    );
  };
  async function* watched(): AsyncGenerator<Buffer, void> {
    for await (const chunk of body.open()) {
      alive();
      yield chunk;
    }
    // What follows is the wait for an answer, which has a limit of its own.
    timer?.cancel();
  }
  return {
    stream: Readable.from(watched(), { objectMode: false }),
    signal: abort.signal,
    [Symbol.dispose]: () => {
      timer?.cancel();
      abort[Symbol.dispose]();
    },
  };
}
