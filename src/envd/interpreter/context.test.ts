import { expect, test } from "vitest";
import { SteppedClock } from "../../../test/world/stepped-clock.ts";
import { Context, type ExecuteListener } from "./context.ts";
import type { Kernel } from "./kernel.ts";

const facts = { id: "c", language: "python", cwd: "/" } as const;
const listener: ExecuteListener = { started: () => {}, running: () => {}, failed: () => {}, output: () => {}, message: () => {} };

/** As much of a process as a context uses: runs end when the test says so. */
class StubbornKernel {
  readonly runs: PromiseWithResolvers<"ended">[] = [];
  readonly isDead = false;
  interrupts = 0;

  run(): Promise<"ended"> {
    const run = Promise.withResolvers<"ended">();
    this.runs.push(run);
    return run.promise;
  }

  interrupt(): void {
    this.interrupts += 1;
  }

  hold(): void {}
}

function world(): { readonly kernel: StubbornKernel; readonly clock: SteppedClock; readonly context: Context } {
  const clock = new SteppedClock();
  const kernel = new StubbornKernel();
  // It has all that a context uses; the class has private parts beside.
  return { kernel, clock, context: new Context(facts, clock, () => Promise.resolve(kernel as unknown as Kernel)) };
}

test("code that does not heed an interrupt is interrupted again until it ends", async () => {
  const { kernel, clock, context } = world();
  const leaving = new AbortController();
  const executed = context.execute({ code: "1", env: {} }, listener, leaving.signal);
  await expect.poll(() => kernel.runs.length).toBe(1);
  leaving.abort();
  expect(kernel.interrupts).toBe(1);
  await clock.step(2500);
  expect(kernel.interrupts).toBe(3);
  kernel.runs[0]?.resolve("ended");
  await executed;
  await clock.step(10_000);
  expect([kernel.interrupts, clock.pending]).toEqual([3, 0]);
});

test("a client that disconnects before its turn is skipped", async () => {
  const { kernel, context } = world();
  const leaving = new AbortController();
  const first = context.execute({ code: "1", env: {} }, listener, new AbortController().signal);
  const second = context.execute({ code: "2", env: {} }, listener, leaving.signal);
  await expect.poll(() => kernel.runs.length).toBe(1);
  leaving.abort();
  kernel.runs[0]?.resolve("ended");
  await Promise.all([first, second]);
  expect([kernel.runs.length, kernel.interrupts]).toEqual([1, 0]);
});
