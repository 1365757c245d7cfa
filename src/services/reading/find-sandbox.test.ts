import { describe, expect, test } from "vitest";
import { ApiError } from "#kube/api-error.ts";
import type { ListOptions, ObjectClient } from "#kube/object-client.ts";
import { Pods } from "#model/pod.ts";
import { resourceName } from "#model/resource.ts";
import { ann, type ClaimProcess, type ClaimScene } from "../../../test/world/claim-scene.ts";
import { embeddedClaimScene } from "../../../test/world/embedded-scenes.ts";
import { failureOf, wordsOf } from "../../../test/world/service-scene.ts";
import { findSandbox, livePod } from "./find-sandbox.ts";
import { getSandbox } from "./get-sandbox.ts";
import { LiveSandboxes } from "./live-sandboxes.ts";
import { newSandboxId } from "#services/creating/sandbox-id.ts";
import { watchSandbox } from "./watch-sandbox.ts";

/** A process that hears of nothing any more, and what it asks the server for. */
async function deaf(scene: ClaimScene) {
  const asked: ListOptions[] = [];
  const list: ObjectClient["list"] = (type, options = {}) => {
    if (resourceName(type) === resourceName(Pods)) asked.push(options);
    return scene.client.list(type, options);
  };
  const client = new Proxy(scene.client, { get: (target, name) => (name === "list" ? list : bound(target, name)) });
  const process = await scene.process({ client });
  await process.cache.stop();
  asked.length = 0;
  return { process, asked, deps: { ...depsOf(scene, process), client } };
}

function bound(target: ObjectClient, name: string | symbol): unknown {
  const value: unknown = Reflect.get(target, name);
  return typeof value === "function" ? value.bind(target) : value;
}

function depsOf({ history, clock }: ClaimScene, { cache, logged }: ClaimProcess) {
  return { history, clock, cache, log: logged.log, live: new LiveSandboxes(cache.shown) };
}

describe("a sandbox that another process made a moment ago", () => {
  test("is shown, changed and followed by one whose cache has not heard of it", async () => {
    await using world = await embeddedClaimScene();
    const { scene } = world;
    const [one, two, three] = [await deaf(scene), await deaf(scene), await deaf(scene)];
    const { sandboxId } = (await (await scene.process()).create()).sandbox;
    const seen = await getSandbox(one.deps, ann, sandboxId);
    const changed = await livePod(two.deps, ann, sandboxId, "a change");
    const followed = await watchSandbox(three.deps, ann, sandboxId, new AbortController().signal).next();
    expect([seen.podName, changed.metadata.name, followed.value?.podName]).toEqual(["py-1", "py-1", "py-1"]);
  });

  test("is the answer to the same create, sent to a process that has not heard of it", async () => {
    await using world = await embeddedClaimScene({ pods: 2 });
    const { scene } = world;
    const { process } = await deaf(scene);
    const first = await (await scene.process()).create({ idempotencyKey: "once" });
    expect((await process.create({ idempotencyKey: "once" })).sandbox.sandboxId).toBe(first.sandbox.sandboxId);
  });

  test("is asked for once, in the namespace that the process may look into", async () => {
    await using world = await embeddedClaimScene();
    const { scene } = world;
    const { deps, asked } = await deaf(scene);
    const { sandboxId } = (await (await scene.process()).create()).sandbox;
    await getSandbox(deps, ann, sandboxId);
    await getSandbox(deps, ann, sandboxId);
    expect(asked).toEqual([{ namespace: "ns", labelSelector: `agentbox.navix.sh/sandbox-id=${sandboxId}` }]);
  });
});

test("the server is not asked about ids that cannot be new", async () => {
  await using world = await embeddedClaimScene();
  const { scene } = world;
  const { deps, asked } = await deaf(scene);
  const twoHours = 7_200_000;
  const ids = ["nobody", "not, a (label)", newSandboxId(scene.clock.now() - twoHours), newSandboxId(scene.clock.now() + twoHours)];
  for (const id of ids) expect(await findSandbox(deps, ann, id)).toEqual({});
  expect(asked).toEqual([]);
});

test("while the server cannot be asked nobody is told that there is no such sandbox", async () => {
  await using world = await embeddedClaimScene();
  const { scene } = world;
  const { deps } = await deaf(scene);
  const client = { list: () => Promise.reject(new ApiError("Unreachable", "no")) };
  const answer = findSandbox({ ...deps, client }, ann, newSandboxId(scene.clock.now()));
  await expect(answer).rejects.toMatchObject({ code: "unavailable" });
});

test("I8: a foreign sandbox that is new is looked for as one that there never was, and answered in the same words", async () => {
  await using world = await embeddedClaimScene();
  const { scene } = world;
  const { deps, asked } = await deaf(scene);
  const { sandboxId } = (await (await scene.process()).create()).sandbox;
  const bob = { role: "tenant", team: "blue", keyId: "k2" } as const;
  const never = newSandboxId(scene.clock.now());
  const words = async (id: string) => wordsOf(await failureOf(getSandbox(deps, bob, id)), id);
  expect(await words(sandboxId)).toBe(await words(never));
  expect(asked).toHaveLength(2);
});
