import { expect, test } from "vitest";
import { embeddedKindRules } from "#engines/embedded/admission/all-rules.ts";
import { openObjectStore } from "#engines/embedded/store/object-store.ts";
import { systemClock } from "#lib/clock.ts";
import { Namespaces } from "#model/core-kinds.ts";
import { SandboxPools } from "#model/sandbox-pool.ts";
import { PoolScene } from "../../../test/world/pool-scene.ts";

const namespace = "large";

/** How many times the event loop went round until `isDone`; each is a chance for a request. */
async function turnsUntil(isDone: () => boolean): Promise<number> {
  for (let turns = 0; ; turns++) {
    if (isDone()) return turns;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

// In the machine's own time: what is looked at is how long the process keeps to itself.
test("other work of the process has its turns while the pods of a large pool are made and deleted", async () => {
  using store = openObjectStore({ file: ":memory:", kinds: embeddedKindRules(), clock: systemClock });
  await store.create(Namespaces, { metadata: { name: namespace } });
  await using scene = await PoolScene.open({ client: store, clock: systemClock, namespace });
  const count = (): number => scene.cache.pods.objects.size;
  await scene.createPool({ replicas: 500 });
  // Without pauses all of them are one turn, or two.
  expect(await turnsUntil(() => count() === 500)).toBeGreaterThan(10);
  await store.delete(SandboxPools, scene.key("py"));
  expect(await turnsUntil(() => count() === 0)).toBeGreaterThan(10);
});
