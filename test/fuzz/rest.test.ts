import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { wholeApi } from "#api/native/fleet-routes.ts";
import { attack, type Target } from "./fuzz.ts";
import { canary, type FuzzedApis, fuzzedApis } from "./fuzzed-apis.ts";
import { oddConnection } from "./odd-heads.ts";
import { brokenJson, escaped, oddJson, oddText, spoiled } from "./odd-values.ts";
import { exchange, headerText, request } from "./raw-exchange.ts";

let apis: FuzzedApis;
beforeAll(async () => {
  apis = await fuzzedApis();
});
afterAll(async () => {
  await apis[Symbol.asyncDispose]();
});

/** Those that answer and are done: the others wait for what never happens here, or go on. */
const waits = /\/(?:watch|stream|terminal|pause|resume)$/;
const native = Object.entries(wholeApi().paths).flatMap(([path, methods]) =>
  Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
);
const e2b = [
  "GET /sandboxes",
  "POST /sandboxes",
  "GET /v2/sandboxes",
  "POST /v2/sandboxes",
  "GET /sandboxes/{id}",
  "DELETE /sandboxes/{id}",
  "POST /sandboxes/{id}/connect",
  "POST /v2/sandboxes/{id}/connect",
  "POST /sandboxes/{id}/timeout",
  "POST /sandboxes/{id}/refreshes",
  "GET /sandboxes/{id}/logs",
  "GET /v2/sandboxes/{id}/logs",
  "POST /sandboxes/{id}/fork",
  "POST /sandboxes/{id}/snapshots",
  "GET /sandboxes/{id}/metrics",
  "GET /sandboxes/metrics",
  "GET /templates",
  "GET /v2/templates",
  "GET /templates/{id}",
  "GET /templates/aliases/{id}",
  "POST /v3/templates",
  "GET /teams",
  "GET /volumes",
  "GET /secrets",
  "GET /snapshots",
  "GET /health",
];

const texts = fc.oneof(fc.dictionary(oddText, oddText, { maxKeys: 3 }), oddJson);
const networks = fc.oneof(fc.constantFrom(["10.0.0.0/8"], ["0.0.0.0/0"], ["::/0"], ["1.2.3.4/99"], ["evil.test"], [""], null), oddJson);
const network = fc.oneof(
  fc.record(
    { allowOut: networks, denyOut: networks, allowPublicTraffic: oddJson, maskRequestHost: oddJson, rules: oddJson, egressProxy: oddJson },
    { requiredKeys: [] },
  ),
  oddJson,
);
const good = {
  templateID: "py",
  timeout: 60,
  poolName: "py",
  count: 2,
  command: ["true"],
  lifetime: "1h",
  idleTimeout: "5m",
  duration: 5,
  metadata: {},
  sandbox: { poolName: "py" },
  envVars: { A: "b" },
};
const body = fc.oneof(
  { weight: 3, arbitrary: spoiled(good).map((value) => Buffer.from(JSON.stringify(value))) },
  {
    weight: 2,
    arbitrary: fc
      .record(
        {
          templateID: fc.constantFrom<unknown>("py", "base", "a/b:c", ""),
          metadata: texts,
          envVars: texts,
          network,
          autoPause: oddJson,
          secure: oddJson,
          autoResume: oddJson,
          mcp: oddJson,
          volumeMounts: oddJson,
        },
        { requiredKeys: ["templateID"] },
      )
      .map((value) => Buffer.from(JSON.stringify(value))),
  },
  { weight: 1, arbitrary: oddJson.map((value) => Buffer.from(JSON.stringify(value) ?? "")) },
  { weight: 1, arbitrary: brokenJson },
  { weight: 1, arbitrary: fc.constant(Buffer.alloc(2 * 1024 * 1024, "[")) },
);
const id = fc.oneof(
  fc.constantFrom("i1", "i2", "i3", "i4", "i3-x", "py", "none", "constructor", "%2e%2e", "..%2f..", "%00", "%zz", "x".repeat(300)),
  escaped(oddText),
);
const query = fc.oneof(
  fc.constantFrom(
    "",
    "",
    "limit=1",
    "limit=9999",
    "limit=-1",
    "cursor=%00",
    "nextToken=x",
    "metadata=%25zz%3D1",
    "metadata=a%3Db%26__proto__%3Dc",
    "state=running&state=paused",
    "start=x&limit=1e9",
    "namespace=default",
    "tail=99999999999",
  ),
  fc
    .tuple(fc.constantFrom("limit", "cursor", "metadata", "state", "since", "namespace", "pool", "team", "user", "label"), escaped(oddText))
    .map(([name, value]) => `${name}=${value}`),
);
const headers = fc.array(
  fc.oneof(
    fc.tuple(
      fc.constantFrom(
        "Idempotency-Key",
        "X-Request-Id",
        "Agentbox-Impersonate-Team",
        "Agentbox-Impersonate-User",
        "Accept",
        "X-Api-Key",
        "If-Match",
        "Traceparent",
        "Authorization",
      ),
      oddText.map((text) => headerText(text).slice(0, 300)),
    ),
    fc.constantFrom(
      ["Content-Type", "text/plain"] as const,
      ["Content-Type", "application/json; charset=x"] as const,
      ["Content-Encoding", "gzip"] as const,
    ),
  ),
  { maxLength: 1 },
);

