import { expect, test } from "vitest";
import { SteppedClock } from "../../../../../test/world/stepped-clock.ts";
import { RuntimeCommands } from "./runtime-commands.ts";

/** A command that goes on until it is killed. */
const hangs = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true }));

test("a command that does not end is killed at its deadline, and its caller is told", async () => {
  const clock = new SteppedClock();
  const running = new RuntimeCommands(clock, 30_000).run("runc create", hangs).catch(String);
  await clock.step(30_000);
  expect(await running).toContain("runc create did not end within 30 s and was killed");
  expect(clock.pending).toBe(0);
});

test("a command that ends in time leaves no timer", async () => {
  const clock = new SteppedClock();
  expect(await new RuntimeCommands(clock).run("runc create", async () => 7)).toBe(7);
  expect(clock.pending).toBe(0);
});

test("the caller can end a command, and the node's end ends all of them and refuses more", async () => {
  const commands = new RuntimeCommands(new SteppedClock());
  const caller = new AbortController();
  const one = commands.run("runc exec", hangs, { signal: caller.signal });
  caller.abort(new Error("the client left"));
  await expect(one).rejects.toThrow("the client left");
  const two = commands.run("runc exec", hangs);
  commands.end();
  await expect(two).rejects.toThrow("the node closes");
  await expect(commands.run("runc exec", async () => 0)).rejects.toThrow("the node closes");
});

test("commands wait for their places and pass over those whose places are taken; one whose caller leaves waits no longer", async () => {
  const clock = new SteppedClock();
  const commands = new RuntimeCommands(clock, 1_000);
  const of = (pod: string): { places: { name: string; most: number }[] } => ({ places: [{ name: pod, most: 1 }] });
  const first = commands.run("first", hangs, of("a")).catch(String);
  const caller = new AbortController();
  const second = commands.run("second", async () => "ran", { ...of("a"), signal: caller.signal }).catch(String);
  const third = commands.run("third", async () => "ran", of("a"));
  expect(await commands.run("fourth", async () => "ran", of("b"))).toBe("ran");
  caller.abort(new Error("the client left"));
  expect(await second).toContain("the client left");
  await clock.step(1_000);
  expect(await first).toContain("first did not end within 1 s");
  expect(await third).toBe("ran");
  expect(clock.pending).toBe(0);
});
