import fc from "fast-check";
import { Type } from "typebox";
import { describe, expect, test } from "vitest";
import { isServiceError } from "#services/service-error.ts";
import { createEnvSchema } from "./schemas/envs.ts";
import { execSchema, execTokenSchema } from "./schemas/execution.ts";
import { poolSchema, templateSchema } from "./schemas/objects.ts";
import { batchSchema, createSchema, listQuery, timeoutSchema } from "./schemas/sandbox.ts";
import { requestValidator } from "./validate-request.ts";

function complaintAbout(schema: Parameters<typeof requestValidator>[0], part: string, data: unknown): unknown {
  const checked = requestValidator(schema, part)(data);
  if (!("error" in checked)) return checked.value;
  return isServiceError(checked.error, "invalid_request") ? [checked.error.details.field, checked.error.message] : checked.error;
}

describe("a body that is not as its schema says is refused with the place and what would be right", () => {
  test.for<[string, unknown, string, string]>([
    ["a missing field", {}, "poolName", "poolName: is required"],
    ["a wrong type", { poolName: 1 }, "poolName", "poolName: must be string"],
    ["an unknown field", { poolName: "x", poolname: "y" }, "poolname", "poolname: is not known here"],
    ["a wrong word", { poolName: "x", onTimeout: "stop" }, "onTimeout", "onTimeout: must be one of kill, pause, deep-pause"],
    ["a label that is a number", { poolName: "x", labels: { "a/b": 1 } }, "labels.a/b", "labels.a/b: must be string"],
    ["a variable whose name is none", { poolName: "x", envVars: { "1A": "x" } }, "envVars.1A", "envVars.1A: is not known here"],
    ["no object", [], "body", "body: must be object"],
    ["nothing", null, "body", "body: is required, in JSON"],
    [
      "a mistake inside of one of two forms",
      { poolName: "x", postStartHooks: [{ exec: { command: ["true"] } }, { http: { port: 1, wait: 1 } }] },
      "postStartHooks[1].http.wait",
      "postStartHooks[1].http.wait: is not known here",
    ],
    [
      "neither of two forms",
      { poolName: "x", postStartHooks: [{}] },
      "postStartHooks[0]",
      "postStartHooks[0]: exec is required, or http is required",
    ],
  ])("%s", ([, body, field, message]) => {
    expect(complaintAbout(createSchema, "body", body)).toEqual([field, message]);
  });

  test("a type that may be two things", () => {
    expect(complaintAbout(timeoutSchema, "body", { lifetime: 5 })).toEqual(["lifetime", "lifetime: must be string, or must be null"]);
  });

  test("a mistake deep inside of an object of Kubernetes", () => {
    expect(complaintAbout(poolSchema, "body", { metadata: {}, spec: { replicas: "3" } })).toEqual([
      "spec.replicas",
      "spec.replicas: must be integer",
    ]);
  });
});

test("a wrong format is described in words, not as a regular expression", () => {
  const said = [
    complaintAbout(execSchema, "body", { command: ["ls"], workingDir: "here" }),
    complaintAbout(execSchema, "body", { command: ["ls"], timeout: "soon" }),
    complaintAbout(listQuery, "querystring", { metadata: "x" }),
    complaintAbout(templateSchema, "body", { metadata: {}, spec: { version: "v99" } }),
    complaintAbout(createEnvSchema, "body", envWith({ inlineResources: { limits: { cpu: "abc" } } })),
    complaintAbout(createEnvSchema, "body", envWith({ scalingGroup: "two words" })),
  ];
  expect(said).toEqual([
    ["workingDir", "workingDir: must begin with /"],
    ["timeout", "timeout: must be a time span such as 90s, 30m or 1h30m"],
    ["query.metadata[0]", "query.metadata[0]: must be key=value"],
    ["spec.version", "spec.version: must be a semantic version such as v1.2.0"],
    [
      "members[0].config.inlineResources.limits.cpu",
      "members[0].config.inlineResources.limits.cpu: must be a quantity such as 500m, 2 or 512Mi",
    ],
    [
      "members[0].config.scalingGroup",
      "members[0].config.scalingGroup: may contain only letters, digits, -, _ and ., and must begin and end with a letter or digit",
    ],
  ]);
});

const envWith = (config: object): object => ({ metadata: {}, spec: { templateRef: { name: "base" } }, members: [{ config }] });

test("a missing body counts as empty if no field is required", () => {
  expect(complaintAbout(timeoutSchema, "body", null)).toEqual({});
});

test("every input is either accepted unchanged or refused with a place", () => {
  const schemas = [createSchema, batchSchema, timeoutSchema, execSchema, execTokenSchema, poolSchema, templateSchema];
  const checks = schemas.map((schema) => requestValidator(schema, "body"));
  const names = schemas.flatMap((schema) => Object.keys((schema as { properties?: object }).properties ?? {}));
  const key = fc.oneof(fc.constantFrom(...names), fc.string(), fc.constantFrom("__proto__", "constructor", "toString"));
  const body = fc.oneof(fc.jsonValue(), fc.dictionary(key, fc.jsonValue()));
  fc.assert(
    fc.property(body, (data) => {
      for (const check of checks) {
        const checked = check(data);
        const placed = "error" in checked && checked.error.code === "invalid_request" && (checked.error.details.field ?? "") !== "";
        expect("value" in checked ? checked.value : placed).toEqual("value" in checked ? (data ?? {}) : true);
      }
    }),
  );
  const query = requestValidator(listQuery, "querystring");
  fc.assert(
    fc.property(fc.dictionary(key, fc.oneof(fc.string(), fc.array(fc.string()))), (data) => {
      const checked = query(data);
      expect("error" in checked ? checked.error.details.field : "query.").toMatch(/^query\./);
    }),
  );
});

describe("a query", () => {
  test("is given as values", () => {
    const query = { limit: "10", status: "Running,Paused", metadata: ["a=1,2", "b=="], poolName: "7" };
    expect(complaintAbout(listQuery, "querystring", query)).toEqual({
      limit: 10,
      status: ["Running", "Paused"],
      metadata: ["a=1,2", "b=="],
      poolName: "7",
    });
    const schema = Type.Object({ wait: Type.Boolean() });
    expect(complaintAbout(schema, "querystring", { wait: "false" })).toEqual({ wait: false });
  });

  test.for<[string, unknown, string]>([
    ["a number out of bounds", { limit: "1001" }, "query.limit"],
    ["no number", { limit: "ten" }, "query.limit"],
    ["an empty number", { limit: "" }, "query.limit"],
    ["a word that there is not", { status: "Running,Dancing" }, "query.status[1]"],
    ["no time", { claimedAfter: "yesterday" }, "query.claimedAfter"],
    ["something twice that can be there once", { poolName: ["a", "b"] }, "query.poolName"],
    ["something unknown", { pool: "a" }, "query.pool"],
    ["metadata without a value", { metadata: "a" }, "query.metadata[0]"],
  ])("with %s is refused with its place", ([, query, field]) => {
    expect(complaintAbout(listQuery, "querystring", query)).toMatchObject([field, expect.stringContaining(`${field}: `)]);
  });
});
