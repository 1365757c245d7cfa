import { describe, expect, test } from "vitest";
import type { CreateOptions, CreateSandbox, SandboxService, SandboxView } from "#services/sandbox-service.ts";
import { ServiceError } from "#services/service-error.ts";
import { eventually } from "../../../../test/world/eventually.ts";
import { type CallerName, NativeApi, only } from "../../../../test/world/native-api.ts";
import { createRoutes } from "./create-routes.ts";

const made: SandboxView = {
  sandboxId: "i1",
  namespace: "ns",
  poolName: "py",
  podName: "py-1",
  team: "red",
  user: "ann",
  status: "Running",
  claimedAt: "2026-01-01T00:00:00.000Z",
  containerImages: { main: "app:1" },
  metadata: {},
  startupTimeoutMs: 90_000,
  idleTimeoutMs: 5_400_000,
};

interface Bench {
  readonly api: NativeApi;
  readonly asked: { caller: string; command: CreateSandbox; options: CreateOptions }[];
}

async function bench(more: Partial<SandboxService> = {}): Promise<Bench> {
  const asked: Bench["asked"] = [];
  const sandboxes = only({
    create: async ({ keyId }, command, options) => {
      asked.push({ caller: keyId, command, options });
      return { sandbox: { ...made, status: options.wait ? "Running" : "Starting" }, accessToken: "secret", trafficToken: "traffic" };
    },
    createMany: async ({ keyId }, command, options) => {
      asked.push({ caller: keyId, command, options });
      return { sandboxes: [{ sandbox: made }], failures: [{ code: "no_capacity", message: "none" }] };
    },
    ...more,
  });
  return { api: await NativeApi.over(() => createRoutes({ sandboxes })), asked };
}

function failing(reason: ServiceError): Promise<Bench> {
  const create = (): Promise<never> => Promise.reject(reason);
  return bench({ create, createMany: create });
}

test("a request may choose among the pools of an Env", async () => {
  const { api, asked } = await bench();
  await using _ = api;
  const wishes = { instanceType: "cpu", multiplier: 2, scalingGroup: "large" };
  expect((await api.ask("POST /v1/sandboxes", { body: { poolName: "base", ...wishes } })).status).toBe(201);
  expect(asked[0]?.command).toEqual({ from: "base", ...wishes });
  const wrong = await api.ask("POST /v1/sandboxes", { body: { poolName: "base", multiplier: 0 } });
  expect(wrong).toMatchObject({ status: 400, json: { field: "multiplier" } });
});

test("a request is answered with the sandbox, its place and its token", async () => {
  const { api, asked } = await bench();
  await using _ = api;
  const body = { poolName: "py", idleTimeout: "0", startupTimeout: "1m30s", lifetime: "1h", metadata: { task: "7" }, secure: true };
  const answer = await api.ask("POST /v1/sandboxes", { body, headers: { "idempotency-key": "k1" } });
  expect([answer.status, answer.headers["location"]]).toEqual([201, "/v1/sandboxes/i1"]);
  const { startupTimeoutMs: _startup, idleTimeoutMs: _idle, ...shown } = made;
  expect(answer.json).toEqual({
    sandbox: { ...shown, startupTimeout: "1m30s", idleTimeout: "1h30m" },
    accessToken: "secret",
    trafficToken: "traffic",
  });
  expect(asked).toMatchObject([{ caller: "k-ann", options: { wait: true } }]);
  expect(asked[0]?.command).toEqual({
    from: "py",
    idleTimeoutMs: 0,
    startupTimeoutMs: 90_000,
    lifetimeMs: 3_600_000,
    metadata: { task: "7" },
    secure: true,
    idempotencyKey: "k1",
  });
});

