import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { prometheusMetrics } from "#lib/metrics.ts";
import { recordedLog } from "../../../test/world/recorded-log.ts";
import { settle, SteppedClock } from "../../../test/world/stepped-clock.ts";
import { firstCreates, firstMs, laterCreates, quietMs, Rehearsals, restTimes } from "./rehearsals.ts";

interface Asked {
  readonly creates: number;
  readonly goesOn: () => boolean;
  readonly end: (made: number) => void;
  readonly fail: (error: Error) => void;
}

const live = new AbortController().signal;

/** Rehearsals that a test ends itself, collections that it makes up, and sandboxes that nobody gets. */
class Scene {
  readonly clock = new SteppedClock();
  readonly log = recordedLog();
  readonly played: Asked[] = [];
  asked = 0;
  collected: () => void = () => expect.unreachable();
  readonly rehearsals = new Rehearsals({
    clock: this.clock,
    log: this.log.log,
    metrics: prometheusMetrics(new Registry()),
    asked: () => this.asked,
    onCollected: (handler) => {
      this.collected = handler;
      return () => (this.collected = () => {});
    },
    rehearse: (creates, goesOn) => new Promise((resolve, reject) => this.played.push({ creates, goesOn, end: resolve, fail: reject })),
  });

  get last(): Asked {
    return this.played.at(-1) ?? expect.unreachable();
  }

  async first(): Promise<void> {
    const played = this.rehearsals.first(live);
    this.last.end(firstCreates);
    await played;
  }
}

test("before a server serves it rehearses, and begins nothing more after three seconds", async () => {
  const scene = new Scene();
  let isOver = false;
  const played = scene.rehearsals.first(live).then(() => (isOver = true));
  expect([scene.last.creates, scene.last.goesOn()]).toEqual([firstCreates, true]);
  await scene.clock.step(firstMs);
  expect([scene.last.goesOn(), isOver]).toEqual([false, false]);
  scene.last.end(200);
  await played;
});

test("whoever is told to end while it starts rehearses no further", async () => {
  const scene = new Scene();
  const told = new AbortController();
  const played = scene.rehearsals.first(told.signal);
  told.abort();
  expect(scene.last.goesOn()).toBe(false);
  scene.last.end(0);
  await played;
});

test("a rehearsal that fails is told of and fails nobody", async () => {
  const scene = new Scene();
  const played = scene.rehearsals.first(live);
  scene.last.fail(new Error("no port is free"));
  await played;
  expect(scene.log.lines.map(({ level, msg }) => [level, msg])).toEqual([
    ["warn", "creates could not be rehearsed; the next ones will take a little longer"],
  ]);
});

test("what a collection made it forget is rehearsed once nobody has asked for a sandbox for a while", async () => {
  const scene = new Scene();
  await scene.first();
  scene.collected();
  scene.collected();
  for (let create = 0; create < 3; create++) {
    scene.asked += 1;
    await scene.clock.step(quietMs - 1);
  }
  expect(scene.played).toHaveLength(1);
  await scene.clock.step(2 * quietMs);
  expect(scene.played).toHaveLength(2);
  expect(scene.last.creates).toBe(laterCreates);
});

test("whoever asks for a sandbox ends a rehearsal, which is played again later", async () => {
  const scene = new Scene();
  await scene.first();
  scene.collected();
  await scene.clock.step(quietMs);
  expect(scene.last.goesOn()).toBe(true);
  scene.asked += 1;
  expect(scene.last.goesOn()).toBe(false);
  scene.last.end(8);
  await scene.clock.step(quietMs);
  expect(scene.played).toHaveLength(3);
});

test("a collection while it rehearses is none: what is in use is not forgotten", async () => {
  const scene = new Scene();
  const played = scene.rehearsals.first(live);
  scene.collected();
  scene.last.end(firstCreates);
  await played;
  await scene.clock.step(60_000);
  expect(scene.played).toHaveLength(1);
});

test("however often it is collected, it rests many times as long as it rehearses", async () => {
  const scene = new Scene();
  await scene.first();
  scene.collected();
  await scene.clock.step(quietMs);
  await scene.clock.step(700);
  scene.last.end(laterCreates);
  await settle();
  scene.collected();
  await scene.clock.step(restTimes * 700 - 1);
  expect(scene.played).toHaveLength(2);
  await scene.clock.step(1);
  expect(scene.played).toHaveLength(3);
});

test("a server that ends waits for its rehearsal, which goes no further, and begins no other", async () => {
  const scene = new Scene();
  const played = scene.rehearsals.first(live);
  const ended = scene.rehearsals[Symbol.asyncDispose]();
  expect(scene.last.goesOn()).toBe(false);
  scene.last.end(8);
  await Promise.all([played, ended]);
  expect(scene.clock.pending).toBe(0);
});
