import { describe, expect, test } from "vitest";
import { ApiError } from "#kube/api-error.ts";
import { errorFromAnswer, errorFromSocket, errorFromStatus, neverSent, retryAfterMs, type FailedAnswer } from "./status-error.ts";

const now = Date.UTC(2026, 0, 1);

function answer(change: Partial<FailedAnswer>): FailedAnswer {
  return { request: "GET /api/v1/pods", status: 500, contentType: "", retryAfter: undefined, text: "", ...change };
}

function statusAnswer(status: object, change: Partial<FailedAnswer> = {}): FailedAnswer {
  return answer({ contentType: "application/json", text: JSON.stringify({ kind: "Status", ...status }), ...change });
}

describe("a Status", () => {
  test("keeps its reason, message, code, causes and the object it speaks of", () => {
    const error = errorFromAnswer(
      statusAnswer(
        {
          message: "bad pool",
          reason: "Invalid",
          code: 422,
          details: {
            name: "p",
            group: "agents.navix.sh",
            kind: "SandboxPool",
            uid: "u-1",
            causes: [{ field: "spec.replicas", reason: "FieldValueInvalid", message: "Invalid value: -1" }, {}],
          },
        },
        { status: 422 },
      ),
      now,
    );
    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({ reason: "Invalid", message: "bad pool", code: 422, retryAfterMs: undefined });
    expect(error.causes).toEqual([
      { field: "spec.replicas", reason: "FieldValueInvalid", message: "Invalid value: -1" },
      { field: "", reason: "", message: "" },
    ]);
    expect(error.details).toMatchObject({ name: "p", group: "agents.navix.sh", kind: "SandboxPool", uid: "u-1" });
  });

  test("without a reason that we know is told by its code", () => {
    expect(errorFromAnswer(statusAnswer({ reason: "StoreReadError" }, { status: 500 }), now).reason).toBe("InternalError");
    expect(errorFromAnswer(statusAnswer({ reason: "" }, { status: 404 }), now).reason).toBe("NotFound");
    expect(errorFromAnswer(statusAnswer({ reason: "constructor" }, { status: 418 }), now).reason).toBe("Unknown");
  });

  test("of a watch event tells Expired from Gone", () => {
    expect(errorFromStatus({ code: 410, reason: "Expired", message: "too old" })).toMatchObject({ reason: "Expired", code: 410 });
    expect(errorFromStatus({ code: 410, reason: "Gone" }).reason).toBe("Gone");
    expect(errorFromStatus({})).toMatchObject({ reason: "InternalError", code: 500 });
  });

  test("asks for a pause in its details or, before that, in the header", () => {
    const inDetails = { details: { retryAfterSeconds: 3 }, reason: "TooManyRequests" };
    expect(errorFromAnswer(statusAnswer(inDetails, { status: 429 }), now).retryAfterMs).toBe(3000);
    expect(errorFromAnswer(statusAnswer(inDetails, { status: 429, retryAfter: "7" }), now).retryAfterMs).toBe(7000);
  });
});

describe("an answer that is not a Status", () => {
  test("is shown as text, without the tags of a proxy's page", () => {
    const page = "<html><style>p {}</style><body><h1>502 Bad Gateway</h1>\n<p>nginx</p></body></html>";
    const error = errorFromAnswer(answer({ status: 502, contentType: "text/html", text: page }), now);
    expect(error).toMatchObject({ reason: "ServiceUnavailable", code: 502 });
    expect(error.message).toBe("GET /api/v1/pods was answered with 502 (text/html) and not by a Kubernetes API: 502 Bad Gateway nginx");
  });

  test("may be empty, other JSON, or very long", () => {
    expect(errorFromAnswer(answer({ status: 504 }), now)).toMatchObject({ reason: "Timeout" });
    expect(errorFromAnswer(answer({ status: 404, text: '{"error":"x"}' }), now).message).toContain(
      '404 and not by a Kubernetes API: {"error":"x"}',
    );
    expect(errorFromAnswer(answer({ text: "null" }), now).reason).toBe("InternalError");
    expect(errorFromAnswer(answer({ text: "x".repeat(10_000) }), now).message.length).toBeLessThan(400);
  });

  test("still says how long to wait", () => {
    expect(errorFromAnswer(answer({ status: 503, retryAfter: "2" }), now)).toMatchObject({
      reason: "ServiceUnavailable",
      retryAfterMs: 2000,
    });
  });
});

test("Retry-After is seconds or a date; anything else is no wish at all", () => {
  expect(retryAfterMs("12", now)).toBe(12_000);
  expect(retryAfterMs("Thu, 01 Jan 2026 00:00:05 GMT", now)).toBe(5000);
  expect(retryAfterMs("Thu, 01 Jan 2025 00:00:05 GMT", now)).toBe(0);
  expect(retryAfterMs("soon", now)).toBeUndefined();
  expect(retryAfterMs(undefined, now)).toBeUndefined();
});

function failure(code: string): ApiError {
  return errorFromSocket("POST /api/v1/pods", "https://host:6443", Object.assign(new Error(`failed: ${code}`), { code }));
}

test("a failed connection is Unreachable, and only some failures surely came before anything was sent", () => {
  expect(failure("ECONNRESET")).toMatchObject({
    reason: "Unreachable",
    message: "POST /api/v1/pods got no answer from https://host:6443: failed: ECONNRESET",
  });
  expect(neverSent(failure("ECONNREFUSED"))).toBe(true);
  expect(neverSent(failure("ECONNRESET"))).toBe(false);
  expect(neverSent(errorFromSocket("GET /", "http://x", "torn"))).toBe(false);
  expect(neverSent(new ApiError("Conflict", "no", { cause: failure("ECONNREFUSED").cause }))).toBe(false);
});
