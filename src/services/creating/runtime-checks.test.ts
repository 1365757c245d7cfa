import { PassThrough, Readable } from "node:stream";
import { expect, test } from "vitest";
import type { Pod } from "#model/pod.ts";
import type { ReadyCheck } from "#sandbox/runtimes/ready-checks.ts";
import { ServiceError } from "#services/service-error.ts";
import { SteppedClock } from "../../../test/world/stepped-clock.ts";
import { type RuntimeCheckDeps, runtimesReady } from "./runtime-checks.ts";

const pod: Pod = { metadata: { namespace: "ns", name: "pod-1" }, spec: { containers: [] }, status: { podIP: "10.0.0.7" } };
const usual = { delayMs: 0, periodMs: 1000, timeoutMs: 1000, successes: 1 };
const web: ReadyCheck = { runtime: "web", way: { kind: "http", port: 80, path: "/up", headers: {} }, ...usual };
const db: ReadyCheck = { runtime: "db", way: { kind: "exec", command: ["pg_isready"] }, ...usual };
const socket: ReadyCheck = { runtime: "socket", way: { kind: "tcp", port: 7 }, ...usual };

/** What each way answers, one after the other; the last for ever. */
interface Answers {
  readonly statuses?: readonly number[];
  readonly exits?: readonly number[];
  readonly dials?: readonly ("ok" | "refused" | "hangs")[];
}

function sceneOf({ statuses = [200], exits = [0], dials = ["ok"] }: Answers) {
  const clock = new SteppedClock();
  const asked = { http: 0, exec: 0, tcp: 0 };
  const next = <T>(list: readonly T[], count: number): T => list[Math.min(count, list.length - 1)] as T;
  const deps: RuntimeCheckDeps = {
    clock,
    pods: {
      exec: async () => {
        const exit = next(exits, asked.exec++);
        const [stdout, stderr] = [Readable.from([]), Readable.from(["no server"])];
        return { stdin: new PassThrough(), stdout, stderr, resize: () => {}, signal: () => {}, exitCode: Promise.resolve(exit) };
      },
    },
    http: { send: async () => ({ status: next(statuses, asked.http++), headers: {}, text: "" }) },
    dial: async () => {
      const answer = next(dials, asked.tcp++);
      if (answer === "refused") throw new Error("connect ECONNREFUSED");
      if (answer === "hangs") await new Promise(() => {});
    },
  };
  const stop = new AbortController();
  const done = (checks: readonly ReadyCheck[]) =>
    runtimesReady(deps, pod, checks, stop.signal).then(
      () => "ready",
      (error: ServiceError) => `${error.code}: ${error.message}`,
    );
  return { clock, asked, stop, done };
}

test("a create waits until every runtime answers, each by the way of its probe", async () => {
  const { clock, asked, done } = sceneOf({ statuses: [503, 503, 204], exits: [1, 0], dials: ["refused", "ok"] });
  const outcome = done([web, db, socket]);
  await clock.step(10_000);
  expect(await outcome).toBe("ready");
  expect(asked).toEqual({ http: 3, exec: 2, tcp: 2 });
});

test("one that is not ready in its time fails the create, which says which one and why; the others are not asked any more", async () => {
  const { clock, asked, done } = sceneOf({ exits: [2], dials: ["hangs"] });
  const outcome = done([web, { ...db, patienceMs: 3000 }, socket]);
  await clock.step(10_000);
  expect(await outcome).toBe(
    'start_failed: the sandbox did not come up: the runtime "db" is not ready: "pg_isready" ended with exit code 2: no server',
  );
  const before = asked.tcp;
  await clock.step(60_000);
  expect(asked.tcp).toBe(before);
});

test("the deadline of the create says what it waited for", async () => {
  const { clock, stop, done } = sceneOf({ dials: ["hangs"] });
  const outcome = done([socket]);
  await clock.step(1500);
  stop.abort(new ServiceError("timeout", "the sandbox was not ready within 2 s"));
  expect(await outcome).toBe('timeout: the sandbox was not ready within 2 s: the runtime "socket" is not ready: no answer within 1 s');
});

test("successes count only in a row", async () => {
  const { clock, asked, done } = sceneOf({ statuses: [200, 500, 200, 200] });
  const outcome = done([{ ...web, successes: 2 }]);
  await clock.step(10_000);
  expect([await outcome, asked.http]).toEqual(["ready", 4]);
});
