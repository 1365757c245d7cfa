import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { annotationKeys, podConditions, sandboxPhases } from "#model/keys.ts";
import { aPoolPod, type PoolPodShape } from "../../test/world/pool-pods.ts";
import { type Activity, endOf, type EndSnapshot, type EndVerdict } from "./end.ts";

const second = 1000;
const started = Date.parse("2026-01-01T10:00:00.000Z");
const quiet: Activity = { kind: "known", inUse: false };
const refreshIntervalMs = 30 * second;

function time(ms: number): string {
  return new Date(ms).toISOString();
}

function running(annotations: Readonly<Record<string, string>>, shape: PoolPodShape = {}): PoolPodShape {
  return {
    phase: "running",
    id: "i1",
    state: { phase: "completed", targetPodPhase: "running", updateTimestamp: time(started) },
    annotations: { [annotationKeys.claimedAt]: time(started - second), ...annotations },
    ...shape,
  };
}

function starting(annotations: Readonly<Record<string, string>> = {}, shape: PoolPodShape = {}): PoolPodShape {
  return {
    phase: "starting",
    id: "i1",
    state: { phase: "starting", updateTimestamp: time(started) },
    annotations: { [annotationKeys.claimedAt]: time(started), ...annotations },
    ...shape,
  };
}

function ask(shape: PoolPodShape, now: number, more: Partial<EndSnapshot> = {}): EndVerdict {
  return endOf({ pod: aPoolPod(shape), activity: quiet, refreshIntervalMs, ...more }, now);
}

function reason(verdict: EndVerdict): string | undefined {
  return verdict.kind === "end" ? verdict.failureReason : undefined;
}

describe("the idle timeout", () => {
  const idle = running({ [annotationKeys.idleTimeout]: "600" });
  const due = started + 600 * second + refreshIntervalMs;

  test("ends a sandbox that had no traffic for so long, and a little longer: news of traffic may be late", () => {
    expect(ask(idle, due - 1)).toEqual({ kind: "lives", recheckAtMs: due });
    expect(ask(idle, due)).toEqual({
      kind: "end",
      action: "kill",
      stopReason: "Released",
      failureReason: "IdleTimeout",
      failureMessage: "the sandbox had no traffic for 600 s",
    });
  });

  test("counts from the newest of all that is known", () => {
    const seen = started + 100 * second;
    const annotated = running({ [annotationKeys.idleTimeout]: "600", [annotationKeys.lastActive]: time(seen) });
    expect(ask(annotated, due)).toEqual({ kind: "lives", recheckAtMs: due + 100 * second });
    const reported: Activity = { kind: "known", inUse: false, lastActiveMs: seen + second };
    expect(ask(annotated, due, { activity: reported })).toEqual({ kind: "lives", recheckAtMs: due + 101 * second });
    expect(ask(annotated, due, { activity: { ...reported, lastActiveMs: 0 } })).toEqual({ kind: "lives", recheckAtMs: due + 100 * second });
  });

  test("W21: does not end a sandbox with an open stream, however long it has been open", () => {
    expect(ask(idle, due * 2, { activity: { kind: "known", inUse: true, lastActiveMs: 0 } })).toEqual({ kind: "lives" });
  });

  test("W21: does not end a sandbox when somebody who sees traffic could not be asked", () => {
    expect(ask(idle, due * 2, { activity: { kind: "unknown" } })).toEqual({ kind: "lives" });
  });

  test.for(["0", "", "soon", "-5", "10m"])("of %j is none", (idleTimeout) => {
    expect(ask(running({ [annotationKeys.idleTimeout]: idleTimeout }), due * 2)).toEqual({ kind: "lives" });
  });

  test("does not end what is not running", () => {
    const others = sandboxPhases.filter((phase) => phase !== "running");
    expect(others.map((phase) => ask({ ...idle, phase }, due * 2).kind)).toEqual(others.map(() => "lives"));
    expect(ask({ ...idle, metadata: { deletionTimestamp: time(started) } }, due * 2)).toEqual({ kind: "lives" });
  });

  test("counts from the claim when the state cannot be read", () => {
    expect(ask({ ...idle, state: "{" }, started)).toEqual({ kind: "lives", recheckAtMs: due - second });
  });
});

