import { expect, test } from "vitest";
import type { Failure } from "../http/failure.ts";
import { e2bErrors } from "./error-shape.ts";

const shaped = (failure: Partial<Failure>) =>
  e2bErrors({ status: 429, code: "no_capacity", message: "m", details: {}, defect: false, ...failure }, "r");

test.each<[Partial<Failure>, string | undefined]>([
  [{ code: "no_capacity" }, "sandbox_capacity_unavailable"],
  [{ code: "timeout", details: { pool: { idle: 0, starting: 1, running: 0, stopping: 0, waiting: 0 } } }, "sandbox_placement_timeout"],
  [{ code: "timeout" }, undefined],
  [{ code: "start_failed" }, "sandbox_create_failed"],
  [{ code: "image_unavailable" }, "sandbox_create_refused"],
  [{ code: "conflict", details: { idempotency: "mismatch" } }, "idempotency_request_mismatch"],
  [{ code: "conflict", details: { idempotency: "in_progress" } }, "idempotency_in_progress"],
  [{ code: "not_found" }, undefined],
])("%j has E2B's error_code %s", (failure, code) => {
  expect((shaped(failure).body as { error_code?: string }).error_code).toBe(code);
});

test.each<[Partial<Failure>, string | undefined]>([
  [{ code: "conflict", details: { idempotency: "in_progress" } }, "true"],
  [{ code: "limit_reached" }, "false"],
  [{ code: "limit_reached", details: { retryAfterSeconds: 5 } }, "true"],
  [{ code: "no_capacity" }, undefined],
])("%j says to SDKs whether to try again: %s", (failure, header) => {
  expect(shaped(failure).headers?.["should-retry"]).toBe(header);
});
