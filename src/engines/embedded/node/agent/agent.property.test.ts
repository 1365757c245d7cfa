import fc from "fast-check";
import { expect, test } from "vitest";
import { annotationKeys } from "#model/keys.ts";
import { freezeFailure, isFrozen, pauseWish } from "#model/pause.ts";
import { type Pod, Pods } from "#model/pod.ts";
import { happening, heal, play } from "../../../../../test/world/node-stories.ts";
import { NodeWorld } from "../../../../../test/world/node-world.ts";

function isOver({ status }: Pod): boolean {
  return status?.phase === "Succeeded" || status?.phase === "Failed";
}

/** What must not go back from one version of a pod to the next. */
class Progress {
  readonly mistakes: string[] = [];
  readonly #restarts = new Map<string, number>();
  readonly #ends = new Map<string | undefined, string | undefined>();

  see(pod: Pod): void {
    const { metadata, status = {} } = pod;
    const { phase, containerStatuses = [], initContainerStatuses = [] } = status;
    const end = this.#ends.get(metadata.uid);
    if (end !== undefined && end !== phase) this.mistakes.push(`${metadata.name}: ${end} → ${phase}`);
    if (isOver(pod)) this.#ends.set(metadata.uid, phase);
    for (const { name, restartCount } of [...containerStatuses, ...initContainerStatuses])
      this.#count(`${metadata.uid} ${name}`, restartCount);
  }

  #count(container: string, restarts: number): void {
    const before = this.#restarts.get(container) ?? 0;
    if (restarts < before) this.mistakes.push(`${container}: ${before} → ${restarts}`);
    this.#restarts.set(container, restarts);
  }
}

async function follow({ store }: NodeWorld, progress: Progress): Promise<void> {
  for await (const event of store.watch(Pods)) if (event.type !== "BOOKMARK") progress.see(event.object);
}

/** Every pod is where it should be when nothing stands in the way. */
async function expectConverged({ store, runtime }: NodeWorld): Promise<void> {
  const { items } = await store.list(Pods);
  const living = items.filter((pod) => !isOver(pod));
  expect(items.filter((pod) => isOver(pod) && pod.spec.restartPolicy === "Always")).toEqual([]);
  expect(living.filter(({ metadata, status }) => metadata.deletionTimestamp !== undefined || status?.phase !== "Running")).toEqual([]);
  for (const { spec, status } of living.filter((pod) => pod.spec.restartPolicy === "Always")) {
    const found = status?.containerStatuses?.map(({ name, image, ready }) => ({ name, image, ready }));
    expect(found).toEqual(spec.containers.map(({ name, image }) => ({ name, image, ready: true })));
  }
  expect(new Set(runtime.present().map(({ uid }) => uid))).toEqual(new Set(living.map(({ metadata }) => metadata.uid)));
  expect(runtime.present().flatMap(({ containers }) => containers.filter(({ state }) => state === "created"))).toEqual([]);
}

/** A container that is to stand still does, unless that has failed: then all of them go on. */
async function expectPausesGranted(world: NodeWorld): Promise<void> {
  const { items } = await world.store.list(Pods);
  for (const pod of items.filter((one) => !isOver(one) && one.spec.restartPolicy === "Always")) {
    const frozen = world.runtime.present().find(({ uid }) => uid === pod.metadata.uid)?.frozen;
    const isWanted = pauseWish(pod) !== undefined && freezeFailure(pod) === undefined;
    expect([pod.metadata.name, frozen, isFrozen(pod)]).toEqual([pod.metadata.name, isWanted, isWanted]);
  }
  for (const { metadata } of items) {
    await world.patchPod(metadata.name ?? "", { metadata: { annotations: { [annotationKeys.paused]: null } } });
  }
  await world.step(60_000);
  expect(world.runtime.present().filter(({ frozen }) => frozen)).toEqual([]);
}

async function expectNothingLeft(world: NodeWorld): Promise<void> {
  const { items } = await world.store.list(Pods);
  for (const { metadata } of items) await world.deletePod(metadata.name ?? "");
  await world.step(60_000);
  expect((await world.store.list(Pods)).items).toEqual([]);
  expect(world.runtime.present()).toEqual([]);
}

test("whatever happens to a node, it ends as its pods say, with nothing started twice and nothing left over", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(happening, { maxLength: 40, size: "max" }), async (story) => {
      await using world = await NodeWorld.start();
      const progress = new Progress();
      void follow(world, progress).catch(() => undefined);
      await play(world, story);
      await heal(world);
      await world.step(15 * 60_000);
      await expectPausesGranted(world);
      await expectConverged(world);
      await expectNothingLeft(world);
      expect(world.runtime.violations).toEqual([]);
      expect(progress.mistakes).toEqual([]);
      expect(JSON.stringify(world.logged.lines)).not.toContain("did not settle");
    }),
    { numRuns: Number(process.env["AGENTBOX_NODE_STORIES"] ?? 40) },
  );
}, 120_000);
