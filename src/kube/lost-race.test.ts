import { expect, test } from "vitest";
import { ApiError, type ApiErrorReason, httpStatusOf } from "./api-error.ts";
import { isLostRace } from "./lost-race.ts";

test("a race is lost to a change, to a deletion, or at a test that does not hold, and at nothing else", () => {
  const reasons = Object.keys(httpStatusOf) as ApiErrorReason[];
  expect(reasons.filter((reason) => isLostRace(new ApiError(reason, "no")))).toEqual(["NotFound", "Conflict", "Invalid"]);
  expect(isLostRace(new Error("no"))).toBe(false);
});

test("an object that breaks a rule has lost no race: trying again would be refused again", () => {
  const causes = [{ field: "metadata.labels", reason: "FieldValueInvalid", message: "bad" }];
  expect(isLostRace(new ApiError("Invalid", "no", { causes }))).toBe(false);
});
