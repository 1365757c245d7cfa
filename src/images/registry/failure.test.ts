import { describe, expect, test } from "vitest";
import { ImageError } from "../image-error.ts";
import { connectionFailure, failureOf, isWorthRetrying } from "./failure.ts";

const now = Date.UTC(2026, 0, 1);
const answer = (status: number, headers = {}, body = ""): ImageError => failureOf("the manifest of app:1", { status, headers, body, now });

test.each([
  [401, "unauthorized", /check the pull secret/],
  [403, "unauthorized", /do not allow/],
  [404, "not_found", /answered 404/],
  [429, "rate_limited", /too many requests/],
  [500, "registry_failed", /answered 500/],
  [408, "registry_failed", /answered 408/],
  [400, "registry_protocol", /answered 400/],
  [302, "registry_protocol", /answered 302/],
])("status %i is %s", (status, code, message) => {
  expect(answer(status).code).toBe(code);
  expect(answer(status).message).toMatch(message);
});

test("what the registry says is kept for admins, if it is in its own form, and no part of the message", () => {
  const body = JSON.stringify({ errors: [{ code: "DENIED", message: "requested access is denied" }, { code: "OTHER" }] });
  expect(answer(403, {}, body).detail).toBe("it says DENIED: requested access is denied");
  expect(answer(403, {}, body).message).not.toContain("requested");
  for (const other of ["<html>", "[]", '{"errors":{}}', '{"errors":[]}', '{"errors":[{"code":1}]}'])
    expect(answer(500, {}, other)).toMatchObject({ message: expect.stringMatching(/answered 500$/) as string, detail: undefined });
});

test.each([
  ["7", 7000],
  [new Date(now + 60_000).toUTCString(), 60_000],
  [new Date(now - 60_000).toUTCString(), 0],
  ["soon", undefined],
])("Retry-After: %s", (header, ms) => {
  expect(answer(429, { "retry-after": header }).retryAfterMs).toBe(ms);
});

describe("connections", () => {
  const url = new URL("https://registry.example/v2/");
  const failed = (code: string, cause?: Error): unknown =>
    connectionFailure("it", url, Object.assign(new Error("message", { cause }), code === "" ? {} : { code }));

  test.each([
    "DEPTH_ZERO_SELF_SIGNED_CERT",
    "CERT_HAS_EXPIRED",
    "ERR_TLS_CERT_ALTNAME_INVALID",
    "EPROTO",
    "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
    "ERR_SSL_WRONG_VERSION_NUMBER",
  ])("%s is about TLS and not tried again", (code) => {
    expect(failed(code)).toMatchObject({ code: "tls" });
    expect(isWorthRetrying(failed(code))).toBe(false);
  });

  test.each(["ECONNREFUSED", "EAI_AGAIN", "UND_ERR_SOCKET", "UND_ERR_CONNECT_TIMEOUT", ""])("%s is unreachable and tried again", (code) => {
    const detail = "https://registry.example: message";
    expect(failed(code)).toMatchObject({ code: "unreachable", message: "it: the registry cannot be reached or is not allowed", detail });
    expect(isWorthRetrying(failed(code))).toBe(true);
  });

  test("a name that is not there looks like one that is not allowed, in time too", () => {
    const [missing, closed] = [failed("ENOTFOUND"), failed("ERR_ADDRESS_NOT_ALLOWED")];
    for (const error of [missing, closed]) {
      expect(error).toMatchObject({ code: "not_allowed", message: "it: the registry cannot be reached or is not allowed" });
      expect(isWorthRetrying(error)).toBe(false);
    }
  });

  test("a cause deep down counts", () => {
    expect(failed("", Object.assign(new Error("inner"), { code: "CERT_HAS_EXPIRED" }))).toMatchObject({ code: "tls" });
  });

  test("our own errors and foreign values pass", () => {
    const own = new ImageError("too_large", "x");
    expect(connectionFailure("it", url, own)).toBe(own);
    expect(connectionFailure("it", url, "text")).toBe("text");
  });
});
