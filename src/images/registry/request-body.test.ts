import { describe, expect, test } from "vitest";
import { SteppedClock } from "../../../test/world/stepped-clock.ts";
import { bodyStream, idleMs } from "./request-body.ts";

async function* pieces(count: number): AsyncGenerator<Buffer, void> {
  for (let index = 0; index < count; index++) {
    await Promise.resolve();
    yield Buffer.alloc(100_000, index);
  }
}

const what = "the upload";

describe("what is sent with a request", () => {
  test("is given up when the other side has taken nothing for a while", async () => {
    const clock = new SteppedClock();
    using sending = bodyStream({ bytes: 1_000_000, open: () => pieces(10) }, { what, clock, signal: undefined });
    const taken = sending.stream[Symbol.asyncIterator]();
    await taken.next();
    await clock.step(idleMs - 1);
    expect(sending.signal.aborted).toBe(false);
    await clock.step(1);
    expect(sending.signal.reason).toMatchObject({ code: "unreachable", message: "the upload: the registry has taken nothing for 30 s" });
  });

  test("is not watched any more once all of it is taken, and leaves no timer when it is done with", async () => {
    const clock = new SteppedClock();
    using sending = bodyStream({ bytes: 300_000, open: () => pieces(3) }, { what, clock, signal: undefined });
    let bytes = 0;
    for await (const chunk of sending.stream) bytes += (chunk as Buffer).length;
    expect([bytes, clock.pending]).toEqual([300_000, 0]);
    const broken = bodyStream({ bytes: 300_000, open: () => pieces(3) }, { what, clock, signal: undefined });
    await broken.stream[Symbol.asyncIterator]().next();
    broken[Symbol.dispose]();
    expect(clock.pending).toBe(0);
  });

  test("ends with the caller's wish", () => {
    const abort = new AbortController();
    using sending = bodyStream({ bytes: 0, open: () => pieces(0) }, { what, clock: new SteppedClock(), signal: abort.signal });
    abort.abort(new Error("enough"));
    expect(sending.signal.reason).toMatchObject({ message: "enough" });
  });
});
