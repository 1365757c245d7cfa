import type { FastifyInstance } from "fastify";
import { Registry } from "prom-client";
import { afterEach, describe, expect, test } from "vitest";
import { prometheusMetrics } from "#lib/metrics.ts";
import type { ErrorCode } from "#model/error-codes.ts";
import type { Caller } from "#services/caller.ts";
import { ServiceError } from "#services/service-error.ts";
import { recordedLog } from "../../../test/world/recorded-log.ts";
import { SteppedClock } from "../../../test/world/stepped-clock.ts";
import { apiServer, type ApiServerDeps } from "./api-server.ts";
import { callerOf } from "./caller-of.ts";
import { noteSubject } from "./observe-requests.ts";
import { problemShape } from "./problem.ts";
import { httpStatus } from "./status.ts";

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
  app.get("/v1/me", (request, reply) => reply.send(callerOf(request)));
  app.get("/v1/open", { config: { public: true } }, async () => ({ open: true }));
  app.get("/v1/fail/:code", (request) => {
    const { code } = request.params as { code: ErrorCode };
    throw new ServiceError(code, "what happened", { field: "metadata.x", retryAfterSeconds: 1.2, cause: new Error("inner text") });
  });
  app.get("/v1/defect", async () => {
    throw new Error("the password of the database is hunter2");
  });
  const body = {
    type: "object",
    required: ["from"],
    additionalProperties: false,
    properties: {
      from: { type: "string" },
      on: { enum: ["kill", "pause"] },
      list: { type: "array", items: { type: "object", required: ["x"] } },
    },
  };
  const querystring = { type: "object", properties: { limit: { type: "integer", maximum: 10 } } };
  app.post("/v1/things", { schema: { body, querystring } }, async (request, reply) => {
    noteSubject(request, { sandboxId: "i1" });
    return reply.code(201).send({ made: true });
  });
  app.delete("/v1/things/:id", async (_request, reply) => reply.code(204).send());
}

interface Bench {
  readonly app: FastifyInstance;
  readonly clock: SteppedClock;
  readonly lines: ReturnType<typeof recordedLog>["lines"];
  readonly registry: Registry;
}

async function start(more: Partial<ApiServerDeps> = {}): Promise<Bench> {
  const registry = new Registry();
  const clock = new SteppedClock();
  const { log, lines } = recordedLog();
  const app = await apiServer({
    keys: { authenticate: (key) => callers[key], whenEnded: () => () => {} },
    clock,
    log,
    metrics: prometheusMetrics(registry),
    rateLimit: { perSecond: 0, burst: 0 },
    faces: [{ errors: problemShape, routes }],
    ready: () => true,
    metricsText: async () => ({ contentType: registry.contentType, text: await registry.metrics() }),
    metricsHosts: ["127.0.0.1", "localhost", "[::1]"],
    ...more,
  });
  running.push(app);
  return { app, clock, lines, registry };
}

const asAdmin = { "agentbox-api-key": adminKey };

