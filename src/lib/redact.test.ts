import * as fc from "fast-check";
import { expect, test } from "vitest";
import { redact, redacted } from "./redact.ts";

test.each([
  "authorization",
  "Authorization",
  "proxy-authorization",
  "set-cookie",
  "token",
  "accessToken",
  "envd_access_token",
  "password",
  "db.passwd",
  "apiKey",
  "api_key",
  "X-API-Key",
  "client-secret",
  "private_key",
  "credentials",
])("what stands under %s is not logged", (key) => {
  expect(redact({ [key]: "s3cr3t" })).toEqual({ [key]: redacted });
  expect(redact({ a: [{ [key]: { nested: "s3cr3t" } }] })).toEqual({ a: [{ [key]: redacted }] });
});

test.each(["namespace", "secretName", "key", "pool", "reason"])("what stands under %s is logged", (key) => {
  expect(redact({ [key]: "plain" })).toEqual({ [key]: "plain" });
});

test("a secret never gets into the line, however deep it stands", () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom("a", "list", "map", "error"), { maxLength: 12 }), (path) => {
      let value: unknown = { token: "s3cr3t" };
      for (const step of path) {
        if (step === "a") value = { a: value };
        else if (step === "list") value = [value];
        else if (step === "map") value = new Map([["m", value]]);
        else value = new Error("failed", { cause: value });
      }
      expect(JSON.stringify(redact(value))).not.toContain("s3cr3t");
    }),
  );
});

test("API keys are cut out wherever they stand", () => {
  const key = `e2b_${"0a".repeat(20)}`;
  expect(redact({ url: `/x?k=${key}&y`, error: new Error(`no such key: ${key}`) })).toMatchObject({
    url: `/x?k=${redacted}&y`,
    error: { message: `no such key: ${redacted}` },
  });
});

test("credentials inside texts are cut out", () => {
  expect(redact("GET / with Authorization: Bearer abc.def-123== failed")).toBe(`GET / with Authorization: Bearer ${redacted} failed`);
  expect(redact(new Error("basic dXNlcjpwYXNz"))).toMatchObject({ message: `basic ${redacted}` });
});

test("an error becomes its type, message, code, reason, stack and causes, and nothing else of it", () => {
  const cause = Object.assign(new TypeError("refused"), { code: "ECONNREFUSED", request: { body: "large" } });
  const error = Object.assign(new AggregateError([cause], "both failed", { cause }), { reason: "Unreachable" });
  expect(redact({ error })).toMatchObject({
    error: {
      type: "AggregateError",
      message: "both failed",
      reason: "Unreachable",
      stack: expect.stringContaining("redact.test.ts"),
      cause: { type: "TypeError", message: "refused", code: "ECONNREFUSED" },
      errors: [{ code: "ECONNREFUSED" }],
    },
  });
  expect(JSON.stringify(redact(error))).not.toContain("large");
});

test("what JSON cannot hold becomes something that it can", () => {
  const self: Record<string, unknown> = {};
  self["self"] = self;
  expect(() => JSON.stringify(redact(self))).not.toThrow();
  expect(redact({ big: 12n, bytes: Buffer.from("abc"), at: new Date(0), url: new URL("https://user:pass@host/path?key=1") })).toEqual({
    big: "12",
    bytes: "[3 bytes]",
    at: "1970-01-01T00:00:00.000Z",
    url: "https://host/path",
  });
});