describe("the end time", () => {
  const end = started + 3600 * second;
  const limited = running({ [annotationKeys.endTime]: time(end) });

  test("ends a sandbox to the millisecond, whatever its traffic, and whoever cannot be asked", () => {
    for (const activity of [quiet, { kind: "unknown" }, { kind: "known", inUse: true }] as const) {
      expect(ask(limited, end - 1, { activity })).toEqual({ kind: "lives", recheckAtMs: end });
      expect(ask(limited, end, { activity })).toEqual({
        kind: "end",
        action: "kill",
        stopReason: "Released",
        failureReason: "MaxLifetime",
        failureMessage: "the sandbox's end time 2026-01-01T11:00:00.000Z was reached",
      });
    }
  });

  test("that is no time is none", () => {
    expect(ask(running({ [annotationKeys.endTime]: "tomorrow" }), end * 2)).toEqual({ kind: "lives" });
  });
});

describe("at its end a sandbox", () => {
  const end = started + 60 * second;

  test("is paused where that was asked for, by either clock", () => {
    const limits = [{ [annotationKeys.endTime]: time(end) }, { [annotationKeys.idleTimeout]: "1" }];
    for (const limit of limits) {
      expect(ask(running({ ...limit, [annotationKeys.onTimeout]: "pause" }), end)).toMatchObject({ kind: "end", action: "pause" });
      expect(ask(running({ ...limit, [annotationKeys.onTimeout]: "dance" }), end)).toMatchObject({ kind: "end", action: "kill" });
    }
  });

  test("that is paused already, or is about to be, stays", () => {
    const limits = { [annotationKeys.endTime]: time(end), [annotationKeys.idleTimeout]: "1" };
    expect(ask(running({ ...limits, [annotationKeys.paused]: time(started) }), end * 2)).toEqual({ kind: "lives" });
    const frozen = { status: { conditions: [{ type: podConditions.paused, status: "True" }] } } as const;
    expect(ask(running(limits, frozen), end * 2)).toEqual({ kind: "lives" });
  });

  test("gives the limit that was over first as the reason", () => {
    const limits = { [annotationKeys.endTime]: time(end), [annotationKeys.idleTimeout]: "10" };
    const much = end * 2;
    expect(reason(ask(running(limits), much))).toBe("IdleTimeout");
    expect(reason(ask(running({ ...limits, [annotationKeys.idleTimeout]: "600" }), much))).toBe("MaxLifetime");
  });

  test("without any limit lives", () => {
    expect(ask(running({}), started * 2)).toEqual({ kind: "lives" });
  });
});

