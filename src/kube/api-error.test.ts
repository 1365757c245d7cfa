import { expect, test } from "vitest";
import { ApiError, ifFound, isApiError } from "./api-error.ts";

test("a read of an object that does not exist resolves with undefined, and every other failure stays one", async () => {
  expect(await ifFound(Promise.resolve("it"))).toBe("it");
  expect(await ifFound(Promise.reject(new ApiError("NotFound", "no such pod")))).toBeUndefined();
  await expect(ifFound(Promise.reject(new ApiError("Unreachable", "reset")))).rejects.toThrow("reset");
  await expect(ifFound(Promise.reject(new Error("a bug")))).rejects.toThrow("a bug");
});

test("an error is told by its reason and never by its text", () => {
  const error = new ApiError("Conflict", "NotFound");
  expect([isApiError(error), isApiError(error, "NotFound"), isApiError(error, "NotFound", "Conflict")]).toEqual([true, false, true]);
  expect(isApiError(new Error("NotFound"), "NotFound")).toBe(false);
});
