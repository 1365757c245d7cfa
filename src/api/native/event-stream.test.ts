import { describe, expect, test } from "vitest";
import { settle, SteppedClock } from "../../../test/world/stepped-clock.ts";
import { eventText, withHeartbeats } from "./event-stream.ts";

/** Items that come when the test says so. */
function pipe<T>() {
  const asked: PromiseWithResolvers<IteratorResult<T, unknown>>[] = [];
  const items: AsyncIterator<T, unknown> = {
    next: () => {
      const next = Promise.withResolvers<IteratorResult<T, unknown>>();
      asked.push(next);
      return next.promise;
    },
  };
  return { items, asked };
}

describe("a stream of events", () => {
  test("passes each item on as it comes, and asks for the next one when that was taken", async () => {
    const { items, asked } = pipe<number>();
    const stream = withHeartbeats(items, (item) => `item ${item}`, new SteppedClock());
    const first = stream.next();
    asked[0]?.resolve({ done: false, value: 1 });
    expect(await first).toEqual({ done: false, value: "item 1" });
    expect(asked).toHaveLength(1);
    void stream.next();
    expect(asked).toHaveLength(2);
  });

  test("says that it is there when nothing happens, and goes on with the item that it waits for", async () => {
    const clock = new SteppedClock();
    const { items, asked } = pipe<number>();
    const stream = withHeartbeats(items, String, clock);
    const quiet = stream.next();
    await settle();
    await clock.step(15_000);
    expect(await quiet).toEqual({ done: false, value: ": still here\n\n" });
    const item = stream.next();
    asked[0]?.resolve({ done: false, value: 7 });
    expect(await item).toEqual({ done: false, value: "7" });
    expect(asked).toHaveLength(1);
    expect(clock.pending).toBe(0);
  });

  test("ends with its items", async () => {
    const { items, asked } = pipe<number>();
    const last = withHeartbeats(items, String, new SteppedClock()).next();
    asked[0]?.resolve({ done: true, value: undefined });
    expect(await last).toEqual({ done: true, value: undefined });
  });

  test("writes an event in the lines that EventSource reads", () => {
    expect(eventText("sandbox", "v1", { text: "two\nlines" })).toBe('id: v1\nevent: sandbox\ndata: {"text":"two\\nlines"}\n\n');
  });
});
