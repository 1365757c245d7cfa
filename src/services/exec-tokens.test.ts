import { expect, test } from "vitest";
import { admin, ann, bob, eve } from "../../test/world/service-scene.ts";
import { SteppedClock } from "../../test/world/stepped-clock.ts";
import { ExecTokens } from "./exec-tokens.ts";
import { isServiceError } from "./service-error.ts";

const grant = { caller: ann, sandboxId: "i-1", command: { argv: ["sh"] } };

test("a token opens what it was given for, once", () => {
  const tokens = new ExecTokens<unknown>({ clock: new SteppedClock() });
  const { token } = tokens.issue(grant);
  expect(tokens.redeem(token, "i-1")).toMatchObject(grant);
  expect(tokens.redeem(token, "i-1")).toBeUndefined();
});

test("a token is of no use for another sandbox, and then of no use at all", () => {
  const tokens = new ExecTokens<unknown>({ clock: new SteppedClock() });
  const { token } = tokens.issue(grant);
  expect(tokens.redeem(token, "i-2")).toBeUndefined();
  expect(tokens.redeem(token, "i-1")).toBeUndefined();
});

test("a token is good for 30 seconds, and says so", async () => {
  const clock = new SteppedClock();
  const tokens = new ExecTokens<unknown>({ clock });
  const [early, late] = [tokens.issue(grant), tokens.issue(grant)];
  expect(early.expiresAt).toBe("2026-01-01T00:00:30.000Z");
  await clock.step(29_999);
  expect(tokens.redeem(early.token, "i-1")).toBeDefined();
  await clock.step(1);
  expect(tokens.redeem(late.token, "i-1")).toBeUndefined();
});

test("what was never issued is of no use, and tokens are not alike", () => {
  const tokens = new ExecTokens<unknown>({ clock: new SteppedClock() });
  expect(tokens.redeem("", "i-1")).toBeUndefined();
  expect(tokens.redeem("x".repeat(43), "i-1")).toBeUndefined();
  expect(new Set(Array.from({ length: 100 }, () => tokens.issue(grant).token)).size).toBe(100);
});

function refused(work: () => unknown): boolean {
  try {
    work();
    return false;
  } catch (error) {
    return isServiceError(error, "limit_reached");
  }
}

test("unused tokens are bounded, and room comes back as they expire", async () => {
  const clock = new SteppedClock();
  const tokens = new ExecTokens<unknown>({ clock, maxTokens: 2 });
  tokens.issue(grant);
  tokens.issue(grant);
  expect(refused(() => tokens.issue(grant))).toBe(true);
  await clock.step(30_000);
  expect(refused(() => tokens.issue(grant))).toBe(false);
});

test("one team cannot take the places of all others, and gets its own back as they are used or expire", async () => {
  const clock = new SteppedClock();
  const tokens = new ExecTokens<unknown>({ clock, maxOfTenant: 2 });
  const { token } = tokens.issue(grant);
  tokens.issue({ ...grant, caller: bob });
  expect(refused(() => tokens.issue(grant))).toBe(true);
  for (const caller of [eve, admin, admin, admin]) expect(refused(() => tokens.issue({ ...grant, caller }))).toBe(false);
  tokens.redeem(token, "i-1");
  expect(refused(() => tokens.issue(grant))).toBe(false);
  expect(refused(() => tokens.issue(grant))).toBe(true);
  await clock.step(30_000);
  expect(refused(() => tokens.issue(grant))).toBe(false);
});