/** Of the 5xx: what is not there yet (501), and what is not available (503). */
function expectNoFailure(text: string, statuses: readonly number[], what: string): void {
  const isFailed = statuses.some((status) => status >= 500 && status !== 501 && status !== 503);
  expect([what, isFailed ? text : "", text.includes(canary)]).toEqual([what, "", false]);
  expect(apis.errors()).toEqual([]);
}

async function expectTold(operations: readonly string[], target: Target): Promise<void> {
  const input = fc.record({
    operation: fc.constantFrom(...operations.filter((one) => !waits.test(one))),
    id,
    query,
    body,
    headers,
    hasType: fc.constantFrom(true, true, true, false),
  });
  await attack(target, input, async (given) => {
    const path = given.operation.replaceAll(/\{\w+\}/g, () => given.id).replaceAll(/\s(?=.*\s)/g, " ");
    const line = `${path}${given.query === "" ? "" : `?${given.query}`}`;
    const mayHaveBody = !/^(?:GET|HEAD|DELETE) /.test(line);
    const key = given.headers.some(([name]) => name === "X-Api-Key") ? [] : [["X-Api-Key", "ann"] as const];
    const type = given.hasType ? [["Content-Type", "application/json"] as const] : [];
    const bytes = request(line, [...key, ...type, ...given.headers], mayHaveBody ? given.body : undefined);
    const { text, statuses } = await exchange({ port: apis.port, bytes: [bytes], cut: false });
    expect([line, statuses.length]).toEqual([line, 1]);
    expectNoFailure(text, statuses, line);
    return statuses;
  });
  const after = await exchange({ port: apis.port, bytes: [request("GET /sandboxes/i1", [["X-Api-Key", "ann"]])], cut: false });
  expect(after.statuses).toEqual([200]);
}

test("no request to the native API, however wrong, is answered with a failure of ours or with what is another's", () =>
  expectTold(native, "the native API"));

test("no request to the API of E2B, however wrong, is answered with a failure of ours or with what is another's", () =>
  expectTold(e2b, "the API of E2B"));

test("no head, however it is written, ends the APIs or hangs in them", async () => {
  const parts = {
    hosts: ["127.0.0.1", "api.box.test"],
    routes: ["X-API-KEY: ann", "Authorization: Bearer ann", "X-API-KEY: nobody", ""],
    paths: ["/sandboxes", "/v1/sandboxes/i1", "/v1/sandboxes/i3", "/health", "/metrics", "/openapi.json", "/v1/sandboxes/i1/terminal"],
  };
  await attack("heads to the APIs", oddConnection(parts), async (bytes) => {
    const { text, statuses } = await exchange({ port: apis.port, bytes, cut: true });
    // A version of HTTP that there is not (505) is told by Node itself.
    expectNoFailure(
      text,
      statuses.filter((status) => status !== 505),
      bytes.map(String).join(""),
    );
    return statuses;
  });
});
