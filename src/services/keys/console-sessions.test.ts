import { generateKeyPairSync } from "node:crypto";
import { expect, test } from "vitest";
import type { Caller } from "#services/caller.ts";
import { SteppedClock } from "../../../test/world/stepped-clock.ts";
import { ConsoleSessions } from "./console-sessions.ts";

const callers: Readonly<Record<string, Caller>> = {
  red: { role: "tenant", team: "red", keyId: "red" },
  blue: { role: "tenant", team: "blue", keyId: "blue" },
};

class Scene {
  readonly clock = new SteppedClock();
  readonly sessions = new ConsoleSessions({
    clock: this.clock,
    privateKey: generateKeyPairSync("ed25519").privateKey,
    keys: { callerOf: (keyId) => callers[keyId] },
  });

  open(keyId: string): string {
    return this.sessions.open(callers[keyId] as Caller).text;
  }

  isOpen(text: string): boolean {
    return this.sessions.callerOf(text) !== undefined;
  }
}

test("a session that was signed out is over, and another one of its key goes on", () => {
  const scene = new Scene();
  const [first, second] = [scene.open("red"), scene.open("red")];
  scene.sessions.close(first);
  expect([scene.isOpen(first), scene.isOpen(second)]).toEqual([false, true]);
});

test("a key that signs out without end ends its sessions until then, no later one, and none of another key", async () => {
  const scene = new Scene();
  const [early, foreign] = [scene.open("red"), scene.open("blue")];
  for (let count = 0; count < 1000; count++) {
    await scene.clock.step(1);
    const text = scene.open("red");
    scene.sessions.close(text);
    expect(scene.isOpen(text)).toBe(false);
  }
  await scene.clock.step(1);
  const late = scene.open("red");
  expect([scene.isOpen(early), scene.isOpen(foreign), scene.isOpen(late)]).toEqual([false, true, true]);
});

test("what is over stays over when old sign-outs are forgotten", async () => {
  const scene = new Scene();
  const first = scene.open("red");
  await scene.clock.step(11 * 3_600_000);
  const second = scene.open("red");
  scene.sessions.close(first);
  scene.sessions.close(second);
  await scene.clock.step(2 * 3_600_000);
  scene.sessions.close(scene.open("blue"));
  expect([scene.isOpen(first), scene.isOpen(second)]).toEqual([false, false]);
});
