import { expect, test } from "vitest";
import { annotationKeys } from "#model/keys.ts";
import { Pods } from "#model/pod.ts";
import { areVolumesMounted, mountRefusal, volumeMountsText } from "#model/volume-mounts.ts";
import { NodeWorld } from "../../../../../test/world/node-world.ts";

const mounts = [{ uid: "u1", name: "data", path: "/mnt/data", readOnly: true }];

async function wish(world: NodeWorld, text: string): Promise<void> {
  const body = { metadata: { annotations: { [annotationKeys.volumeMounts]: text } } };
  await world.store.patch(Pods, { namespace: "default", name: "a" }, { type: "merge", body });
  await world.step(0);
}

const mounted = (world: NodeWorld): unknown => world.runtime.present()[0]?.volumes;

test("volumes come into the container that runs, are answered at once, and nothing is restarted", async () => {
  await using world = await NodeWorld.start();
  await world.createPod("a");
  await world.step(0);
  expect(mounted(world)).toBeUndefined();
  await wish(world, volumeMountsText(mounts));
  expect(mounted(world)).toEqual({ container: "main", mounts });
  expect(areVolumesMounted(await world.thePod("a"))).toBe(true);
  expect(world.runtime.starts).toHaveLength(1);
});

test("a wish that was there first is known before the first container is made", async () => {
  await using world = await NodeWorld.start();
  world.runtime.fail("createContainer", { message: "not yet" });
  await world.createPod("a", { annotations: { [annotationKeys.volumeMounts]: volumeMountsText(mounts) } });
  await world.step(0);
  expect(mounted(world)).toEqual({ container: "main", mounts });
  expect(world.runtime.starts).toEqual([]);
});

test("a volume that cannot be mounted is the answer to the wish, is told once and not tried again", async () => {
  await using world = await NodeWorld.start();
  await world.createPod("a");
  await world.step(0);
  world.runtime.fail("mountVolumes", { message: "/mnt is a link" });
  await wish(world, volumeMountsText(mounts));
  await world.step(120_000);
  expect(mounted(world)).toBeUndefined();
  const pod = await world.thePod("a");
  expect([areVolumesMounted(pod), mountRefusal(pod)]).toEqual([false, "/mnt is a link"]);
  expect(await world.events("FailedMount")).toMatchObject([{ count: 1 }]);
});

test("a wish that cannot be read mounts nothing and says so", async () => {
  await using world = await NodeWorld.start();
  await world.createPod("a");
  await world.step(0);
  await wish(world, "{}");
  expect(mounted(world)).toBeUndefined();
  expect(mountRefusal(await world.thePod("a"))).toBe("it cannot be read");
});
