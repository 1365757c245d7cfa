import { expect, test } from "vitest";
import { admin, ann, bob, eve, failureOf, namespace, nobody, redTeam, ServiceScene, wordsOf } from "../../../test/world/service-scene.ts";
import { ApiError } from "#kube/api-error.ts";
import { Events } from "#model/core-kinds.ts";
import { annotationKeys, labelKeys } from "#model/keys.ts";
import type { Pod, PodStatus } from "#model/pod.ts";
import { getSandbox, viewSandbox } from "./get-sandbox.ts";

const pulling: Partial<PodStatus> = {
  conditions: [{ type: "Ready", status: "False" }],
  containerStatuses: [
    {
      name: "main",
      ready: false,
      restartCount: 0,
      image: "registry.invalid/app:1",
      imageID: "",
      state: { waiting: { reason: "ImagePullBackOff", message: "no such image" } },
    },
  ],
};

async function warn(scene: ServiceScene, { metadata: { name = "", uid = "" } }: Pod, message: string, type = "Warning"): Promise<void> {
  await scene.client.create(Events, {
    metadata: { namespace, name: `event-${message.replaceAll(" ", "-")}` },
    involvedObject: { kind: "Pod", namespace, name, uid },
    type,
    reason: "Failed",
    message,
    count: 1,
    lastTimestamp: scene.now.replace(/\.\d+/, ""),
  });
}

test("a live sandbox is read from its pod, with its timeouts", async () => {
  await using scene = await ServiceScene.open();
  await scene.sandbox("i-1", {
    annotations: {
      [annotationKeys.idleTimeout]: "60",
      [annotationKeys.endTime]: "2026-01-01T01:00:00Z",
      [annotationKeys.onTimeout]: "pause",
      [annotationKeys.sandboxMetadata]: '{"job":"7"}',
    },
  });
  expect(await getSandbox(scene, ann, "i-1")).toMatchObject({
    sandboxId: "i-1",
    status: "Running",
    team: "red",
    user: "ann",
    poolName: "py",
    idleTimeoutMs: 60_000,
    endTime: "2026-01-01T01:00:00.000Z",
    onTimeout: "pause",
    metadata: { job: "7" },
  });
});

test("a sandbox that has ended is Stopping until its record is written, and ended from then on, though its pod still shows it", async () => {
  await using scene = await ServiceScene.open();
  await scene.sandbox("i-1", { phase: "stopping" });
  expect((await getSandbox(scene, ann, "i-1")).status).toBe("Stopping");
  await scene.record("i-1");
  expect((await getSandbox(scene, ann, "i-1")).status).toBe("Completed");
});

test("an ended sandbox is read from the history", async () => {
  await using scene = await ServiceScene.open();
  await scene.sandbox("i-1");
  await scene.end("i-1", { status: "Failed", stopReason: "Failed", exitCode: 137 });
  expect(await getSandbox(scene, ann, "i-1")).toMatchObject({ sandboxId: "i-1", status: "Failed", exitCode: 137 });
});

test("a stuck sandbox says why, with the warnings about its pod since the claim", async () => {
  await using scene = await ServiceScene.open();
  const pod = await scene.sandbox("i-1", { phase: "starting", claimedAt: "2026-01-01T00:00:00.500Z", status: pulling });
  await warn(scene, pod, "before the claim");
  await scene.clock.step(2000);
  await warn(scene, pod, "no such image");
  await warn(scene, pod, "all is well", "Normal");
  const { diagnosis } = await getSandbox(scene, ann, "i-1");
  expect(diagnosis).toMatchObject({ reason: "ImagePullBackOff", message: expect.stringContaining("no such image") });
  expect(diagnosis?.events?.map(({ message }) => message)).toEqual(["no such image"]);
});

test("a sandbox is shown without its warnings when they cannot be read", async () => {
  await using scene = await ServiceScene.open();
  await scene.sandbox("i-1", { phase: "starting", status: pulling });
  const client = { list: () => Promise.reject(new ApiError("ServiceUnavailable", "no")) };
  const { cache, history, log, clock } = scene;
  const { diagnosis } = await getSandbox({ cache, history, log, clock, client }, ann, "i-1");
  expect(diagnosis).toMatchObject({ reason: "ImagePullBackOff", events: [] });
  expect(scene.logged.lines.at(-1)?.msg).toBe("events of a sandbox could not be read");
});

test("I8: a foreign sandbox, live or ended, is answered in the words for one that there never was", async () => {
  await using scene = await ServiceScene.open();
  await scene.sandbox("i-live");
  await scene.record("i-ended");
  const wordsFor = async (caller: typeof ann, id: string) => wordsOf(await failureOf(getSandbox(scene, caller, id)), id);
  for (const caller of [eve, bob, nobody]) {
    const nonsense = await wordsFor(caller, "i-none");
    for (const id of ["i-live", "i-ended", "no id at all"]) expect(await wordsFor(caller, id)).toBe(nonsense);
  }
  for (const caller of [ann, redTeam, admin]) expect((await getSandbox(scene, caller, "i-live")).sandboxId).toBe("i-live");
});

test("two pods that say that they carry one sandbox are shown to nobody as one", async () => {
  await using scene = await ServiceScene.open();
  await scene.sandbox("i-1");
  await scene.sandbox("i-2", { labels: { [labelKeys.sandboxId]: "i-1" } });
  expect((await failureOf(getSandbox(scene, ann, "i-1"))).code).toBe("conflict");
});

test("who only needs to know of a sandbox has the same of it, and the object server is not asked", async () => {
  await using scene = await ServiceScene.open();
  const pod = await scene.sandbox("i-1", { status: pulling });
  await warn(scene, pod, "no such image");
  const { diagnosis, ...rest } = await getSandbox(scene, ann, "i-1");
  expect(diagnosis, "which is left out").toMatchObject({ reason: "ImagePullBackOff" });
  const list = (): Promise<never> => Promise.reject(new Error("the object server was asked"));
  const { clock, cache, history } = scene;
  expect(await viewSandbox({ clock, cache, history, client: { list } }, ann, "i-1")).toEqual(rest);
});
