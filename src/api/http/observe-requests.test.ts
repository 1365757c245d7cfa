import type { FastifyInstance } from "fastify";
import { Registry } from "prom-client";
import { afterEach, expect, test } from "vitest";
import { prometheusMetrics } from "#lib/metrics.ts";
import type { NewEntry } from "#services/audit/audit-trail.ts";
import type { Caller } from "#services/caller.ts";
import { recordedLog } from "../../../test/world/recorded-log.ts";
import { settle, SteppedClock } from "../../../test/world/stepped-clock.ts";
import { apiServer } from "./api-server.ts";
import { noteSubject } from "./observe-requests.ts";
import { problemShape } from "./problem.ts";

const adminKey = `e2b_${"a".repeat(40)}`;
const tenantKey = `e2b_${"b".repeat(40)}`;
const callers: Readonly<Record<string, Caller>> = {
  [adminKey]: { role: "admin", team: "", keyId: "admin-key" },
  [tenantKey]: { role: "tenant", team: "red", user: "ann", keyId: "tenant-key" },
};

const running: FastifyInstance[] = [];
afterEach(async () => {
  for (const app of running.splice(0)) await app.close();
});

function routes(app: FastifyInstance): void {
  app.get("/v1/me", async () => ({}));
  const body = { type: "object", required: ["from"], additionalProperties: false, properties: { from: { type: "string" } } };
  app.post("/v1/things", { schema: { body } }, async (request, reply) => {
    noteSubject(request, { sandboxId: "i1" });
    return reply.code(201).send({ made: true });
  });
  app.delete("/v1/things/:id", async (_request, reply) => reply.code(204).send());
}

async function start({
  audit,
}: {
  readonly audit: { readonly note: (entry: NewEntry) => Promise<void> };
}): Promise<{ readonly app: FastifyInstance }> {
  const app = await apiServer({
    keys: { authenticate: (key) => callers[key], whenEnded: () => () => {} },
    clock: new SteppedClock(),
    log: recordedLog().log,
    metrics: prometheusMetrics(new Registry()),
    audit,
    rateLimit: { perSecond: 0, burst: 0 },
    faces: [{ errors: problemShape, routes }],
    ready: () => true,
    metricsText: async () => ({ contentType: "text/plain", text: "" }),
  });
  running.push(app);
  return { app };
}

const asAdmin = { "agentbox-api-key": adminKey };

function aStore() {
  const noted: NewEntry[] = [];
  const audit = { note: async (entry: NewEntry) => void noted.push(entry) };
  return { noted, audit };
}

test("the audit log has one entry for each change, noted before the answer: who, what, on what, from where, with which result", async () => {
  const { noted, audit } = aStore();
  const { app } = await start({ audit });
  const headers = { "x-api-key": tenantKey, "x-request-id": "r1", "user-agent": "a-client/1" };
  await app.inject({ method: "POST", url: "/v1/things?token=query-secret", headers, payload: { from: "body-secret" } });
  await app.inject({ method: "DELETE", url: "/v1/things/7", headers });
  await app.inject({ method: "POST", url: "/v1/things", headers, payload: { wrong: "body-secret" } });
  await app.inject({ url: "/v1/me", headers });
  await app.inject({ method: "DELETE", url: "/v1/things/7", headers: { "x-api-key": `e2b_${"c".repeat(40)}` } });
  const who = {
    keyId: "tenant-key",
    role: "tenant",
    team: "red",
    user: "ann",
    requestId: "r1",
    address: "127.0.0.1",
    agent: "a-client/1",
  };
  expect(noted).toMatchObject([
    { ...who, action: "POST /v1/things", target: "i1", subject: { sandboxId: "i1" }, status: 201 },
    { ...who, action: "DELETE /v1/things/:id", target: "7", subject: { id: "7" }, status: 204 },
    { ...who, action: "POST /v1/things", target: "", status: 400, code: "invalid_request" },
  ]);
  expect(noted).toHaveLength(3);
  const text = JSON.stringify(noted);
  for (const secret of [tenantKey, "body-secret", "query-secret"]) expect(text).not.toContain(secret);
});

test("the audit log names the admin's key, and the team that it acted as", async () => {
  const { noted, audit } = aStore();
  const { app } = await start({ audit });
  await app.inject({ method: "DELETE", url: "/v1/things/7", headers: { ...asAdmin, "x-impersonate-team": "red" } });
  expect(noted).toMatchObject([{ keyId: "admin-key", role: "admin", team: "red", user: "" }]);
});

test("an answer waits for its entry in the audit log", async () => {
  const stored = Promise.withResolvers<void>();
  const { app } = await start({ audit: { note: () => stored.promise } });
  let isAnswered = false;
  const answer = app.inject({ method: "DELETE", url: "/v1/things/7", headers: asAdmin }).then(() => (isAnswered = true));
  await settle();
  expect(isAnswered).toBe(false);
  stored.resolve();
  await answer;
});
