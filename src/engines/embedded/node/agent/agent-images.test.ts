import { expect, test } from "vitest";
import { labelKeys } from "#model/keys.ts";
import { ImageError } from "#images/image-error.ts";
import { Secrets } from "#model/core-kinds.ts";
import { aContainer, NodeWorld } from "../../../../../test/world/node-world.ts";

test("while an image is fetched the container is creating", async () => {
  await using world = await NodeWorld.start();
  world.images.pullFor(() => 5_000);
  await world.createPod("a");
  expect((await world.thePod("a")).status).toMatchObject({
    phase: "Pending",
    containerStatuses: [{ state: { waiting: { reason: "ContainerCreating" } } }],
  });
  expect(await world.events("Pulling")).toMatchObject([{ message: 'Pulling image "registry.invalid/app:1"' }]);
  await world.step(5_000);
  expect((await world.thePod("a")).status?.phase).toBe("Running");
  expect(await world.events("Pulled")).toMatchObject([{ message: 'Successfully pulled image "registry.invalid/app:1" in 5000ms' }]);
});

test("images of several containers are fetched at the same time", async () => {
  await using world = await NodeWorld.start();
  world.images.pullFor(() => 5_000);
  await world.createPod("a", { containers: [aContainer(), aContainer({ name: "side", image: "registry.invalid/side:1" })] });
  await world.step(5_000);
  expect((await world.thePod("a")).status?.phase).toBe("Running");
});

test("a failed pull is shown, then waited for, and tried again after 10 s, 20 s, 40 s", async () => {
  await using world = await NodeWorld.start();
  world.images.refuse(() => new ImageError("not_found", "manifest unknown"));
  await world.createPod("a");
  expect(await world.containerStatus("a")).toMatchObject({ state: { waiting: { reason: "ErrImagePull", message: "manifest unknown" } } });
  await world.step(2_000);
  expect(await world.containerStatus("a")).toMatchObject({
    state: {
      waiting: { reason: "ImagePullBackOff", message: 'Back-off pulling image "registry.invalid/app:1": ErrImagePull: manifest unknown' },
    },
  });
  await world.step(8_000);
  expect(world.images.asked).toHaveLength(2);
  await world.step(20_000);
  expect(world.images.asked).toHaveLength(3);
  await world.step(39_000);
  expect(world.images.asked).toHaveLength(3);
  world.images.refuse(() => undefined);
  await world.step(1_000);
  expect((await world.thePod("a")).status).toMatchObject({ phase: "Running", containerStatuses: [{ restartCount: 0 }] });
});

test("events of a failed pull are counted up, not repeated", async () => {
  await using world = await NodeWorld.start();
  world.images.refuse(() => new ImageError("not_found", "manifest unknown"));
  await world.createPod("a");
  await world.step(10_000);
  await world.step(20_000);
  const failed = await world.events("Failed");
  expect(failed.map(({ message, count }) => `${count} ${message}`).sort()).toEqual([
    "3 Error: ErrImagePull",
    '3 Failed to pull image "registry.invalid/app:1": manifest unknown',
  ]);
  expect(await world.events("BackOff")).toMatchObject([{ message: 'Back-off pulling image "registry.invalid/app:1"' }]);
});

test("a reference that is none is named as such", async () => {
  await using world = await NodeWorld.start();
  await world.createPod("a", { containers: [aContainer({ image: "registry.invalid/APP:1" })] });
  expect(await world.containerStatus("a")).toMatchObject({ state: { waiting: { reason: "InvalidImageName" } } });
});

test("with the policy Never an image that is not here is not fetched", async () => {
  await using world = await NodeWorld.start();
  world.images.pullFor(() => 0);
  await world.createPod("a", { containers: [aContainer({ imagePullPolicy: "Never" })] });
  expect(await world.containerStatus("a")).toMatchObject({ state: { waiting: { reason: "ErrImageNeverPull" } } });
  expect(await world.events("ErrImageNeverPull")).toMatchObject([
    { message: 'Container image "registry.invalid/app:1" is not present with pull policy of Never' },
  ]);
});

test("with the policy Always it is fetched for every start", async () => {
  await using world = await NodeWorld.start();
  await world.createPod("a", { containers: [aContainer({ imagePullPolicy: "Always" })] });
  world.runtime.exit(world.runtime.container("a", "main")?.id ?? "", { code: 1 });
  await world.step(0);
  expect(world.images.asked.map(({ options }) => options.pullPolicy)).toEqual(["Always", "Always"]);
  expect(await world.events("Pulling")).toMatchObject([{ count: 2 }]);
});

test("the pod's pull secrets are handed on, and missing ones are no reason to give up", async () => {
  await using world = await NodeWorld.start();
  const config = JSON.stringify({ auths: { "registry.invalid": { auth: "dTpw" } } });
  await world.store.create(Secrets, {
    metadata: { namespace: "default", name: "registry" },
    type: "kubernetes.io/dockerconfigjson",
    stringData: { ".dockerconfigjson": config },
  });
  await world.createPod("a", { imagePullSecrets: [{ name: "missing" }, { name: "registry" }] });
  expect(world.images.asked).toMatchObject([{ options: { pullSecrets: [config] } }]);
  expect((await world.thePod("a")).status?.phase).toBe("Running");
});

test("an image is fetched for the team that has claimed the pod, else for that of its pool, else for none", async () => {
  await using world = await NodeWorld.start({ teamOfPool: ({ name }) => (name === "py" ? "red" : undefined) });
  await world.createPod("claimed", { labels: { [labelKeys.sandboxPool]: "py", [labelKeys.team]: "blue" } });
  await world.createPod("idle", { labels: { [labelKeys.sandboxPool]: "py" } });
  await world.createPod("shared", { labels: { [labelKeys.sandboxPool]: "go" } });
  expect(world.images.asked.map(({ options }) => options.team)).toEqual(["blue", "red", undefined]);
});
