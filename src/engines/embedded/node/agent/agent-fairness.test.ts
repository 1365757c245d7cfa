import { expect, test } from "vitest";
import { labelKeys } from "#model/keys.ts";
import { Pods } from "#model/pod.ts";
import { aContainer, digestFor, NodeWorld } from "../../../../../test/world/node-world.ts";

const hostile = "registry.invalid/hostile:1";

/** A machine on which containers of the hostile image never come to be. */
async function worldThatHangs(): Promise<NodeWorld> {
  const teams: Readonly<Record<string, string>> = { one: "red", two: "red", other: "blue" };
  const world = await NodeWorld.start({ teamOfPool: ({ name }) => teams[name] });
  const create = world.runtime.createContainer.bind(world.runtime);
  world.runtime.createContainer = (plan) => (plan.image.digest === digestFor(hostile) ? new Promise<void>(() => {}) : create(plan));
  return world;
}

const hangs = { containers: [aContainer({ image: hostile })] };

test("starts that hang leave places for another team, and for removals, however many pools they come from", async () => {
  await using world = await worldThatHangs();
  await world.createPod("to-go", { labels: { [labelKeys.sandboxPool]: "one" } });
  for (let each = 0; each < 40; each++) {
    await world.createPod(`bad-${each}`, { ...hangs, labels: { [labelKeys.sandboxPool]: each % 2 === 0 ? "one" : "two" } });
  }
  await world.createPod("good", { labels: { [labelKeys.sandboxPool]: "other" } });
  expect((await world.thePod("good")).status?.phase).toBe("Running");
  await world.store.delete(Pods, { namespace: "default", name: "to-go" });
  await world.step(60_000);
  expect(await world.pod("to-go")).toBeUndefined();
});

test("two teams that work together leave places for a third one, all at once and for as long as their starts hang", async () => {
  await using world = await worldThatHangs();
  for (let each = 0; each < 40; each++) {
    await world.createPod(`bad-${each}`, { ...hangs, labels: { [labelKeys.sandboxPool]: each % 2 === 0 ? "one" : "other" } });
  }
  for (const name of ["good", "good-too", "good-again"]) {
    await world.createPod(name, { labels: { [labelKeys.team]: "green" } });
    expect((await world.thePod(name)).status?.phase).toBe("Running");
  }
});
