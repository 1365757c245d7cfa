import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { apiServer } from "#api/http/api-server.ts";
import { prometheusMetrics } from "#lib/metrics.ts";
import type { Caller } from "#services/caller.ts";
import type { KeyService } from "#services/keys/key-service.ts";
import { ServiceError } from "#services/service-error.ts";
import { recordedLog } from "../../../test/world/recorded-log.ts";
import { SteppedClock } from "../../../test/world/stepped-clock.ts";
import { e2bErrors } from "./error-shape.ts";
import { keyRoutes } from "./key-routes.ts";

const caller: Caller = { role: "tenant", team: "red", user: "ann", keyId: "k" };
const kept = { id: "0123456789abcdef", role: "tenant", team: "red", name: "ci", createdAt: "2026-01-01T00:00:00.000Z" } as const;
const shown = {
  id: kept.id,
  name: "ci",
  mask: { prefix: "e2b_", valueLength: 40, maskedValuePrefix: "", maskedValueSuffix: "" },
  createdAt: kept.createdAt,
  createdBy: null,
};

async function ask(line: string, payload?: object) {
  const asked: unknown[] = [];
  const keys: KeyService = {
    authenticate: (key) => (key === "key" ? caller : undefined),
    callerOf: () => undefined,
    isLive: () => true,
    whenEnded: () => () => {},
    create: async (by, wish) => {
      asked.push([by, wish]);
      return { ...kept, key: "e2b_ab34567890123456789012345678901234567890" };
    },
    list: (by) => {
      asked.push(by);
      return [kept];
    },
    revoke: async (_, id) => {
      if (id !== kept.id) throw new ServiceError("not_found", "there is no such key");
    },
  };
  const app = await apiServer({
    keys,
    clock: new SteppedClock(),
    log: recordedLog().log,
    metrics: prometheusMetrics(new Registry()),
    rateLimit: { perSecond: 0, burst: 0 },
    ready: () => true,
    metricsText: async () => ({ contentType: "text/plain", text: "" }),
    faces: [{ errors: e2bErrors, routes: (face) => keyRoutes(face, keys) }],
  });
  const [method = "GET", url = "/"] = line.split(" ");
  const answer = await app.inject({ method: method as "GET", url, headers: { "x-api-key": "key" }, ...(payload && { payload }) });
  await app.close();
  return { status: answer.statusCode, json: answer.body === "" ? undefined : (JSON.parse(answer.body) as unknown), asked };
}

test("keys are listed for their owner, without anything of the key", async () => {
  expect(await ask("GET /api-keys")).toEqual({ status: 200, json: [shown], asked: [caller] });
});

test("a key is made like the caller's own, and shown once", async () => {
  const { status, json, asked } = await ask("POST /api-keys", { name: "ci" });
  expect(asked).toEqual([[caller, { name: "ci", role: "tenant" }]]);
  expect([status, json]).toEqual([
    201,
    {
      ...shown,
      key: "e2b_ab34567890123456789012345678901234567890",
      mask: { ...shown.mask, maskedValuePrefix: "ab", maskedValueSuffix: "7890" },
    },
  ]);
});

test.each([
  [`DELETE /api-keys/${kept.id}`, undefined, 204],
  ["DELETE /api-keys/none", undefined, 404],
  ["POST /api-keys", {}, 400],
  [`PATCH /api-keys/${kept.id}`, { name: "other" }, 501],
])("%s is answered with %j", async (line, payload, status) => {
  expect((await ask(line, payload)).status).toBe(status);
});
