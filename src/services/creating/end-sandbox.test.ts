import { expect, test } from "vitest";
import { sandboxPhaseOf } from "#model/claimed-pod.ts";
import { annotationKeys } from "#model/keys.ts";
import { ann } from "../../../test/world/claim-scene.ts";
import { embeddedClaimScene } from "../../../test/world/embedded-scenes.ts";
import { meddled } from "../../../test/world/meddled-writes.ts";
import { captureStopRecord } from "#life/record/plan-record.ts";
import { Pods } from "#model/pod.ts";
import type { Caller } from "#services/caller.ts";

const bob: Caller = { role: "tenant", team: "blue", keyId: "k2" };

test("an end is one write, and its reason is Completed", async () => {
  await using world = await embeddedClaimScene();
  const { scene } = world;
  const { client, meddling } = meddled(scene.client);
  const process = await scene.process({ client });
  const { sandbox } = await process.create();
  let writes = 0;
  meddling.patch = (send) => ((writes += 1), send());
  await process.claims.end(ann, sandbox.sandboxId);
  const pod = await scene.pod();
  expect([writes, sandboxPhaseOf(pod), pod.metadata.annotations?.[annotationKeys.stopReason]]).toEqual([1, "stopping", "Completed"]);
});

test("W1: ending a sandbox again, while it stops or when it is history, succeeds and writes nothing", async () => {
  await using world = await embeddedClaimScene();
  const { scene, clock } = world;
  const process = await scene.process();
  const { sandbox } = await process.create();
  await process.claims.end(ann, sandbox.sandboxId);
  const stopping = await scene.pod();
  await process.claims.end(ann, sandbox.sandboxId);
  expect((await scene.pod()).metadata.resourceVersion).toBe(stopping.metadata.resourceVersion);
  const record = captureStopRecord(stopping, clock.now());
  if (record === undefined) throw new Error("no record");
  await scene.history.put(record);
  process.cache.pods.remember(await scene.client.patch(Pods, { namespace: "ns", name: "py-1" }, wiped));
  await process.claims.end(ann, sandbox.sandboxId);
});

const wiped = {
  type: "merge",
  body: { metadata: { labels: { "agentbox.navix.sh/sandbox-id": null, "agentbox.navix.sh/sandbox-phase": "idle" } } },
} as const;

test("another tenant's sandbox is one that there never was (I8)", async () => {
  await using world = await embeddedClaimScene();
  const { scene } = world;
  const process = await scene.process();
  const { sandbox } = await process.create();
  await expect(process.claims.end(bob, sandbox.sandboxId)).rejects.toMatchObject({ code: "not_found" });
  await expect(process.claims.end(ann, "nobody")).rejects.toMatchObject({ code: "not_found" });
  await expect(process.claims.end(ann, "not, a (label)")).rejects.toMatchObject({ code: "not_found" });
  expect(sandboxPhaseOf(await scene.pod())).toBe("running");
});

test("a sandbox that another process made a moment ago is ended, whatever our cache has heard of", async () => {
  await using world = await embeddedClaimScene();
  const { scene } = world;
  const first = await scene.process();
  const second = await scene.process();
  await second.cache.stop();
  const { sandbox } = await first.create();
  expect(second.cache.podsOfSandbox(sandbox.sandboxId).toArray()).toEqual([]);
  await second.claims.end(ann, sandbox.sandboxId);
  expect(sandboxPhaseOf(await scene.pod())).toBe("stopping");
});