test("hooks are passed on with their times", async () => {
  const { api, asked } = await bench();
  await using _ = api;
  const postStartHooks = [
    { exec: { command: ["make"], timeout: "2s" } },
    { http: { port: 80, path: "/x" } },
    { http: { port: 81, timeout: "1m" } },
  ];
  expect((await api.ask("POST /v1/sandboxes", { body: { poolName: "py", postStartHooks } })).status).toBe(201);
  expect(asked[0]?.command.postStartHooks).toEqual([
    { exec: { command: ["make"], timeoutMs: 2000 } },
    { http: { port: 80, path: "/x" } },
    { http: { port: 81, timeoutMs: 60_000 } },
  ]);
});

test("a request that does not wait is answered at once", async () => {
  const { api, asked } = await bench();
  await using _ = api;
  const answer = await api.ask("POST /v1/sandboxes?wait=false", { body: { poolName: "py" } });
  expect([answer.status, answer.json]).toMatchObject([202, { sandbox: { status: "Starting" } }]);
  expect(asked[0]?.options.wait).toBe(false);
});

test("a batch is answered with the result of each sandbox", async () => {
  const { api, asked } = await bench();
  await using _ = api;
  const answer = await api.ask("POST /v1/sandboxes/batch", { body: { count: 3, atLeast: 1, sandbox: { poolName: "py" } } });
  expect([answer.status, answer.json]).toMatchObject([
    201,
    { sandboxes: [{ sandbox: { sandboxId: "i1" } }], failures: [{ code: "no_capacity" }] },
  ]);
  expect(asked).toMatchObject([{ command: { from: "py" }, options: { count: 3, atLeast: 1, wait: true } }]);
  expect(api.logged.lines).toMatchObject([{ msg: "change", route: "/v1/sandboxes/batch", made: "1" }]);
  expect((await api.ask("POST /v1/sandboxes/batch?wait=false", { body: { count: 1, sandbox: { poolName: "py" } } })).status).toBe(202);
});

describe("an invalid request is refused with the place of the error, and nothing is created", () => {
  const good = { poolName: "py" };
  test.for<[string, string, unknown, string]>([
    ["no pool", "", {}, "poolName"],
    ["no object", "", [], "body"],
    ["a field that there is not", "", { ...good, idleTimout: "5m" }, "idleTimout"],
    ["a number without a unit", "", { ...good, idleTimeout: "5" }, "idleTimeout"],
    ["a negative time", "", { ...good, lifetime: "-5m" }, "lifetime"],
    ["metadata that is no text", "", { ...good, metadata: { a: 1 } }, "metadata.a"],
    ["a hook that is two", "", { ...good, postStartHooks: [{ exec: { command: ["a"] }, http: { port: 1 } }] }, "postStartHooks[0]"],
    ["a query that there is not", "?async=true", good, "query.async"],
    ["a word for a yes or no", "?wait=maybe", good, "query.wait"],
    ["a batch of none", "/batch", { count: 0, sandbox: good }, "count"],
    ["a batch of too many", "/batch", { count: 1001, sandbox: good }, "count"],
    ["a batch of what is wrong", "/batch", { count: 1, sandbox: { poolName: 1 } }, "sandbox.poolName"],
    ["a batch of nothing", "/batch", { count: 1 }, "sandbox"],
  ])("%s", async ([, path, body, field]) => {
    const { api, asked } = await bench();
    await using _ = api;
    const answer = await api.ask(`POST /v1/sandboxes${path}`, { body });
    expect([answer.status, answer.json]).toMatchObject([400, { code: "invalid_request", field }]);
    expect(asked).toEqual([]);
  });

  test("an idempotency key that is none", async () => {
    const { api } = await bench();
    await using _ = api;
    const answer = await api.ask("POST /v1/sandboxes", { body: good, headers: { "idempotency-key": "k".repeat(257) } });
    expect(answer.json).toMatchObject({ status: 400, field: "header.idempotency-key" });
  });

  test("also what only the use case knows, by the names that requests have", async () => {
    const cases: readonly [string, string, string][] = [
      ["from", "poolName", "sandbox.poolName"],
      ["startupTimeoutMs", "startupTimeout", "sandbox.startupTimeout"],
      ["lifetimeMs", "lifetime", "sandbox.lifetime"],
      ["postStartHooks[1].exec.timeoutMs", "postStartHooks[1].exec.timeout", "sandbox.postStartHooks[1].exec.timeout"],
      ["metadata.agentbox.dev/x", "metadata.agentbox.dev/x", "sandbox.metadata.agentbox.dev/x"],
      ["idempotencyKey", "header.idempotency-key", "header.idempotency-key"],
    ];
    for (const [known, field, inBatch] of cases) {
      const { api } = await failing(new ServiceError("invalid_request", `${known} is wrong`, { field: known }));
      await using _ = api;
      const one = await api.ask("POST /v1/sandboxes", { body: good });
      expect(one.json).toMatchObject({ status: 400, field, detail: `${field} is wrong` });
      const batch = await api.ask("POST /v1/sandboxes/batch", { body: { count: 1, sandbox: good } });
      expect(batch.json).toMatchObject({ status: 400, field: inBatch, detail: `${inBatch} is wrong` });
    }
  });

  test("how many must be had", async () => {
    const { api } = await failing(new ServiceError("invalid_request", "atLeast must be …", { field: "atLeast" }));
    await using _ = api;
    const answer = await api.ask("POST /v1/sandboxes/batch", { body: { count: 1, atLeast: 2, sandbox: good } });
    expect(answer.json).toMatchObject({ status: 400, field: "atLeast" });
  });
});

