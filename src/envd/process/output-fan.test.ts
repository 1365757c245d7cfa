import { expect, test } from "vitest";
import { OutputFan, type OutputListener } from "./output-fan.ts";

class Reader implements OutputListener {
  backlog = 0;
  got = 0;
  isCut = false;
  data(_: string, base64: string): void {
    this.got += Buffer.from(base64, "base64").length;
  }
  cut(): void {
    this.isCut = true;
  }
}

function fanOfOne(): { fan: OutputFan; calls: string[] } {
  const calls: string[] = [];
  return { fan: new OutputFan([{ pause: () => calls.push("pause"), resume: () => calls.push("resume") }]), calls };
}

test("a process waits for its only reader, and goes on when that one has caught up or gone", () => {
  const { fan, calls } = fanOfOne();
  const reader = new Reader();
  fan.add(reader);
  reader.backlog = 10_000_000;
  fan.data("stdout", Buffer.alloc(10));
  reader.backlog = 0;
  fan.flow();
  reader.backlog = 10_000_000;
  fan.data("stdout", Buffer.alloc(10));
  fan.remove(reader);
  expect(calls).toEqual(["pause", "resume", "pause", "resume"]);
  expect(reader.got).toBe(20);
});

test("one reader that keeps up keeps the process running, and a reader far behind is disconnected", () => {
  const { fan, calls } = fanOfOne();
  const [fast, slow] = [new Reader(), new Reader()];
  fan.add(fast);
  fan.add(slow);
  slow.backlog = 10_000_000;
  fan.data("stderr", Buffer.alloc(100_000));
  expect([slow.isCut, slow.got, calls]).toEqual([false, 100_000, []]);
  slow.backlog = 100_000_000;
  fan.data("stderr", Buffer.alloc(10));
  expect([slow.isCut, fast.got, calls]).toEqual([true, 100_010, []]);
});

test("without a reader output is dropped", () => {
  const { fan, calls } = fanOfOne();
  fan.data("pty", Buffer.alloc(1000));
  expect(calls).toEqual([]);
});
