import { readFileSync } from "node:fs";
import { Registry } from "prom-client";
import { Type } from "typebox";
import { expect, test } from "vitest";
import { recordedLog } from "../../../test/world/recorded-log.ts";
import { SteppedClock } from "../../../test/world/stepped-clock.ts";
import { prometheusMetrics } from "#lib/metrics.ts";
import { errorCodes } from "#model/error-codes.ts";
import { apiServer } from "../http/api-server.ts";
import { fleetFace, type FleetServices, wholeApi } from "./fleet-routes.ts";
import { openApiDocument } from "./openapi.ts";
import { openApiSchemas } from "./openapi-schemas.ts";
import { route } from "./route.ts";
import { closed, named, texts } from "./schemas/builders.ts";

const document = wholeApi();
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ what: `${method} ${path}`, path, operation })),
);

/** Every $ref in it. */
function refsIn(value: unknown): readonly string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]: [string, unknown]) => (key === "$ref" ? [String(inner)] : refsIn(inner)));
}

function at(ref: string): unknown {
  return ref
    .replace("#/", "")
    .split("/")
    .reduce<unknown>((value, key) => (value as Record<string, unknown> | undefined)?.[key], document);
}

test("docs/openapi.json is current (node tools/generate-openapi.ts)", () => {
  const checkedIn: unknown = JSON.parse(readFileSync(new URL("../../../docs/openapi.json", import.meta.url), "utf8"));
  expect(checkedIn).toEqual(JSON.parse(JSON.stringify(document)));
});

test("the whole API is in it", () => {
  expect(operations.map(({ what }) => what).sort()).toMatchInlineSnapshot(`
    [
      "delete /v1/builds/{buildId}",
      "delete /v1/built-templates/{name}",
      "delete /v1/checkpoints/{checkpointId}",
      "delete /v1/envs/{envName}",
      "delete /v1/envs/{envName}/groups/{groupName}",
      "delete /v1/envs/{envName}/members/{memberName}",
      "delete /v1/keys/{id}",
      "delete /v1/pools/{poolName}",
      "delete /v1/sandboxes/{sandboxId}",
      "delete /v1/sandboxes/{sandboxId}/files",
      "delete /v1/sandboxes/{sandboxId}/terminals/{pid}",
      "delete /v1/templates/{templateName}",
      "delete /v1/volumes/{volume}",
      "delete /v1/webhooks/{webhookId}",
      "get /v1/audit",
      "get /v1/audit/csv",
      "get /v1/auth/whoami",
      "get /v1/builds",
      "get /v1/builds/{buildId}",
      "get /v1/builds/{buildId}/files/{hash}",
      "get /v1/builds/{buildId}/logs",
      "get /v1/built-templates",
      "get /v1/built-templates/{name}",
      "get /v1/checkpoints",
      "get /v1/checkpoints/{checkpointId}",
      "get /v1/clusters",
      "get /v1/envs",
      "get /v1/envs/{envName}",
      "get /v1/envs/{envName}/autoscaling",
      "get /v1/envs/{envName}/events",
      "get /v1/envs/{envName}/groups",
      "get /v1/envs/{envName}/groups/{groupName}",
      "get /v1/envs/{envName}/members",
      "get /v1/envs/{envName}/members/{memberName}",
      "get /v1/events",
      "get /v1/instance-types",
      "get /v1/keys",
      "get /v1/limits",
      "get /v1/pools",
      "get /v1/pools/{poolName}",
      "get /v1/pools/{poolName}/events",
      "get /v1/pools/{poolName}/sizes",
      "get /v1/quotas",
      "get /v1/sandboxes",
      "get /v1/sandboxes/{sandboxId}",
      "get /v1/sandboxes/{sandboxId}/exec/stream",
      "get /v1/sandboxes/{sandboxId}/files",
      "get /v1/sandboxes/{sandboxId}/files/content",
      "get /v1/sandboxes/{sandboxId}/logs",
      "get /v1/sandboxes/{sandboxId}/logs/stream",
      "get /v1/sandboxes/{sandboxId}/terminal",
      "get /v1/sandboxes/{sandboxId}/terminals",
      "get /v1/sandboxes/{sandboxId}/terminals/{pid}/join",
      "get /v1/sandboxes/{sandboxId}/usage",
      "get /v1/sandboxes/{sandboxId}/watch",
      "get /v1/statistics/creates",
      "get /v1/statistics/sandboxes",
      "get /v1/templates",
      "get /v1/templates/{templateName}",
      "get /v1/templates/{templateName}/docs",
      "get /v1/usage",
      "get /v1/usage/csv",
      "get /v1/volumes",
      "get /v1/volumes/{volume}",
      "get /v1/webhooks",
      "get /v1/webhooks/{webhookId}",
      "get /v1/webhooks/{webhookId}/deliveries",
      "patch /v1/limits/server",
      "patch /v1/limits/teams",
      "patch /v1/limits/teams/{team}",
      "patch /v1/limits/teams/{team}/users/{user}",
      "patch /v1/webhooks/{webhookId}",
      "post /v1/builds",
      "post /v1/builds/{buildId}/start",
      "post /v1/envs",
      "post /v1/envs/{envName}/members",
      "post /v1/envs/{envName}/refresh",
      "post /v1/keys",
      "post /v1/pools",
      "post /v1/sandboxes",
      "post /v1/sandboxes/batch",
      "post /v1/sandboxes/{sandboxId}/checkpoints",
      "post /v1/sandboxes/{sandboxId}/exec",
      "post /v1/sandboxes/{sandboxId}/exec-token",
      "post /v1/sandboxes/{sandboxId}/files/folder",
      "post /v1/sandboxes/{sandboxId}/files/move",
      "post /v1/sandboxes/{sandboxId}/fork",
      "post /v1/sandboxes/{sandboxId}/pause",
      "post /v1/sandboxes/{sandboxId}/resume",
      "post /v1/sandboxes/{sandboxId}/terminals",
      "post /v1/sandboxes/{sandboxId}/terminals/{pid}/token",
      "post /v1/templates",
      "post /v1/volumes",
      "post /v1/webhooks",
      "put /v1/envs/{envName}",
      "put /v1/envs/{envName}/groups/{groupName}",
      "put /v1/envs/{envName}/members/{memberName}",
      "put /v1/envs/{envName}/members/{memberName}/scale",
      "put /v1/pools/{poolName}",
      "put /v1/pools/{poolName}/scale",
      "put /v1/sandboxes/{sandboxId}/files/content",
      "put /v1/sandboxes/{sandboxId}/timeout",
      "put /v1/templates/{templateName}",
    ]
  `);
});

