import { describe, expect, test } from "vitest";
import { concludeAttempt } from "./attempts.ts";
import { followScaleDown } from "./scale-down-session.ts";
import { scheduledFloor } from "./schedules.ts";

const nowMs = Date.parse("2026-03-30T06:30:00Z");

describe("a try to grow", () => {
  const attempt = { member: "a", present: 2, wanted: 6, decision: "6 wanted", saturationMs: 60_000, nowMs };
  const refusal = { kind: "InsufficientResources" as const, message: "no\nnode has room" };

  test("that gives all is Enough, and its member is not full", () => {
    expect(concludeAttempt(attempt, { admitted: 6 })).toMatchObject({
      replicas: 6,
      result: "Enough",
      status: { lastScaleUpAttemptResult: "Enough", saturatedUntil: undefined, scaleUpErrorMessage: undefined },
      event: { reason: "AutoscalerScaleUp", message: "from 2 to 6 pods: 6 wanted" },
    });
  });

  test("that gives a part is JustRight, is applied, and its member counts as full", () => {
    expect(concludeAttempt(attempt, { admitted: 4, refusal })).toMatchObject({
      replicas: 4,
      result: "JustRight",
      status: { saturatedUntil: "2026-03-30T06:31:00Z", scaleUpErrorMessage: "no node has room" },
      event: { type: "Warning", reason: "AutoscalerScaleUpPartial" },
    });
  });

  test("that gives nothing is Insufficient, and Failed when it could not be tried", () => {
    expect(concludeAttempt(attempt, { admitted: 0, refusal })).toMatchObject({
      replicas: 2,
      result: "Insufficient",
      event: { reason: "AutoscalerScaleUpRejected" },
    });
    expect(concludeAttempt(attempt, { admitted: 2, refusal: { kind: "Internal", message: "boom" } }).result).toBe("Failed");
  });
});

describe("a scale-down", () => {
  const session = { startedMs: nowMs, target: 2, toldStuckMs: undefined };
  const sight = (pods: number, minutes: number) => ({ member: "a", replicas: 2, pods, nowMs: nowMs + minutes * 60_000 });

  test("is completed when as many pods are left as wanted", () => {
    expect(followScaleDown(session, sight(3, 1))).toMatchObject({ session: { target: 2 }, event: undefined });
    expect(followScaleDown(session, sight(2, 1))).toMatchObject({ session: undefined, event: { reason: "AutoscalerScaleDownCompleted" } });
  });

  test("is told as stuck after five minutes, once, and no more after ten", () => {
    const stuck = followScaleDown(session, sight(3, 5));
    expect(stuck.event?.reason).toBe("AutoscalerScaleDownStuck");
    expect(followScaleDown(stuck.session ?? session, sight(3, 6)).event).toBeUndefined();
    expect(followScaleDown(stuck.session ?? session, sight(3, 11))).toEqual({ session: undefined, event: undefined });
  });
});

describe("schedules", () => {
  const office = { name: "office", start: "0 8 * * 1-5", timeZone: "Europe/Berlin", durationSeconds: 10 * 3600, minReplicas: 20 };
  const at = (time: string) => scheduledFloor([office], Date.parse(time)).minReplicas;

  test("begin and end in their time zone, also across the change to summer time", () => {
    expect([at("2026-03-27T06:59:59Z"), at("2026-03-27T07:00:00Z"), at("2026-03-27T16:59:59Z"), at("2026-03-27T17:00:00Z")]).toEqual([
      0, 20, 20, 0,
    ]);
    expect([at("2026-03-30T05:59:59Z"), at("2026-03-30T06:00:00Z"), at("2026-03-30T16:00:00Z")]).toEqual([0, 20, 0]);
    expect(at("2026-03-29T09:00:00Z")).toBe(0);
  });

  test("the highest that applies counts", () => {
    const night = { name: "always", start: "0 0 * * *", durationSeconds: 86_400, minReplicas: 3 };
    expect(scheduledFloor([night, office], nowMs)).toEqual({ minReplicas: 20, name: "office" });
    expect(scheduledFloor([night, office], Date.parse("2026-03-29T09:00:00Z"))).toEqual({ minReplicas: 3, name: "always" });
  });

  test("one that cannot be read applies never", () => {
    expect(scheduledFloor([{ ...office, start: "60 8 * * *" }], nowMs).minReplicas).toBe(0);
    expect(scheduledFloor([{ ...office, timeZone: "Mars/Olympus" }], nowMs).minReplicas).toBe(0);
  });
});
