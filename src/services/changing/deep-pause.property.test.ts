import * as fc from "fast-check";
import { expect, test } from "vitest";
import { isClaimed, sandboxIdOf } from "#model/claimed-pod.ts";
import { resumedFrom } from "#model/deep-pause.ts";
import { viewSandbox } from "#services/reading/get-sandbox.ts";
import { addressOf, ann } from "../../../test/world/claim-scene.ts";
import { type DeepPauseProcess, DeepPauseScene } from "../../../test/world/deep-pause-scene.ts";
import { settle } from "../../../test/world/stepped-clock.ts";

const step = fc.constantFrom(
  "pause",
  "deep pause",
  "resume",
  "resume elsewhere",
  "node",
  "start",
  "controllers end",
  "controllers begin",
  "copy",
  "time",
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

const admin = { kind: "admin" } as const;
const pods = [1, 2, 3];

class Story {
  readonly world: DeepPauseScene;
  readonly other: DeepPauseProcess;
  readonly id: string;
  /** What has been asked for, answered or not. */
  readonly asked: Promise<unknown>[] = [];
  #copy = Promise.withResolvers<void>();
  #controllers = true;

  constructor(world: DeepPauseScene, other: DeepPauseProcess, id: string) {
    this.world = world;
    this.other = other;
    this.id = id;
    world.images.hold = this.#copy.promise;
  }

  async act(what: Step): Promise<void> {
    const { world, id } = this;
    if (what === "pause") this.#ask(world.pause(id));
    else if (what === "deep pause") this.#ask(world.deepPause(id));
    else if (what === "resume") this.#ask(world.resume(id));
    else if (what === "resume elsewhere") this.#ask(world.resume(id, this.other));
    else if (what === "node") await this.#onItsPod((number) => world.nodeAt(number));
    else if (what === "start") for (const number of pods) await world.scene.nodeStarts(number);
    else if (what === "time") await world.clock.step(5000);
    else if (what === "copy") this.#copied();
    else if (what === "controllers end") await this.#endControllers();
    else this.#beginControllers();
    await settle();
  }

  /** Nothing bad happens any more: it can be resumed, and then nothing is left of its pauses. */
  async finish(): Promise<void> {
    const { world, id } = this;
    this.#copied();
    this.#beginControllers();
    for (let round = 0; round < 60; round++) {
      await this.#onItsPod((number) => world.nodeAt(number));
      this.#ask(world.resume(id));
      await world.clock.step(1000);
      for (const number of pods) await this.#comeBack(number);
      await world.clock.step(5000);
      const carrying = (await world.scene.pods()).find((pod) => sandboxIdOf(pod) === id && isClaimed(pod));
      const left = (await world.checkpoints()).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
      const isSettled = left.length === 0 && carrying !== undefined && resumedFrom(carrying) === undefined;
      if (isSettled && (await viewSandbox(world.process.deps, ann, id)).status === "Running") return;
    }
    throw new Error(`it does not come to rest: ${JSON.stringify(await world.checkpoints())}`);
  }

  #ask(asking: Promise<unknown>): void {
    this.asked.push(asking.catch(() => undefined));
  }

  #copied(): void {
    this.#copy.resolve();
    this.#copy = Promise.withResolvers();
    this.world.images.hold = this.#copy.promise;
  }

  async #endControllers(): Promise<void> {
    if (!this.#controllers) return;
    this.#controllers = false;
    this.#copied();
    await this.world.stopControllers();
  }

  #beginControllers(): void {
    if (this.#controllers) return;
    this.#controllers = true;
    this.world.startControllers();
  }

  async #onItsPod(act: (number: number) => Promise<void>): Promise<void> {
    const number = await this.world.at(this.id);
    if (!Number.isNaN(number)) await act(number);
  }

  /** A node does what it is told, in time. */
  async #comeBack(number: number): Promise<void> {
    const { world } = this;
    this.#copied();
    if (world.scene.daemons.at(addressOf(number)) !== undefined && (await world.needsExchange(number))) {
      await world.scene.nodeStarts(number);
      await world.clock.step(500);
    }
    await world.nodeAt(number);
  }
}

/** The sandbox is on one pod or paused, and has no end; and of pods that show its id one at most carries it. */
async function expectThereOnce({ world, id }: Story): Promise<void> {
  const carrying = (await world.scene.pods()).filter((pod) => sandboxIdOf(pod) === id && isClaimed(pod));
  expect(carrying.length, "pods that carry it").toBeLessThanOrEqual(1);
  expect(["Running", "Paused", "Starting"]).toContain((await viewSandbox(world.process.deps, ann, id)).status);
  expect(await world.scene.history.get(id, admin), "it has not ended").toBeUndefined();
  expect([...world.process.live.newestFirst({ scope: admin })].map(({ sandboxId }) => sandboxId)).toEqual([id]);
}

test("I1, I7: however pauses and resumes of two processes, nodes and ends of controllers follow each other, a sandbox is there once, and can be resumed", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 24 }), async (steps) => {
      await using world = await DeepPauseScene.open({ defaultStartupTimeout: "30s" }, pods.length);
      const { sandbox } = await world.process.create({});
      const story = new Story(world, await world.newProcess(2), sandbox.sandboxId);
      for (const what of steps) {
        await story.act(what);
        await expectThereOnce(story);
      }
      await story.finish();
    }),
    { numRuns: 25 },
  );
}, 60_000);