test("a pool that is not there is a 404 that says which there are", async () => {
  const { api } = await failing(new ServiceError("not_found", 'there is no pool "py"', { field: "from", available: ["js"] }));
  await using _ = api;
  expect((await api.ask("POST /v1/sandboxes", { body: { poolName: "py" } })).json).toMatchObject({
    status: 404,
    code: "not_found",
    field: "poolName",
    available: ["js"],
  });
});

test("a full pool is a 429 that says when to come again", async () => {
  const pool = { idle: 0, starting: 1, running: 5, stopping: 0, waiting: 3 };
  const { api } = await failing(new ServiceError("no_capacity", "none", { retryAfterSeconds: 2, pool }));
  await using _ = api;
  const answer = await api.ask("POST /v1/sandboxes", { body: { poolName: "py" } });
  expect([answer.status, answer.headers["retry-after"], answer.json]).toMatchObject([429, "2", { code: "no_capacity", pool }]);
});

test.for<[string, CallerName]>([
  ["ann", "ann"],
  ["an admin", "admin"],
])("the change is in the audit log with the sandbox's id: %s", async ([, by]) => {
  const { api } = await bench();
  await using _ = api;
  await api.ask("POST /v1/sandboxes", { by, body: { poolName: "py", envVars: { PASSWORD: "hunter2" } } });
  const line = api.logged.lines.find(({ msg }) => msg === "change");
  expect(line).toMatchObject({ keyId: `k-${by}`, route: "/v1/sandboxes", sandboxId: "i1", status: 201 });
  expect(JSON.stringify(api.logged.lines)).not.toMatch(/hunter2|secret/);
});

test("a client that disconnects before its answer releases its place in the queue", async () => {
  const signals: AbortSignal[] = [];
  const { api } = await bench({
    create: (_caller, _command, { signal }) => {
      signals.push(signal);
      return new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
    },
  });
  await using _ = api;
  const address = await api.listen();
  const gone = new AbortController();
  const headers = { "x-api-key": "ann", "content-type": "application/json" };
  const waiting = fetch(`${address}/v1/sandboxes`, { method: "POST", headers, body: '{"poolName":"py"}', signal: gone.signal });
  waiting.catch(() => {});
  await eventually(() => expect(signals).toHaveLength(1));
  gone.abort();
  await eventually(() => expect(signals[0]?.aborted).toBe(true));
  // It is in the audit log, but does not count as a server error.
  await eventually(() => expect(api.logged.lines).toMatchObject([{ msg: "change", status: 499, code: "canceled" }]));
});