describe("authentication", () => {
  test.each([
    ["AGENTBOX-API-KEY", { "agentbox-api-key": tenantKey }],
    ["X-API-Key", { "x-api-key": tenantKey }],
    ["Bearer", { authorization: `Bearer ${tenantKey}` }],
    ["bearer in lower case and with two spaces", { authorization: `bearer  ${tenantKey}` }],
    ["the same key twice", { "x-api-key": tenantKey, authorization: `Bearer ${tenantKey}` }],
    ["a key beside a proxy's own credentials", { "x-api-key": tenantKey, authorization: "Basic cHJveHk6eA==" }],
  ])("takes a key as %s", async (_, headers) => {
    const { app } = await start();
    const reply = await app.inject({ url: "/v1/me", headers });
    expect([reply.statusCode, reply.json()]).toEqual([200, callers[tenantKey]]);
  });

  test.each<[string, Record<string, string>, number, string]>([
    ["no key", {}, 401, "unauthenticated"],
    ["an empty key", { "x-api-key": " " }, 401, "unauthenticated"],
    ["a wrong key", { "x-api-key": `e2b_${"c".repeat(40)}` }, 401, "unauthenticated"],
    ["another scheme", { authorization: "Basic eDp5" }, 401, "unauthenticated"],
    ["two different keys", { "x-api-key": tenantKey, "agentbox-api-key": adminKey }, 400, "invalid_request"],
  ])("refuses %s", async (_, headers, status, code) => {
    const { app, lines } = await start();
    const reply = await app.inject({ method: "POST", url: "/v1/things", headers, payload: { from: "x" } });
    expect([reply.statusCode, reply.json<{ code: string }>().code]).toEqual([status, code]);
    expect(reply.headers["www-authenticate"]).toBe(status === 401 ? "Bearer" : undefined);
    expect(lines).toEqual([]);
  });

  test("is not asked of routes that say so", async () => {
    expect((await (await start()).app.inject("/v1/open")).json()).toEqual({ open: true });
  });

  test("lets an admin act as another caller, with only that caller's rights", async () => {
    const { app } = await start();
    const me = async (headers: Record<string, string>): Promise<unknown> =>
      (await app.inject({ url: "/v1/me", headers: { ...asAdmin, ...headers } })).json();
    expect(await me({})).toEqual(callers[adminKey]);
    expect(await me({ "x-impersonate-team": "red" })).toEqual({ role: "tenant", team: "red", keyId: "admin-key" });
    expect(await me({ "x-impersonate-team": "red", "x-impersonate-user": "bob" })).toEqual({
      role: "tenant",
      team: "red",
      user: "bob",
      keyId: "admin-key",
    });
    expect(await me({ "x-impersonate-user": "bob" })).toMatchObject({ status: 400, field: "header.x-impersonate-team" });
  });

  test("does not let a tenant act as any caller, not even as itself", async () => {
    const { app } = await start();
    for (const header of ["x-impersonate-team", "x-impersonate-user"]) {
      const reply = await app.inject({ url: "/v1/me", headers: { "x-api-key": tenantKey, [header]: "red" } });
      expect([reply.statusCode, reply.json<{ code: string }>().code]).toEqual([403, "forbidden"]);
    }
  });
});

describe("failures", () => {
  test.each(Object.entries(httpStatus))("%s is %i", async (code, status) => {
    const { app } = await start();
    const reply = await app.inject({ url: `/v1/fail/${code}`, headers: asAdmin });
    expect(reply.statusCode).toBe(status);
    expect(reply.headers["content-type"]).toBe("application/problem+json");
    expect(reply.headers["retry-after"]).toBe("2");
    expect(reply.json()).toMatchObject({
      type: `urn:agentbox:error:${code}`,
      status,
      code,
      detail: "what happened",
      field: "metadata.x",
      requestId: reply.headers["x-request-id"],
    });
    expect(reply.body).not.toContain("inner text");
  });

  test("that are defects reveal nothing internal, and the log has the cause under the request's id", async () => {
    const { app, lines } = await start();
    const reply = await app.inject({ url: "/v1/defect?secret=1", headers: { ...asAdmin, "x-request-id": "my-id" } });
    expect([reply.statusCode, reply.json<{ code: string; requestId: string }>()]).toMatchObject([
      500,
      { code: "internal", requestId: "my-id" },
    ]);
    expect(reply.body).not.toContain("hunter2");
    expect(lines).toMatchObject([{ level: "error", msg: "request failed", requestId: "my-id", route: "/v1/defect" }]);
  });

  test.for<[string, string, string, number, Record<string, unknown>]>([
    ["broken JSON", "{oops", "application/json", 400, { code: "invalid_request", field: "body" }],
    ["no body", "", "application/json", 400, { code: "invalid_request", field: "body" }],
    [
      "plain text",
      '{"from":"x"}',
      "text/plain",
      415,
      { field: "header.content-type", detail: expect.stringContaining("application/json") },
    ],
    ["another type", "a=b", "application/x-www-form-urlencoded", 415, { code: "invalid_request", field: "header.content-type" }],
    ["too much", JSON.stringify({ from: "x".repeat(1024 * 1024) }), "application/json", 413, { code: "too_large" }],
    ["a missing field", "{}", "application/json", 400, { field: "from", detail: "from: is required" }],
    ["an unknown field", '{"from":"x","form":1}', "application/json", 400, { field: "form", detail: "form: is not known here" }],
    ["a wrong word", '{"from":"x","on":"stop"}', "application/json", 400, { field: "on", detail: "on: must be one of kill, pause" }],
    ["a mistake deep inside", '{"from":"x","list":[{"x":1},{}]}', "application/json", 400, { field: "list[1].x" }],
  ])("of the body are told: %s", async ([, payload, type, status, body]) => {
    const { app } = await start();
    const reply = await app.inject({ method: "POST", url: "/v1/things", headers: { ...asAdmin, "content-type": type }, payload });
    expect([reply.statusCode, reply.json()]).toMatchObject([status, body]);
  });

  test("of the query are told with their place", async () => {
    const { app } = await start();
    const reply = await app.inject({ method: "POST", url: "/v1/things?limit=11", headers: asAdmin, payload: { from: "x" } });
    expect(reply.json()).toMatchObject({ status: 400, field: "query.limit" });
  });

  test("have the shape of the API that they are of", async () => {
    const errors: ApiServerDeps["faces"][number]["errors"] = ({ status, message }) => ({
      contentType: "application/json",
      body: { code: status, message },
    });
    const other = {
      errors,
      routes: (app: FastifyInstance): void => void app.get("/sandboxes", async () => Promise.reject(new Error("x"))),
    };
    const { app } = await start({ faces: [{ errors: problemShape, routes }, other] });
    expect((await app.inject("/sandboxes")).json()).toMatchObject({ code: 401, message: expect.stringContaining("API key") });
    expect((await app.inject("/v1/me")).json()).toMatchObject({ code: "unauthenticated" });
  });
});

