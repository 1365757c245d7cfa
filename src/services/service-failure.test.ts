import { expect, test } from "vitest";
import { ApiError, type ApiErrorReason } from "#kube/api-error.ts";
import { PodAccessError } from "#kube/pod-access.ts";
import type { ErrorCode } from "#model/error-codes.ts";
import { HistoryError } from "#store/history-error.ts";
import { isServiceError } from "./service-error.ts";
import { asServiceError, translated } from "./service-failure.ts";

const told = (error: unknown): unknown => {
  const failure = asServiceError(error);
  return isServiceError(failure) ? [failure.code, failure.details] : failure;
};

test.each<[ApiErrorReason, ErrorCode]>([
  ["Conflict", "conflict"],
  ["AlreadyExists", "conflict"],
  ["Invalid", "invalid_request"],
  ["BadRequest", "invalid_request"],
  ["RequestEntityTooLarge", "too_large"],
  ["Unreachable", "unavailable"],
  ["ServiceUnavailable", "unavailable"],
  ["ServerTimeout", "unavailable"],
  ["Timeout", "unavailable"],
  ["TooManyRequests", "unavailable"],
])("%s of the object server is %s", (reason, code) => {
  expect(isServiceError(asServiceError(new ApiError(reason, "x")), code)).toBe(true);
});

test("what nobody foresaw goes through as it is: callers are told nothing of it", () => {
  for (const error of [new ApiError("Forbidden", "no rights"), new ApiError("InternalError", "x"), new TypeError("x"), "x"]) {
    expect(asServiceError(error)).toBe(error);
  }
});

test("the object server's own words on when to come again are passed on, in whole seconds", () => {
  expect(told(new ApiError("TooManyRequests", "x", { retryAfterMs: 2100 }))).toMatchObject(["unavailable", { retryAfterSeconds: 3 }]);
  expect(told(new ApiError("ServiceUnavailable", "x"))).toMatchObject(["unavailable", { retryAfterSeconds: 1 }]);
});

test("the place of a mistake is the first that the server names, or the field that it does not know", () => {
  const causes = [
    { reason: "FieldValueInvalid", message: "x", field: "spec.a" },
    { reason: "FieldValueInvalid", message: "x", field: "spec.b" },
  ];
  expect(told(new ApiError("Invalid", "x", { causes }))).toMatchObject(["invalid_request", { field: "spec.a" }]);
  expect(told(new ApiError("BadRequest", 'strict decoding error: unknown field "spec.size"'))).toMatchObject([
    "invalid_request",
    { field: "spec.size" },
  ]);
  expect(told(new ApiError("BadRequest", "x"))).toEqual(["invalid_request", {}]);
});

test.each([
  ["invalid", "invalid_request"],
  ["too-slow", "timeout"],
  ["unavailable", "unavailable"],
  ["closed", "unavailable"],
] as const)("a history that is %s is %s, and its inner words are not shown", (code, expected) => {
  const failure = asServiceError(new HistoryError(code, "words of the database"));
  expect(isServiceError(failure, expected)).toBe(true);
  expect((failure as Error).message.includes("words of the database")).toBe(code === "invalid");
});

test("a pod that cannot be gone into is a conflict in its own words", async () => {
  const work = translated(Promise.reject(new PodAccessError("not_running", "the container main is not running")));
  await expect(work).rejects.toMatchObject({ code: "conflict", message: "the container main is not running" });
});
