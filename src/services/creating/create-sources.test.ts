import { expect, test } from "vitest";
import { labelKeys } from "#model/keys.ts";
import { embeddedClaimScene } from "../../../test/world/embedded-scenes.ts";
import { ann } from "../../../test/world/claim-scene.ts";
import { createSources } from "./create-sources.ts";

const size = (multiplier: number, priority: number) => ({ config: { instanceType: "cpu", multiplier, priority } });

test("Envs and pools without an Env are what there is to create from; pools of an Env are not listed beside it", async () => {
  await using world = await embeddedClaimScene({ pods: 0 });
  const { scene } = world;
  await scene.addEnv("e", { "e-a": {}, "e-b": {} });
  await scene.addEnv("blue", { "blue-a": {} }, { labels: { [labelKeys.team]: "blue" } });
  const { cache } = await scene.process();
  const sources = createSources({ cache, poolNamespace: "ns" });
  expect(sources.list(ann).map(({ kind, object }) => [kind, object.metadata.name])).toEqual([
    ["env", "e"],
    ["pool", "py"],
  ]);
  expect(sources.get(ann, "e").pools).toHaveLength(2);
  expect(() => sources.get(ann, "node")).toThrow("an administrator can build it: agentbox template add node");
  expect(() => sources.get(ann, "blue")).toThrow('there is no Env, pool or checkpoint "blue"');
});

test("an Env is shown by its default size, and among pools of that size by the preferred one", async () => {
  await using world = await embeddedClaimScene({ pods: 0 });
  const { scene } = world;
  const members = { "e-a": size(4, -5), "e-b": size(1, 1), "e-c": size(1, 0) };
  await scene.addEnv("e", members, { spec: { defaults: { instanceType: "cpu", multiplier: 1 } } });
  await scene.addEnv("f", { "f-a": size(1, 1), "f-b": size(4, 0) });
  const { cache } = await scene.process();
  const sources = createSources({ cache, poolNamespace: "ns" });
  expect(["e", "f"].map((name) => sources.get(ann, name).defaultPool?.metadata.name)).toEqual(["e-c", "f-b"]);
});
