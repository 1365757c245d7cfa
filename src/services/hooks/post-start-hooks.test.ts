import { PassThrough, Readable } from "node:stream";
import { expect, test } from "vitest";
import type { ExecInPod, ExecSession } from "#kube/pod-access.ts";
import type { PodRequest } from "#daemon-client/pod-http.ts";
import type { Pod } from "#model/pod.ts";
import { SteppedClock } from "../../../test/world/stepped-clock.ts";
import { type HookDeps, runPostStartHooks } from "./post-start-hooks.ts";
import type { PostStartHook } from "#services/sandbox-service.ts";

const pod: Pod = { metadata: { namespace: "ns", name: "pod-1" }, spec: { containers: [] }, status: { podIP: "10.0.0.7" } };
const never = new AbortController().signal;

/** A sandbox that answers as told, and notes what it was asked. */
class Scene {
  readonly clock = new SteppedClock();
  readonly asked: unknown[] = [];
  exits: (number | "hangs")[] = [];
  said = "";
  statuses: number[] = [];

  readonly deps: HookDeps = {
    clock: this.clock,
    random: () => 0,
    pods: {
      exec: async ({ pod: key, command }: ExecInPod): Promise<ExecSession> => {
        this.asked.push([key, command.argv, command.user, command.env]);
        const exit = this.exits.shift() ?? 0;
        const hangs = exit === "hangs";
        return {
          stdin: new PassThrough(),
          stdout: hangs ? new PassThrough() : Readable.from([this.said]),
          stderr: hangs ? new PassThrough() : Readable.from([]),
          resize: () => {},
          signal: () => {},
          exitCode: hangs ? new Promise(() => {}) : Promise.resolve(exit),
        };
      },
    },
    http: {
      send: async (at, { method, path, body }: PodRequest) => {
        this.asked.push([at, method, path, body]);
        return { status: this.statuses.shift() ?? 200, headers: {}, text: "not yet" };
      },
    },
  };

  run(hooks: readonly PostStartHook[], signal = never): Promise<void> {
    return runPostStartHooks(this.deps, pod, { hooks, env: { SECRET: "s" } }, signal);
  }
}

const setup: PostStartHook = { exec: { command: ["setup", "--fast"], user: "user" } };

test("hooks are run in order, in the sandbox's pod and at its address", async () => {
  const scene = new Scene();
  await scene.run([setup, { http: { port: 8000, path: "/warm", body: "{}" } }]);
  expect(scene.asked).toEqual([
    [{ namespace: "ns", name: "pod-1" }, ["setup", "--fast"], "user", { SECRET: "s" }],
    [{ ip: "10.0.0.7", port: 8000 }, "POST", "/warm", "{}"],
  ]);
});

test("a hook that fails at first is tried again, and those behind it wait", async () => {
  const scene = new Scene();
  scene.statuses = [503, 503, 204];
  const done = scene.run([{ http: { port: 8000 } }, setup]);
  await scene.clock.step(10_000);
  await done;
  expect(scene.asked).toHaveLength(4);
});

test("a hook that goes on failing fails the create with its output, and the next one is not run", async () => {
  const scene = new Scene();
  scene.exits = [3, 3, 3, 3, 3];
  scene.said = "no such package\n";
  const failure = scene.run([setup, setup]).catch((error: unknown) => error);
  await scene.clock.step(60_000);
  expect(await failure).toMatchObject({
    code: "hook_failed",
    message: 'post-start hook 1 failed 5 times: "setup" ended with exit code 3: no such package',
    details: { field: "postStartHooks[0]" },
  });
  expect(scene.asked).toHaveLength(5);
});

test("of a long output the end is told", async () => {
  const scene = new Scene();
  scene.exits = [1, 1, 1, 1, 1];
  scene.said = `${"x".repeat(100_000)} the reason`;
  const done = scene.run([setup]).catch((error: Error) => error.message);
  await scene.clock.step(60_000);
  const message = (await done) ?? "";
  expect(message).toMatch(/the reason$/);
  expect(message.length).toBeLessThan(2200);
});

test("a hook that hangs is given up after its time, and tried again", async () => {
  const scene = new Scene();
  scene.exits = ["hangs", 0];
  const done = scene.run([{ exec: { command: ["setup"], timeoutMs: 1000 } }]);
  await scene.clock.step(1000);
  await scene.clock.step(1000);
  await done;
  expect(scene.asked).toHaveLength(2);
});

test("who gives up the create gives up its hooks at once", async () => {
  const scene = new Scene();
  scene.exits = ["hangs"];
  const stop = new AbortController();
  const failure = scene.run([setup], stop.signal).catch((error: unknown) => error);
  await scene.clock.step(1);
  const gone = new Error("client gone");
  stop.abort(gone);
  expect(await failure).toBe(gone);
  expect(scene.asked).toHaveLength(1);
});
