import { expect, test } from "vitest";
import { sandboxIdOf, sandboxPhaseOf } from "#model/claimed-pod.ts";
import { layerWish, type LayerWish, layerWishText } from "#model/layer-wish.ts";
import { Pods } from "#model/pod.ts";
import { embeddedClaimScene } from "../../../test/world/embedded-scenes.ts";
import { wishedPods } from "./wished-pods.ts";

const wish: LayerWish = { id: "cp-aaaaaaaaaaaaaaaaaaaa", containerId: "c1" };

test.each([false, true])(
  "a node sees the wish on a pod that is claimed, wherever the claim stands (on Leases: %j)",
  async (claimsOnLeases) => {
    await using world = await embeddedClaimScene({ claimsOnLeases });
    const { scene } = world;
    const process = await scene.process();
    const { sandbox } = await process.create();
    const pods = wishedPods({ client: scene.client, cache: process.cache });
    const key = { namespace: scene.namespace, name: sandbox.podName };
    const stored = () => scene.client.get(Pods, key);
    const ref = { ...key, uid: (await stored()).metadata.uid ?? "" };
    expect(sandboxPhaseOf(await stored())).toBe(claimsOnLeases ? "idle" : "running");
    expect(sandboxPhaseOf(await pods.read(ref))).toBe("running");
    await pods.annotate(ref, layerWishText(wish));
    const seen = await stored();
    expect([sandboxPhaseOf(seen), sandboxIdOf(seen), layerWish(seen)]).toEqual(["running", sandbox.sandboxId, wish]);
    await pods.annotate(ref, null);
    expect(layerWish(await stored())).toBeUndefined();
    await expect(pods.annotate({ ...ref, uid: "another" }, layerWishText(wish))).rejects.toMatchObject({ reason: "NotFound" });
    expect(layerWish(await stored())).toBeUndefined();
  },
);