test("every reference leads somewhere, and every named part is referred to", () => {
  const refs = new Set(refsIn(document));
  expect([...refs].filter((ref) => at(ref) === undefined)).toEqual([]);
  const { schemas, responses } = document.components as Readonly<Record<string, object>>;
  const parts = [
    ...Object.keys(schemas ?? {}).map((name) => `#/components/schemas/${name}`),
    ...Object.keys(responses ?? {}).map((name) => `#/components/responses/${name}`),
  ];
  expect(parts.filter((part) => !refs.has(part))).toEqual([]);
});

test.each(operations)("$what documents its purpose, answers, errors and authentication", ({ operation }) => {
  const { operationId, summary, tags, responses, security } = operation;
  expect(operationId).toMatch(/^[a-z][A-Za-z]+$/);
  expect(summary).not.toBe("");
  expect(tags).toHaveLength(1);
  const statuses = Object.keys(responses);
  expect(statuses.filter((status) => status < "300")).not.toEqual([]);
  for (const status of ["400", "401", "403", "500", "503"]) expect(statuses).toContain(status);
  for (const status of statuses.filter((one) => one >= "400")) {
    const [ref = ""] = refsIn(responses[status]);
    expect(at(ref)).toHaveProperty(["content", "application/problem+json"]);
    expect(at(ref)).toHaveProperty("description", expect.stringMatching(/^[a-z_]+: /));
  }
  expect(security.every((one) => Object.keys(one).every((name) => at(`#/components/securitySchemes/${name}`) !== undefined))).toBe(true);
});

test.each(operations)("$what declares exactly the parameters of its path, and describes all that it takes", ({ path, operation }) => {
  const parameters = (operation.parameters ?? []) as readonly { name: string; in: string; required: boolean; description?: string }[];
  const ofPath = parameters.filter((parameter) => parameter.in === "path");
  expect(ofPath.map(({ name }) => name)).toEqual([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name));
  expect(ofPath.every(({ required }) => required)).toBe(true);
  expect(parameters.filter(({ description = "" }) => description === "")).toEqual([]);
});

test("operations have names of their own", () => {
  const names = operations.map(({ operation }) => operation.operationId);
  expect(new Set(names).size).toBe(names.length);
});

test("only routes without a key requirement are public", () => {
  const open = operations.filter(({ operation }) => operation.security.length === 0).map(({ what }) => what);
  expect(open.sort()).toEqual(["get /v1/sandboxes/{sandboxId}/terminal", "get /v1/sandboxes/{sandboxId}/terminals/{pid}/join"]);
});

test("every error code is documented, except the one that no client reads", () => {
  const told = JSON.stringify(document.components["responses"]);
  expect(errorCodes.filter((code) => !told.includes(`${code}: `))).toEqual(["canceled"]);
});

test("what Kubernetes alone reads is left out, and maps are maps", () => {
  expect(JSON.stringify(document)).not.toMatch(/x-kubernetes-|x-schema-name|"~/);
  expect(openApiSchemas().print(texts("Labels."))).toEqual({
    type: "object",
    description: "Labels.",
    additionalProperties: { type: "string" },
  });
});

test("a field that is called like a keyword is a field", () => {
  const schema = closed({ items: Type.String(), properties: Type.Integer() }, "Odd.");
  expect(openApiSchemas().print(schema)["properties"]).toEqual({ items: { type: "string" }, properties: { type: "integer" } });
});

test("two schemas cannot have one name", () => {
  const answer = (schema: Parameters<typeof named>[1]) => ({ status: 200, description: "x", schema: named("Same", schema) });
  const one = route({
    method: "GET",
    path: "/x",
    name: "x",
    summary: "x",
    answers: [answer(Type.String()), answer(Type.Integer())],
    errors: [],
    handle: async () => {},
  });
  expect(() => openApiDocument([one])).toThrow("two schemas are called Same");
});

test("the document needs no key, and everything else does", async () => {
  const registry = new Registry();
  const app = await apiServer({
    keys: { authenticate: () => undefined, whenEnded: () => () => {} },
    clock: new SteppedClock(),
    log: recordedLog().log,
    metrics: prometheusMetrics(registry),
    rateLimit: { perSecond: 0, burst: 0 },
    faces: [fleetFace({} as FleetServices)],
    ready: () => true,
    metricsText: async () => ({ contentType: "text/plain", text: "" }),
  });
  const served = await app.inject({ method: "GET", url: "/openapi.json" });
  expect([served.statusCode, served.json()]).toEqual([200, JSON.parse(JSON.stringify(document))]);
  expect((await app.inject({ method: "GET", url: "/v1/pools" })).statusCode).toBe(401);
  await app.close();
});