describe("unknown paths", () => {
  test("say what there is", async () => {
    const { app } = await start();
    const reply = await app.inject("/v2/sandboxes");
    expect([reply.statusCode, reply.json()]).toMatchObject([404, { code: "not_found" }]);
    expect(reply.json<{ available: string[] }>().available).toEqual(
      "/healthz /livez /metrics /ping /readyz /v1/defect /v1/fail /v1/me /v1/open /v1/things".split(" "),
    );
  });

  test("with another method say which ones there are", async () => {
    const { app } = await start();
    const reply = await app.inject({ method: "PUT", url: "/v1/things/7?x=1" });
    expect([reply.statusCode, reply.headers.allow, reply.json()]).toMatchObject([405, "DELETE", { code: "invalid_request" }]);
    expect((await app.inject({ method: "POST", url: "/healthz" })).headers.allow).toBe("GET, HEAD");
  });

  test("make no new labels of metrics", async () => {
    const { app, registry } = await start();
    for (const path of ["/a", "/b", "/c"]) await app.inject(path);
    expect(await registry.metrics()).toContain('agentbox_http_requests_total{route="none",method="GET",code="404"} 3');
  });
});

describe("the rate limit", () => {
  test("is of each key, and says when to come again", async () => {
    const { app, clock } = await start({ rateLimit: { perSecond: 0.5, burst: 2 } });
    const ask = (key: string) => app.inject({ url: "/v1/me", headers: { "x-api-key": key } });
    const codes = [await ask(tenantKey), await ask(tenantKey), await ask(tenantKey)].map((reply) => reply.statusCode);
    expect(codes).toEqual([200, 200, 429]);
    const refused = await ask(tenantKey);
    expect([refused.headers["retry-after"], refused.json()]).toMatchObject(["2", { code: "rate_limited", retryAfterSeconds: 2 }]);
    expect((await ask(adminKey)).statusCode).toBe(200);
    await clock.step(2000);
    expect([(await ask(tenantKey)).statusCode, (await ask(tenantKey)).statusCode]).toEqual([200, 429]);
  });

  test("is shared by the processes that serve a key, also while one comes or goes", async () => {
    let processes = 4;
    const { app, clock } = await start({ rateLimit: { perSecond: 8, burst: 16, processes: () => processes } });
    const answered = async (): Promise<number> => {
      for (let count = 0; ; count++) {
        if ((await app.inject({ url: "/v1/me", headers: { "x-api-key": tenantKey } })).statusCode === 429) return count;
      }
    };
    expect(await answered()).toBe(4);
    await clock.step(1000);
    expect(await answered()).toBe(2);
    processes = 1;
    await clock.step(1000);
    expect(await answered()).toBe(8);
    processes = 2.5;
    await clock.step(60_000);
    expect(await answered()).toBe(6);
  });

  test("is not spent by health checks", async () => {
    const { app } = await start({ rateLimit: { perSecond: 1, burst: 1 } });
    for (let turn = 0; turn < 5; turn++) expect((await app.inject("/healthz")).statusCode).toBe(200);
  });
});

