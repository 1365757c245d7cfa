import { generateKeyPairSync } from "node:crypto";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { header, publicKeyText, signInit } from "#envd-protocol/arming.ts";
import { DoormanJudge, type Judgement } from "./doorman-judge.ts";
import { attack } from "./fuzz.ts";
import { oddRequest } from "./odd-heads.ts";

const keys = generateKeyPairSync("ed25519");
const subject = { podUid: "pod-1", bootId: "boot-1", sandboxId: "sandbox-1" };
const body = Buffer.from(JSON.stringify({ accessToken: "a-token", envVars: { GIVEN: "1" } }));

let judge: DoormanJudge;
beforeAll(async () => {
  judge = await DoormanJudge.open(Buffer.from(publicKeyText(keys.publicKey), "base64"), subject);
});
afterAll(() => judge[Symbol.asyncDispose]());

const lines = [
  "Host: 10.0.0.1:49983",
  "Connection: keep-alive",
  `${header.sandboxId}: ${subject.sandboxId}`,
  `${header.signature}: ${signInit(keys.privateKey, subject, body)}`,
  `Content-Length: ${body.length}`,
];

function orderOf(head: readonly string[], rest: Uint8Array = body): Buffer {
  return Buffer.concat([Buffer.from(`POST /init HTTP/1.1\r\n${head.map((line) => `${line}\r\n`).join("")}\r\n`, "latin1"), rest]);
}

/** A change at a place between 0 and 1. */
const change = fc.record({
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  how: fc.constantFrom("set", "insert", "remove", "repeat", "end"),
  byte: fc.oneof(fc.integer({ min: 0, max: 255 }), fc.constantFrom(...Buffer.from('\r\n :\t\0"=,9'))),
  length: fc.integer({ min: 1, max: 40 }),
});

function changed(bytes: Buffer, { at, how, byte, length }: typeof change extends fc.Arbitrary<infer T> ? T : never): Buffer {
  const place = Math.floor(at * (bytes.length - 1));
  const [before, after] = [bytes.subarray(0, place), bytes.subarray(place)];
  if (how === "set") return Buffer.concat([before, Buffer.of(byte), after.subarray(1)]);
  if (how === "insert") return Buffer.concat([before, Buffer.of(byte), after]);
  if (how === "remove") return Buffer.concat([before, after.subarray(length)]);
  if (how === "repeat") return Buffer.concat([before, after.subarray(0, length), after]);
  return before;
}

const odd = fc.oneof(
  { arbitrary: fc.array(change, { minLength: 1, maxLength: 4 }).map((changes) => changes.reduce(changed, orderOf(lines))), weight: 4 },
  {
    arbitrary: oddRequest({ hosts: ["x"], routes: lines, paths: ["/init", "/health"] }).map((bytes) => bytes.subarray(0, 64 * 1024)),
    weight: 1,
  },
  {
    arbitrary: fc.array(fc.oneof(fc.constantFrom(...lines), fc.string()), { maxLength: 12 }).map((head) => orderOf(head)),
    weight: 2,
  },
);

/** To the letter: what is taken is what was signed. */
function isJust({ verdict, sandboxId, body: taken }: Judgement, bytes: Buffer): boolean {
  if (verdict === "order") return sandboxId === subject.sandboxId && taken.equals(body);
  return verdict !== "health" || bytes.toString("latin1").startsWith("GET /health HTTP/1.1\r\n");
}

test("an order is taken as soon as it is whole, whatever the order of its headers, and not before", async () => {
  for (const head of fc.sample(fc.shuffledSubarray(lines, { minLength: lines.length }), 50)) {
    const whole = orderOf(head);
    expect(await judge.ask(whole)).toEqual({ verdict: "order", after: whole.length, sandboxId: subject.sandboxId, body });
  }
});

test("whatever a request says: none is taken for an order but that of the control plane, to the letter", async () => {
  await attack("orders to the doorman", odd, async (bytes) => {
    const judgement = await judge.ask(bytes);
    expect(isJust(judgement, bytes)).toBe(true);
    return [{ order: 204, health: 204, unknown: 400, more: 100 }[judgement.verdict]];
  });
});
