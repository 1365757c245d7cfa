import { expect, test } from "vitest";
import { refusal } from "./file-access.ts";
import { fileSignature } from "./file-signature.ts";

test("a wrong token is not helped by a right signature, and none is needed where there is no token", () => {
  const query = { path: "/x", user: undefined, signature: "v1_x", expiration: undefined };
  expect(refusal("t", { query, operation: "read", token: "wrong", nowMs: 0 })).toContain("does not match");
  expect(refusal("", { query, operation: "read", token: undefined, nowMs: 0 })).toBeUndefined();
});

test.for(["", undefined])("a signature that names no path (%j) opens nothing, though it is a right one", (path) => {
  const query = { path, user: undefined, signature: fileSignature("t", { path: "", operation: "write", user: "" }), expiration: undefined };
  expect(refusal("t", { query, operation: "write", token: undefined, nowMs: 0 })).toContain("the one path that it names");
  expect(refusal("t", { query, operation: "write", token: "t", nowMs: 0 })).toBeUndefined();
});

test.for<[string, Partial<Parameters<typeof fileSignature>[1]>, string | undefined]>([
  ["as it was signed", {}, undefined],
  ["for another path", { path: "/y" }, "invalid signature"],
  ["for another operation", { operation: "write" }, "invalid signature"],
  ["for another user", { user: "root" }, "invalid signature"],
  ["for another end", { expiration: 101 }, "invalid signature"],
])("a signature is good only for what it was made for: %s", ([, signed, expected]) => {
  const right = { path: "/x", operation: "read", user: "user", expiration: 100 } as const;
  const signature = fileSignature("t", { ...right, ...signed });
  const query = { path: "/x", user: "user", signature, expiration: "100" };
  expect(refusal("t", { query, operation: "read", token: undefined, nowMs: 100_000 })).toBe(expected);
});

test("a signature ends at its time", () => {
  const signature = fileSignature("t", { path: "/x", operation: "read", user: "", expiration: 100 });
  const query = { path: "/x", user: undefined, signature, expiration: "100" };
  const at = (nowMs: number): string | undefined => refusal("t", { query, operation: "read", token: undefined, nowMs });
  expect([at(100_000), at(100_001)]).toEqual([undefined, "signature is already expired"]);
});