describe("the audit log", () => {
  test("has one line for each change, with caller, action and outcome, and never a body or a key", async () => {
    const { app, lines } = await start();
    const headers = { "x-api-key": tenantKey, "x-request-id": "r1" };
    await app.inject({ method: "POST", url: "/v1/things?token=query-secret", headers, payload: { from: "body-secret" } });
    await app.inject({ method: "DELETE", url: "/v1/things/7", headers });
    await app.inject({ method: "POST", url: "/v1/things", headers, payload: { wrong: "body-secret" } });
    await app.inject({ url: "/v1/me", headers });
    const who = { keyId: "tenant-key", role: "tenant", team: "red", user: "ann", requestId: "r1" };
    expect(lines).toMatchObject([
      { msg: "change", ...who, method: "POST", route: "/v1/things", sandboxId: "i1", status: 201 },
      { msg: "change", ...who, method: "DELETE", route: "/v1/things/:id", id: "7", status: 204 },
      { msg: "change", ...who, method: "POST", status: 400, code: "invalid_request" },
    ]);
    expect(lines).toHaveLength(3);
    const text = JSON.stringify(lines);
    for (const secret of [tenantKey, "body-secret", "query-secret"]) expect(text).not.toContain(secret);
  });
});

describe("health and metrics", () => {
  test("need no key", async () => {
    const { app } = await start();
    expect((await app.inject("/healthz")).body).toBe("ok");
    expect((await app.inject("/readyz?verbose")).body).toBe("ok");
    expect((await app.inject("/ping")).body).toBe("pong");
    const metrics = await app.inject({ url: "/metrics", headers: { host: "localhost:80" } });
    expect(metrics.headers["content-type"]).toContain("version=0.0.4");
    expect(metrics.body).toContain('agentbox_http_requests_total{route="/healthz",method="GET",code="200"} 1');
    expect(metrics.body).toContain('agentbox_http_request_duration_seconds_count{route="/ping",method="GET",code="200"} 1');
  });

  test("a server that starts or ends is alive but not ready, and says why", async () => {
    const { app } = await start({ ready: () => "pods: not synced yet" });
    expect((await app.inject("/livez")).statusCode).toBe(200);
    const reply = await app.inject("/readyz");
    expect([reply.statusCode, reply.body]).toEqual([503, "not ready: pods: not synced yet"]);
  });

  test("answer HEAD as GET, without a body", async () => {
    const reply = await (await start()).app.inject({ method: "HEAD", url: "/healthz" });
    expect([reply.statusCode, reply.body]).toEqual([200, ""]);
  });

  test("metrics are refused to a browser that comes by another host name", async () => {
    const { app } = await start();
    expect((await app.inject({ url: "/metrics", headers: { host: "evil.example.test" } })).statusCode).toBe(403);
    expect((await app.inject({ url: "/metrics", headers: { host: "127.0.0.1:8099" } })).statusCode).toBe(200);
  });
});

describe("headers", () => {
  test("reveal nothing about our software, and forbid type sniffing", async () => {
    const { headers } = await (await start()).app.inject("/v1/open");
    expect(headers).toMatchObject({ "x-content-type-options": "nosniff", "cache-control": "no-store" });
    expect(Object.keys(headers).filter((name) => /powered|server|access-control/.test(name))).toEqual([]);
  });

  test("carry the caller's request id only when it is harmless", async () => {
    const { app } = await start();
    const idFor = async (given: string): Promise<unknown> =>
      (await app.inject({ url: "/ping", headers: { "x-request-id": given } })).headers["x-request-id"];
    expect(await idFor("abc-1.2")).toBe("abc-1.2");
    expect(await idFor('a"b c')).toMatch(/^[0-9a-f-]{36}$/);
    expect(await idFor("x".repeat(101))).toMatch(/^[0-9a-f-]{36}$/);
  });
});

test("a name of any length reaches its route, and an invalid path is refused with its place", async () => {
  const { app } = await start();
  const headers = { "x-api-key": adminKey };
  const long = await app.inject({ method: "DELETE", url: `/v1/things/${"x".repeat(2000)}`, headers });
  expect(long.statusCode).toBe(204);
  const broken = await app.inject({ method: "DELETE", url: "/v1/things/%zz", headers });
  expect([broken.statusCode, broken.headers["content-type"]]).toEqual([400, "application/problem+json"]);
  expect(broken.json()).toMatchObject({ code: "invalid_request", field: "path" });
});
