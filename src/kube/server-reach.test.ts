import { beforeEach, expect, test } from "vitest";
import { recordedLog } from "../../test/world/recorded-log.ts";
import { settle, SteppedClock } from "../../test/world/stepped-clock.ts";
import { ConfigMaps } from "#model/core-kinds.ts";
import { ApiError, type ApiErrorReason } from "./api-error.ts";
import type { ObjectClient } from "./object-client.ts";
import { ServerReach } from "./server-reach.ts";

const key = { namespace: "ns", name: "x" };
let clock: SteppedClock;
let failure: ApiErrorReason | undefined;
let calls: number;
let reach: ServerReach;
let client: ObjectClient;

function answer(): Promise<never> {
  calls++;
  if (failure !== undefined) return Promise.reject(new ApiError(failure, failure));
  return Promise.resolve({ metadata: key } as never);
}

beforeEach(() => {
  clock = new SteppedClock();
  failure = undefined;
  calls = 0;
  reach = new ServerReach({ clock, log: recordedLog().log, probe: answer });
  // Only what is called here.
  client = reach.observed({ get: answer, patch: answer } as unknown as ObjectClient);
});

async function get(by = client): Promise<void> {
  await by.get(ConfigMaps, key).catch(() => {});
}

test("one call without an answer is a connection that broke, two in a row are the server", async () => {
  failure = "Unreachable";
  await get();
  expect(reach.isGone).toBe(false);
  failure = undefined;
  await get();
  failure = "Unreachable";
  await get();
  expect(reach.isGone).toBe(false);
  await get();
  expect(reach.isGone).toBe(true);
});

test.for<ApiErrorReason>(["Conflict", "NotFound", "Forbidden", "Invalid", "Expired"])("%s is an answer", async (reason) => {
  failure = "Timeout";
  await get();
  await get();
  failure = reason;
  await get();
  expect(reach.isGone).toBe(false);
});

test("while the server is gone it is asked now and then, and who is impatient is told at once, without a call", async () => {
  failure = "ServiceUnavailable";
  await get();
  await get();
  const before = calls;
  const refused = await reach
    .impatient(client)
    .get(ConfigMaps, key)
    .catch((error: unknown) => error);
  expect(refused).toMatchObject({ reason: "Unreachable", retryAfterMs: 2000 });
  expect(calls).toBe(before);
  await clock.step(1500);
  expect([calls, reach.isGone]).toEqual([before + 3, true]);
  failure = undefined;
  await clock.step(500);
  expect(reach.isGone).toBe(false);
  await get(reach.impatient(client));
  expect(calls).toBe(before + 5);
  await clock.step(10_000);
  expect(calls).toBe(before + 5);
});

test("a watch that breaks counts, and an event of one is an answer", async () => {
  const watch = async function* () {
    yield { type: "BOOKMARK", resourceVersion: "1" } as const;
    throw new ApiError("Unreachable", "cut");
  };
  // Only what is called here.
  const watching = reach.observed({ watch, get: answer } as unknown as ObjectClient);
  failure = "Unreachable";
  await get(watching);
  await get(watching);
  const events = watching.watch(ConfigMaps)[Symbol.asyncIterator]();
  await events.next();
  expect(reach.isGone).toBe(false);
  await events.next().catch(() => {});
  await get(watching);
  expect(reach.isGone).toBe(true);
  reach.stop();
  await settle();
});
