import { isApiError } from "./api-error.ts";

/**
 * True when a conditional write was refused because the object is no longer the one that it was decided on: it changed, or it is gone.
 * That is an outcome, not a failure: look again, or take another one. A JSON patch whose `test` does not hold is answered with Invalid,
 * like an object that breaks a rule; but only the latter comes with causes.
 */
export function isLostRace(error: unknown): boolean {
  if (isApiError(error, "Conflict", "NotFound")) return true;
  return isApiError(error, "Invalid") && error.causes.length === 0;
}
