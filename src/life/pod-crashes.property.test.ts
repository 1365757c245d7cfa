/** One pod through whole uses, while the controller dies in any of its calls and another one goes on. */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { sandboxIdOf, sandboxPhaseOf } from "#model/claimed-pod.ts";
import type { Pod } from "#model/pod.ts";
import { embeddedPodScene } from "../../test/world/embedded-scenes.ts";
import { Life } from "../../test/world/mortal.ts";
import { image, type PodScene } from "../../test/world/pod-scene.ts";
import { settle } from "../../test/world/stepped-clock.ts";
import { EndRecorder } from "./record/end-recorder.ts";

const step = fc.constantFrom("claim fast", "claim slow", "release", "node", "restart", "late", "delete");
/** In which of its calls each controller dies: to the server and to the history together. More than it makes: it lives. */
const death = fc.integer({ min: 1, max: 4 });

/** A new process looks at the pod, and may die in its n-th call: the call has its effect, and no process hears of it. */
async function look(scene: PodScene, deathAt: number): Promise<void> {
  const life = new Life();
  life.endAfterCalls(deathAt);
  const { clock, log } = scene.deps;
  const client = life.hold(scene.client);
  const { cache } = scene;
  const recorder = new EndRecorder({ client, cache, clock, log, metrics: scene.metrics, history: life.hold(scene.history) });
  // One that has died never answers.
  void scene.reconcile({ ...scene.deps, client, recorder }).catch(() => {});
  await settle();
}

async function act(scene: PodScene, what: typeof step extends fc.Arbitrary<infer T> ? T : never, id: string): Promise<void> {
  const pod = await scene.pod();
  const phase = sandboxPhaseOf(pod);
  if (what === "node") await scene.nodeReports();
  else if (what === "delete") await scene.delete().catch(() => {});
  else if (what === "restart" && phase === "running") await scene.nodeRestarts("Error", 1);
  else if (what === "release") await scene.release({ sandboxId: sandboxIdOf(pod) ?? "none" });
  else if (what.startsWith("claim") && phase === "idle" && pod.metadata.deletionTimestamp === undefined)
    await scene.claim({ sandboxId: id, images: { main: image(what === "claim fast" ? "idle" : "app") } }).catch(() => pod);
}

test("I3, I7: whenever a controller dies, each sandbox gets one record, and no pod is idle with another's identity", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(step, death), { minLength: 5, maxLength: 25 }), async (story) => {
      await using world = await embeddedPodScene();
      const { scene, clock } = world;
      scene.answer = {};
      const given = new Set<string>();
      for (const [index, [what, deathAt]] of story.entries()) {
        if (await scene.isGone()) break;
        if (what === "late") await clock.step(61_000);
        await act(scene, what, `i${index}`);
        if (await scene.isGone()) break;
        note(given, await scene.pod());
        await look(scene, deathAt);
        await expectSound(scene, given);
      }
      await finish(scene, given);
    }),
    { numRuns: 100 },
  );
});

function note(given: Set<string>, pod: Pod): void {
  const id = sandboxIdOf(pod);
  if (id !== undefined) given.add(id);
}

/** Who is on no pod any more is in the history. */
async function expectSound(scene: PodScene, given: ReadonlySet<string>): Promise<void> {
  const pod = (await scene.isGone()) ? undefined : await scene.pod();
  const carried = pod === undefined ? undefined : sandboxIdOf(pod);
  const isIdle = pod !== undefined && sandboxPhaseOf(pod) === "idle";
  expect(isIdle ? carried : undefined).toBeUndefined();
  const ended = [...given].filter((id) => id !== carried);
  const recorded = await Promise.all(ended.map(async (id) => (await scene.record(id))?.sandboxId));
  expect(recorded).toEqual(ended);
}

/** Deletes the pod at last: then all that were ever given are in the history, once each. */
async function finish(scene: PodScene, given: ReadonlySet<string>): Promise<void> {
  if (!(await scene.isGone())) await scene.delete().catch(() => {});
  if (!(await scene.isGone())) await look(scene, Infinity);
  expect(await scene.isGone()).toBe(true);
  const { records } = await scene.history.search({ scope: { kind: "admin" }, limit: 100 });
  expect(records.map(({ sandboxId }) => sandboxId).sort()).toEqual([...given].sort());
}
