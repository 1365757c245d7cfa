import { expect, test } from "vitest";
import { addressOf } from "../../test/world/claim-scene.ts";
import { embeddedClaimScene } from "../../test/world/embedded-claim-scene.ts";
import { settle } from "../../test/world/stepped-clock.ts";
import { replaceArmed } from "./replace-armed.ts";

test("an idle pod whose daemon was armed too late is replaced before anybody gets it", async () => {
  await using world = await embeddedClaimScene({ pods: 2 });
  const { scene } = world;
  const daemon = scene.daemons.at(addressOf(1));
  if (daemon === undefined) throw new Error("no daemon");
  daemon.armed = { podUid: daemon.podUid, bootId: daemon.bootId, sandboxId: "ended", body: {} };
  const process = await scene.process();
  await settle();
  const [first, second] = await scene.pods();
  expect([first?.metadata.deletionTimestamp, second?.metadata.deletionTimestamp]).toEqual([expect.any(String), undefined]);
  expect((await process.create()).sandbox.podName).toBe("py-2");
});

test("I4: a pod that was claimed while its daemon was asked stays", async () => {
  await using world = await embeddedClaimScene();
  const { scene } = world;
  const process = await scene.process();
  await settle();
  const idle = await scene.pod();
  const { log } = process.logged;
  const { sandbox } = await process.create();
  await replaceArmed({ client: scene.client, cache: process.cache, log }, idle);
  const stale = { pods: { get: () => idle } } as unknown as typeof process.cache; // One that has not heard of the claim.
  await replaceArmed({ client: scene.client, cache: stale, log }, idle);
  expect((await scene.pod()).metadata).not.toHaveProperty("deletionTimestamp");
  expect(sandbox.status).toBe("Running");
});