describe("W7: the startup timeout", () => {
  const due = started + 60 * second;

  test("ends a sandbox that does not start as failed", () => {
    const slow = starting({ [annotationKeys.startupTimeout]: "60" });
    expect(ask(slow, due - 1)).toEqual({ kind: "lives", recheckAtMs: due });
    expect(ask(slow, due)).toEqual({
      kind: "end",
      action: "kill",
      stopReason: "Failed",
      failureReason: "StartupTimeout",
      failureMessage: "the sandbox did not start within 60 s",
    });
  });

  test("is the pod's own, else its pool's, else none", () => {
    const own = starting({ [annotationKeys.startupTimeout]: "60" });
    expect(ask(own, started, { defaultStartupTimeoutMs: second })).toEqual({ kind: "lives", recheckAtMs: due });
    expect(ask(starting(), started, { defaultStartupTimeoutMs: 5 * second })).toEqual({ kind: "lives", recheckAtMs: started + 5 * second });
    expect(ask(starting(), started * 2)).toEqual({ kind: "lives" });
  });

  test("kills also where a timeout pauses: there is nothing to keep", () => {
    const slow = starting({ [annotationKeys.startupTimeout]: "60", [annotationKeys.onTimeout]: "pause" });
    expect(ask(slow, due)).toMatchObject({ action: "kill" });
  });

  test("counts from the claim when the state cannot be read", () => {
    expect(ask(starting({ [annotationKeys.startupTimeout]: "60" }, { state: "{" }), due)).toMatchObject({ kind: "end" });
  });

  test("I5: ends a sandbox that was claimed on the fast path and never armed, and only then", () => {
    const claimed = running({ [annotationKeys.startupTimeout]: "60" });
    expect(ask(claimed, due, { isArmed: false })).toMatchObject({
      kind: "end",
      stopReason: "Failed",
      failureReason: "StartupTimeout",
      failureMessage: "the sandbox was not armed within 60 s",
    });
    expect(ask(claimed, due - 2 * second, { isArmed: false })).toEqual({ kind: "lives", recheckAtMs: due - second });
    expect(ask(claimed, due, { isArmed: true })).toEqual({ kind: "lives" });
    // I11: a daemon that does not answer says nothing, and an armed sandbox stays.
    expect(ask(claimed, due * 2)).toEqual({ kind: "lives" });
  });

  test("I5: ends a sandbox whose maker died before its post-start hooks had run, and not while its maker may be about to", () => {
    const left = running({ [annotationKeys.startupTimeout]: "60", [annotationKeys.postStartHooks]: '{"pending":1}' });
    const grace = 15 * second;
    expect(ask(left, due + grace, { isArmed: true })).toMatchObject({ kind: "end", stopReason: "Failed", failureReason: "HookFailed" });
    expect(ask(left, due, { isArmed: true })).toEqual({ kind: "lives", recheckAtMs: due - second + grace });
  });

  test("leaves time for another process where the hooks are written on the pod, and then ends the sandbox", () => {
    const left = running({ [annotationKeys.startupTimeout]: "60", [annotationKeys.postStartHooks]: '{"pending":1,"sealed":"x"}' });
    const takeOver = 300 * second + 2 * 75 * second;
    const last = due - second + 15 * second + takeOver;
    expect(ask(left, last - 1, { isArmed: true })).toEqual({ kind: "lives", recheckAtMs: last });
    expect(ask(left, last, { isArmed: true })).toMatchObject({ kind: "end", failureReason: "HookFailed" });
  });
});

describe("no verdict", () => {
  const moment = fc.integer({ min: started, max: started + 7200 * second });
  const limits = fc.record(
    {
      [annotationKeys.idleTimeout]: fc.constantFrom("0", "1", "60", "x"),
      [annotationKeys.endTime]: moment.map(time),
      [annotationKeys.startupTimeout]: fc.constantFrom("1", "60"),
      [annotationKeys.lastActive]: moment.map(time),
      [annotationKeys.onTimeout]: fc.constantFrom("kill", "pause"),
    },
    { requiredKeys: [] },
  );
  const activity: fc.Arbitrary<Activity> = fc.oneof(
    fc.constant<Activity>({ kind: "unknown" }),
    fc.record({ kind: fc.constant("known" as const), inUse: fc.boolean(), lastActiveMs: moment }),
  );
  const phase = fc.constantFrom("starting", "running", "idle", "stopping", "failed" as const);

  test("ends a sandbox for idleness on unknown activity, or while it is in use", () => {
    fc.assert(
      fc.property(limits, activity, moment, (annotations, seen, now) => {
        const verdict = ask(running(annotations), now, { activity: seen });
        fc.pre(seen.kind === "unknown" || seen.inUse);
        expect(reason(verdict)).not.toBe("IdleTimeout");
      }),
    );
  });

  test("changes before the time at which it says to look again, and some verdict has come by then", () => {
    fc.assert(
      fc.property(phase, limits, fc.record({ activity, isArmed: fc.boolean() }), moment, (name, annotations, more, now) => {
        const shape = name === "starting" ? starting(annotations) : { ...running(annotations), phase: name };
        const verdict = ask(shape, now, more);
        const again = verdict.kind === "lives" ? verdict.recheckAtMs : undefined;
        fc.pre(again !== undefined);
        expect(again).toBeGreaterThan(now);
        expect(ask(shape, again - 1, more).kind).toBe("lives");
        expect(ask(shape, again, more).kind).toBe("end");
      }),
    );
  });
});
