import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { settle, SteppedClock } from "../../../../../test/world/stepped-clock.ts";
import { endWhenQuiet } from "./end-when-quiet.ts";

function world(highWaterMark = 1000) {
  const clock = new SteppedClock();
  const from = new PassThrough();
  const to = new PassThrough({ highWaterMark });
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  let got = "";
  let over = false;
  to.on("end", () => {
    over = true;
  });
  const read = (): void => {
    to.on("data", (chunk: Buffer) => {
      got += chunk.toString();
    });
  };
  endWhenQuiet({ from, to, clock, ended });
  return { clock, from, to, end, read, got: () => got, over: () => over };
}

test("what is written is passed on, and the end of it too", async () => {
  const { from, read, got, over } = world();
  read();
  from.end("hello");
  await settle();
  expect([got(), over()]).toEqual(["hello", true]);
});

test("while the command runs silence is no end", async () => {
  const { clock, from, read, over, got } = world();
  read();
  await clock.step(60_000);
  expect(over()).toBe(false);
  from.write("late");
  await settle();
  expect(got()).toBe("late");
});

test("after the command's end the output ends when nothing more comes, though somebody still holds it", async () => {
  const { clock, from, end, read, got, over } = world();
  read();
  from.write("last words");
  end();
  await clock.step(30);
  from.write(", and more");
  await clock.step(49);
  expect(over()).toBe(false);
  await clock.step(200);
  expect([got(), over(), from.destroyed]).toEqual(["last words, and more", true, true]);
});

test("a reader who is slow gets everything: as long as he holds it up, silence is no end", async () => {
  const { clock, from, end, read, got, over } = world(4);
  from.write("0123456789");
  await settle();
  from.write("abc");
  end();
  await clock.step(10_000);
  expect(over()).toBe(false);
  read();
  await settle();
  await clock.step(200);
  expect([got(), over()]).toEqual(["0123456789abc", true]);
});

test("an error of the other side is the end: that is how a terminal says that nobody is there", async () => {
  const { from, read, over, got } = world();
  read();
  from.write("bye");
  await settle();
  from.destroy(new Error("EIO"));
  await settle();
  expect([got(), over()]).toEqual(["bye", true]);
});

test("a reader that leaves early leaves the writer with a broken pipe, also when it left before the beginning", async () => {
  const { from, to } = world();
  to.destroy();
  await settle();
  expect(from.destroyed).toBe(true);
  const late = new PassThrough();
  endWhenQuiet({ from: late, to, clock: new SteppedClock(), ended: new Promise(() => {}) });
  expect(late.destroyed).toBe(true);
});

test("a process that was too busy to read finds what was written before it calls the output ended", async () => {
  const { clock, from, end, read, got } = world();
  read();
  end();
  await settle();
  // Both are due in the same turn, the timer first.
  const stepped = clock.step(50);
  from.write("late words");
  await stepped;
  await clock.step(100);
  expect(got()).toBe("late words");
});
