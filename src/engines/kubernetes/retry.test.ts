import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ApiError, type ApiErrorReason } from "#kube/api-error.ts";
import { SteppedClock } from "../../../test/world/stepped-clock.ts";
import { defaultRetryPolicy, retryDelay, withRetries } from "./retry.ts";

const tools = { policy: defaultRetryPolicy, random: () => 0.5 };

function refused(): ApiError {
  return new ApiError("Unreachable", "refused", { cause: Object.assign(new Error("connect"), { code: "ECONNREFUSED" }) });
}

describe("which failures are tried again", () => {
  const cases: readonly (readonly [string, ApiError, { readonly read: boolean; readonly write: boolean }])[] = [
    ["too many requests: the server did nothing", new ApiError("TooManyRequests", ""), { read: true, write: true }],
    ["refused connection: nothing was sent", refused(), { read: true, write: true }],
    ["torn connection: perhaps done", new ApiError("Unreachable", ""), { read: true, write: false }],
    ["service unavailable", new ApiError("ServiceUnavailable", "", { retryAfterMs: 10 }), { read: true, write: false }],
    ["server error that asks to come again", new ApiError("ServerTimeout", "", { retryAfterMs: 10 }), { read: true, write: false }],
    ["server error that does not", new ApiError("InternalError", ""), { read: false, write: false }],
    ["our own deadline", new ApiError("Timeout", ""), { read: false, write: false }],
    ["conflict", new ApiError("Conflict", ""), { read: false, write: false }],
    ["expired", new ApiError("Expired", ""), { read: false, write: false }],
  ];
  test.each(cases)("%s", (_, error, wanted) => {
    expect({ read: retryDelay(error, true, 1, tools) !== undefined, write: retryDelay(error, false, 1, tools) !== undefined }).toEqual(
      wanted,
    );
  });
});

describe("how long a retry waits", () => {
  test("never shorter than the server asks, and at most a quarter longer", () => {
    const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    fc.assert(
      fc.property(fc.integer({ min: 0, max: defaultRetryPolicy.maxWaitMs }), chance, (retryAfterMs, random) => {
        const error = new ApiError("TooManyRequests", "", { retryAfterMs });
        const delay = retryDelay(error, false, 1, { ...tools, random: () => random });
        expect(delay).toBeGreaterThanOrEqual(retryAfterMs);
        expect(delay).toBeLessThanOrEqual(Math.ceil(retryAfterMs * 1.25));
      }),
    );
  });

  test("a pause beyond the limit is the caller's to make", () => {
    const error = new ApiError("TooManyRequests", "", { retryAfterMs: defaultRetryPolicy.maxWaitMs + 1 });
    expect(retryDelay(error, true, 1, tools)).toBeUndefined();
  });

  test("longer with every failure when the server does not ask", () => {
    const delays = [1, 2, 3, 4].map((tries) => retryDelay(new ApiError("TooManyRequests", ""), true, tries, tools));
    expect(delays).toEqual([75, 150, 300, 600]);
    expect(retryDelay(new ApiError("TooManyRequests", ""), true, 5, tools)).toBeUndefined();
  });
});

const always = Array.from({ length: 9 }, () => "TooManyRequests" as const);

function failing(failures: readonly ApiErrorReason[]): { readonly attempt: () => Promise<string>; readonly tries: () => number } {
  let tries = 0;
  const attempt = async (): Promise<string> => {
    const reason = failures[tries++];
    if (reason !== undefined) throw new ApiError(reason, `try ${tries}`, { retryAfterMs: 1000 });
    return `done at try ${tries}`;
  };
  return { attempt, tries: () => tries };
}

describe("trying again", () => {
  test("goes on until it succeeds, each time after the pause", async () => {
    const clock = new SteppedClock();
    const work = failing(["TooManyRequests", "TooManyRequests"]);
    const done = withRetries({ ...tools, clock }, false, work.attempt);
    await clock.step(1124);
    expect(work.tries()).toBe(1);
    await clock.step(1);
    expect(work.tries()).toBe(2);
    await clock.step(1125);
    await expect(done).resolves.toBe("done at try 3");
  });

  test("gives up after the last try with its error and the server's wish", async () => {
    const clock = new SteppedClock();
    const work = failing(always);
    const done = withRetries({ ...tools, clock }, false, work.attempt).catch((error: unknown) => error);
    await clock.step(60_000);
    expect(await done).toMatchObject({ reason: "TooManyRequests", message: "try 5", retryAfterMs: 1000 });
    expect(work.tries()).toBe(5);
  });

  test("stops in the middle of a pause when the caller gives up", async () => {
    const clock = new SteppedClock();
    const abort = new AbortController();
    const done = withRetries({ ...tools, clock }, false, failing(always).attempt, abort.signal);
    await clock.step(100);
    abort.abort(new Error("gone home"));
    await expect(done).rejects.toThrow("gone home");
    expect(clock.pending).toBe(0);
  });

  test("is not for failures that are no ApiError, such as the caller's abort", async () => {
    const failed = withRetries({ ...tools, clock: new SteppedClock() }, true, () => Promise.reject(new Error("mine")));
    await expect(failed).rejects.toThrow("mine");
  });
});
