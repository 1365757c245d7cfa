import { describe, expect, test } from "vitest";
import type { PodAnswer, PodRequest } from "#daemon-client/pod-http.ts";
import { sandboxPhaseOf } from "#model/claimed-pod.ts";
import { annotationKeys } from "#model/keys.ts";
import { settle, SteppedClock } from "../../../test/world/stepped-clock.ts";
import { embeddedClaimScene } from "../../../test/world/embedded-scenes.ts";
import type { ClaimProcess, ClaimScene } from "../../../test/world/claim-scene.ts";
import type { CreateSandbox, PostStartHook } from "#services/sandbox-service.ts";

const hooks: readonly PostStartHook[] = [{ http: { port: 80, path: "/first", body: "hunter2" } }, { http: { port: 80, path: "/second" } }];
const startupTimeoutMs = 60_000;
const graceMs = 15_000;

/** Claims and arms, hangs in its first hook, and never does anything again: its clock stands still. */
async function died(scene: ClaimScene, more: Partial<CreateSandbox> = {}): Promise<void> {
  const asked = Promise.withResolvers<void>();
  const send = (): Promise<PodAnswer> => {
    asked.resolve();
    return new Promise(() => {});
  };
  const process = await scene.process({ http: { send }, clock: new SteppedClock() });
  void process.create({ postStartHooks: hooks, startupTimeoutMs, ...more });
  await asked.promise;
}

interface Survivor {
  readonly process: ClaimProcess;
  readonly asked: string[];
}

interface Answers {
  readonly status?: number;
  /** Resolves when the daemon tells the sandbox's variables. */
  readonly told?: () => Promise<void>;
}

async function survivor(scene: ClaimScene, { status = 200, told = async () => {} }: Answers = {}): Promise<Survivor> {
  const asked: string[] = [];
  const send = async (_at: unknown, { path, body }: PodRequest): Promise<PodAnswer> => {
    if (path === "/envs") {
      await told();
      return { status: 200, headers: {}, text: "{}" };
    }
    asked.push(body === undefined ? path : `${path} ${String(body)}`);
    return { status, headers: {}, text: "hunter2" };
  };
  const process = await scene.process({ http: { send } });
  await settle();
  return { process, asked };
}

const markOf = async (scene: ClaimScene) => (await scene.pod()).metadata.annotations?.[annotationKeys.postStartHooks];

describe.each([{ claimsOnLeases: false }, { claimsOnLeases: true }])(
  "hooks of a process that died, $claimsOnLeases",
  ({ claimsOnLeases }) => {
    test("are run by another one in order, when the first cannot be about to any more; then the sandbox is ready", async () => {
      await using world = await embeddedClaimScene({ claimsOnLeases });
      const { scene, clock } = world;
      await died(scene);
      const { asked } = await survivor(scene);
      await clock.step(startupTimeoutMs + graceMs - 1);
      expect(asked, "its maker may be about to run them").toEqual([]);
      await clock.step(1);
      await settle();
      expect(asked).toEqual(["/first hunter2", "/second"]);
      expect([await markOf(scene), sandboxPhaseOf(await scene.pod())]).toEqual([undefined, "running"]);
    });

    test("are run by one of several processes that find them at the same moment", async () => {
      await using world = await embeddedClaimScene({ claimsOnLeases });
      const { scene, clock } = world;
      await died(scene);
      const both = Promise.withResolvers<void>();
      let asking = 0;
      const told = (): Promise<void> => {
        asking += 1;
        if (asking === 2) both.resolve();
        return both.promise;
      };
      const [one, two] = [await survivor(scene, { told }), await survivor(scene, { told })];
      await clock.step(2 * (startupTimeoutMs + graceMs));
      await settle();
      expect(asking).toBe(2);
      expect([...one.asked, ...two.asked]).toEqual(["/first hunter2", "/second"]);
    });
  },
);

test("the same request again is told to come later until the hooks have run, and then is the same sandbox", async () => {
  await using world = await embeddedClaimScene({ pods: 2 });
  const { scene, clock } = world;
  await died(scene, { idempotencyKey: "k" });
  const { process } = await survivor(scene);
  const again = () => process.create({ postStartHooks: hooks, startupTimeoutMs, idempotencyKey: "k" });
  await clock.step(startupTimeoutMs + graceMs - 1);
  await expect(again()).rejects.toMatchObject({ code: "conflict" });
  await clock.step(1);
  await settle();
  const { sandbox } = await again();
  const carried = (await scene.pods()).map(({ metadata }) => metadata.annotations?.[annotationKeys.sandboxId]);
  expect([sandbox.status, carried.filter((id) => id !== undefined)]).toEqual(["Running", [sandbox.sandboxId]]);
});

test("hooks whose second process dies too are run by the third", async () => {
  await using world = await embeddedClaimScene();
  const { scene, clock } = world;
  await died(scene);
  const secondClock = new SteppedClock();
  const send = (_at: unknown, { path }: PodRequest): Promise<PodAnswer> =>
    path === "/envs" ? Promise.resolve({ status: 200, headers: {}, text: "{}" }) : new Promise(() => {});
  await scene.process({ http: { send }, clock: secondClock });
  await settle();
  await secondClock.step(startupTimeoutMs + graceMs);
  await settle();
  expect(await markOf(scene)).toContain("takenAt");
  const third = await survivor(scene);
  await clock.step(startupTimeoutMs + graceMs);
  await settle();
  expect([third.asked, await markOf(scene)]).toEqual([["/first hunter2", "/second"], undefined]);
});

test("a hook that goes on failing there ends the sandbox, and its output is written nowhere", async () => {
  await using world = await embeddedClaimScene();
  const { scene, clock } = world;
  await died(scene);
  const { asked } = await survivor(scene, { status: 500 });
  await clock.step(startupTimeoutMs + graceMs + 30_000);
  await settle();
  expect(asked).toHaveLength(5);
  const { annotations = {} } = (await scene.pod()).metadata;
  expect(annotations).toMatchObject({
    [annotationKeys.stopReason]: "Failed",
    [annotationKeys.failureReason]: "HookFailed",
    [annotationKeys.failureMessage]: "post-start hook 1 failed 5 times",
  });
  expect(JSON.stringify(annotations)).not.toContain("hunter2");
});

test("a sandbox that was never armed gets no hooks: its environment is lost", async () => {
  await using world = await embeddedClaimScene();
  const { scene, clock } = world;
  await died(scene);
  await scene.nodeStarts();
  const { asked } = await survivor(scene);
  await clock.step(2 * (startupTimeoutMs + graceMs));
  expect(asked).toEqual([]);
});
