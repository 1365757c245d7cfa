import { generateKeyPairSync } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { ann } from "../../../test/world/service-scene.ts";
import { SteppedClock } from "../../../test/world/stepped-clock.ts";
import { ExecTokens } from "./exec-tokens.ts";
import { ServiceError } from "#services/service-error.ts";

const grant = { caller: ann, sandboxId: "i-1", command: { argv: ["sh"] } };
const { privateKey } = generateKeyPairSync("ed25519");

function opened(clock = new SteppedClock(), isLive: (keyId: string) => boolean = () => true): ExecTokens<unknown> {
  return new ExecTokens<unknown>({ clock, privateKey, keys: { isLive } });
}

test("a token opens what it was given for, once", () => {
  const tokens = opened();
  const { token } = tokens.issue(grant);
  expect(tokens.redeem(token, "i-1")).toEqual(grant);
  expect(tokens.redeem(token, "i-1")).toBeUndefined();
});

test("a token is of no use for another sandbox, and then of no use at all", () => {
  const tokens = opened();
  const { token } = tokens.issue(grant);
  expect(tokens.redeem(token, "i-2")).toBeUndefined();
  expect(tokens.redeem(token, "i-1")).toBeUndefined();
});

test("a token is good for 30 seconds, and says so", async () => {
  const clock = new SteppedClock();
  const tokens = opened(clock);
  const [early, late] = [tokens.issue(grant), tokens.issue(grant)];
  expect(early.expiresAt).toBe("2026-01-01T00:00:30.000Z");
  await clock.step(29_999);
  expect(tokens.redeem(early.token, "i-1")).toBeDefined();
  await clock.step(1);
  expect(tokens.redeem(late.token, "i-1")).toBeUndefined();
});

test("a token ends with the key that it was issued to", () => {
  const revoked = new Set<string>();
  const tokens = opened(undefined, (keyId) => !revoked.has(keyId));
  const { token } = tokens.issue(grant);
  revoked.add(ann.keyId);
  expect(tokens.redeem(token, "i-1")).toBeUndefined();
});

test("what was never issued is of no use, and tokens are not alike", () => {
  const tokens = opened();
  for (const text of ["", "x".repeat(43), "=", "e30", "é"]) expect(tokens.redeem(text, "i-1")).toBeUndefined();
  expect(new Set(Array.from({ length: 100 }, () => tokens.issue(grant).token)).size).toBe(100);
});

test("W20: any process with the control plane's key takes a token of another; who has another key does not", () => {
  const { token } = opened().issue(grant);
  const other = generateKeyPairSync("ed25519").privateKey;
  const stranger = new ExecTokens({ clock: new SteppedClock(), privateKey: other, keys: { isLive: () => true } });
  expect(stranger.redeem(token, "i-1")).toBeUndefined();
  expect(opened().redeem(token, "i-1")).toEqual(grant);
});

test("a token that was changed anywhere, also only in its spelling, opens nothing", () => {
  const tokens = opened();
  const { token } = tokens.issue(grant);
  fc.assert(
    fc.property(fc.nat(token.length - 1), fc.constantFrom("a", "Z", "0", "9", "-", "_", "=", "+", " "), (at, letter) => {
      const changed = token.slice(0, at) + letter + token.slice(at + 1);
      return changed === token || tokens.redeem(changed, "i-1") === undefined;
    }),
  );
  expect(tokens.redeem(`${token}=`, "i-1")).toBeUndefined();
  expect(tokens.redeem(token, "i-1")).toEqual(grant);
});

test("what a token holds cannot be read from it", () => {
  const { token } = opened().issue({ ...grant, command: { env: { PASSWORD: "a secret of ann" } } });
  expect(Buffer.from(token, "base64url").toString("latin1")).not.toMatch(/secret|PASSWORD|i-1/);
});

test("a grant that is too long for an address is refused when it is asked for", () => {
  expect(() => opened().issue({ ...grant, command: { argv: ["x".repeat(10_000)] } })).toThrow(ServiceError);
});
