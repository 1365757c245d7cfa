import { expect, test } from "vitest";
import { SandboxCache } from "#read-model/sandbox-cache.ts";
import { addressOf } from "../../../test/world/claim-scene.ts";
import { embeddedClaimScene } from "../../../test/world/embedded-scenes.ts";
import { waysToClaim } from "../../../test/world/meddled-writes.ts";
import { settle } from "../../../test/world/stepped-clock.ts";
import { deleteArmedIdle } from "./boot-ids.ts";
import { claimBook } from "../../../test/world/claim-books.ts";

test.each(waysToClaim)(
  "an idle pod whose daemon was armed too late is replaced before anybody gets it (claims on $where)",
  async ({ claimsOnLeases }) => {
    await using world = await embeddedClaimScene({ pods: 2, claimsOnLeases });
    const { scene } = world;
    const daemon = scene.daemons.at(addressOf(1));
    if (daemon === undefined) throw new Error("no daemon");
    daemon.armed = { podUid: daemon.podUid, bootId: daemon.bootId, sandboxId: "ended", body: {} };
    const process = await scene.process();
    await settle();
    const [first, second] = await scene.pods();
    expect([first?.metadata.deletionTimestamp, second?.metadata.deletionTimestamp]).toEqual([expect.any(String), undefined]);
    expect((await process.create()).sandbox.podName).toBe("py-2");
  },
);

test.each(waysToClaim)("I4: a pod that was claimed while its daemon was asked stays (claims on $where)", async ({ claimsOnLeases }) => {
  await using world = await embeddedClaimScene({ claimsOnLeases });
  const { scene } = world;
  const process = await scene.process();
  await settle();
  const idle = await scene.pod();
  const deps = { client: scene.client, clock: scene.clock, log: process.logged.log };
  const { sandbox } = await process.create();
  await deleteArmedIdle({ ...deps, cache: process.cache }, idle);
  // One that has not heard of the claim.
  const stale = new SandboxCache(deps, { namespace: "ns", claims: claimBook(claimsOnLeases) });
  stale.pods.remember(idle);
  await deleteArmedIdle({ ...deps, cache: stale }, idle);
  expect((await scene.pod()).metadata).not.toHaveProperty("deletionTimestamp");
  expect(sandbox.status).toBe("Running");
});
