import { describe, expect, test } from "vitest";
import { ApiError } from "#kube/api-error.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import { nestedText } from "../../../../test/world/nested-json.ts";
import { startFace } from "../../../../test/world/serve-face.ts";
import { maxBodyBytes } from "./request-body.ts";

const widget = { apiVersion: "example.test/v1", kind: "Widget", metadata: { name: "w" }, spec: { size: 1 } };
const collection = "/apis/example.test/v1/namespaces/a/widgets";
const item = `${collection}/w`;
const merge = { "content-type": "application/merge-patch+json" };
const json = { "content-type": "application/json-patch+json" };

type Method = Exclude<keyof ObjectClient, "watch">;

/** A client that notes what it is asked and answers with the object it was given. */
function recorder(...methods: Method[]): { calls: unknown[][]; script: Partial<ObjectClient> } {
  const calls: unknown[][] = [];
  const entries = methods.map((method) => [
    method,
    async (type: { kind: string }, ...rest: unknown[]) => {
      const [subject, ...others] = rest.map((value) => withoutSignal(value));
      calls.push([method, type.kind, subject, ...others]);
      return subject;
    },
  ]);
  return { calls, script: Object.fromEntries(entries) as Partial<ObjectClient> };
}

function withoutSignal(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).filter(([key, entry]) => key !== "signal" && entry !== undefined));
}

describe("create", () => {
  test("the object goes to the store in the namespace of its path, with the options of its query", async () => {
    const { calls, script } = recorder("create");
    await using face = await startFace(script);
    const reply = await face.send("POST", `${collection}?dryRun=All&fieldValidation=Strict&fieldManager=me`, { body: widget });
    expect(reply.code).toBe(201);
    const placed = { ...widget, metadata: { name: "w", namespace: "a" } };
    expect(calls).toEqual([["create", "Widget", placed, { dryRun: true, fieldValidation: "Strict", fieldManager: "me" }]]);
  });

  test("a kind of the API server's own may leave out its type; a custom kind may not", async () => {
    const { calls, script } = recorder("create");
    await using face = await startFace(script);
    expect(await face.send("POST", "/api/v1/namespaces/a/configmaps", { body: { metadata: { name: "c" } } })).toMatchObject({ code: 201 });
    expect(calls).toMatchObject([["create", "ConfigMap", { apiVersion: "v1", kind: "ConfigMap" }, {}]]);
    expect(await face.send("POST", collection, { body: { metadata: { name: "w" } } })).toMatchObject({
      code: 400,
      body: { reason: "BadRequest", message: expect.stringContaining("Object 'Kind' is missing") },
    });
  });

  test.each([
    [
      "another version",
      { ...widget, apiVersion: "example.test/v2" },
      400,
      "the API version in the data (example.test/v2) does not match the expected API version (example.test/v1)",
    ],
    [
      "another kind",
      { ...widget, kind: "Gadget" },
      422,
      'Gadget.example.test "w" is invalid: kind: Invalid value: "Gadget": must be Widget',
    ],
    [
      "another namespace",
      { ...widget, metadata: { name: "w", namespace: "b" } },
      400,
      "the namespace of the provided object does not match the namespace sent on the request",
    ],
  ])("an object of %s than its path is refused", async (_what, body, code, message) => {
    await using face = await startFace({});
    expect(await face.send("POST", collection, { body })).toMatchObject({ code, body: { message } });
  });

  test.each([
    ["broken JSON", '{"a": 1,}', "position 8"],
    ["cut JSON", '{"a": ', "position 6"],
    ["no body", "", "position 0"],
    ["an array", "[1]", "want an object, not an array"],
    ["null", "null", "want an object, not null"],
  ])("%s is refused with the place", async (_what, body, where) => {
    await using face = await startFace({});
    const reply = await face.send("POST", collection, { body, headers: { "content-type": "application/json" } });
    expect(reply).toMatchObject({ code: 400, body: { reason: "BadRequest", message: expect.stringContaining(where) } });
  });

  test("another media type is refused with the one that is taken", async () => {
    await using face = await startFace({});
    const reply = await face.send("POST", collection, { body: "a: b", headers: { "content-type": "application/yaml" } });
    expect(reply).toMatchObject({
      code: 415,
      body: { reason: "UnsupportedMediaType", message: expect.stringContaining("application/json") },
    });
  });

  test("a namespaced object needs a namespace", async () => {
    await using face = await startFace({});
    const reply = await face.send("POST", "/apis/example.test/v1/widgets", { body: widget });
    expect(reply).toMatchObject({ code: 400, body: { message: expect.stringContaining("namespaces/<namespace>/widgets") } });
  });

  test.each([
    ["dryRun=Some", 'CreateOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: ["Some"]: supported values: "All"'],
    [
      "fieldValidation=x",
      'CreateOptions.meta.k8s.io "" is invalid: fieldValidation: Unsupported value: "x": supported values: "", "Ignore", "Strict", "Warn"',
    ],
  ])("the option %s is refused", async (query, message) => {
    await using face = await startFace({});
    expect(await face.send("POST", `${collection}?${query}`, { body: widget })).toMatchObject({
      code: 422,
      body: { reason: "Invalid", message },
    });
  });
});

function filled(bytes: number): string {
  return `{"a":"${"x".repeat(bytes - 8)}"}`;
}

describe("size", () => {
  test("a body of exactly the limit is read", async () => {
    await using face = await startFace({});
    const reply = await face.send("POST", collection, { body: filled(maxBodyBytes), headers: { "content-type": "application/json" } });
    expect(reply.code).toBe(400);
  });

  test("a longer one is refused by its length alone", async () => {
    await using face = await startFace({});
    const reply = await face.send("POST", collection, {
      headers: { "content-type": "application/json", "content-length": String(maxBodyBytes + 1) },
    });
    expect(reply).toMatchObject({ code: 413, body: { reason: "RequestEntityTooLarge" } });
    expect(reply.headers.connection).toBe("close");
  });

  test("a longer one that hides its length is refused as well", async () => {
    await using face = await startFace({});
    const headers = { "content-type": "application/json", "transfer-encoding": "chunked" };
    expect(await face.send("POST", collection, { body: filled(maxBodyBytes + 1), headers })).toMatchObject({ code: 413 });
  });
});

describe("update", () => {
  test("the object is replaced, or only its status", async () => {
    const { calls, script } = recorder("update");
    await using face = await startFace(script);
    expect((await face.send("PUT", item, { body: widget })).code).toBe(200);
    await face.send("PUT", `${item}/status`, { body: widget });
    const placed = { ...widget, metadata: { name: "w", namespace: "a" } };
    expect(calls).toEqual([
      ["update", "Widget", placed, {}],
      ["update", "Widget", placed, { subresource: "status" }],
    ]);
  });

  test("a name that is left out is that of the path; another one is refused", async () => {
    const { calls, script } = recorder("update");
    await using face = await startFace(script);
    await face.send("PUT", item, { body: { ...widget, metadata: {} } });
    expect(calls).toMatchObject([["update", "Widget", { metadata: { name: "w" } }, {}]]);
    expect(await face.send("PUT", `${collection}/v`, { body: widget })).toMatchObject({
      code: 400,
      body: { message: "the name of the object (w) does not match the name on the URL (v)" },
    });
  });

  test("a scale is written through its own subresource", async () => {
    const { calls, script } = recorder("updateScale");
    await using face = await startFace(script);
    const scale = { apiVersion: "autoscaling/v1", kind: "Scale", metadata: { name: "w", namespace: "a" }, spec: { replicas: 2 } };
    expect((await face.send("PUT", `${item}/scale`, { body: scale })).code).toBe(200);
    expect(calls).toEqual([["updateScale", "Widget", { namespace: "a", name: "w" }, scale, {}]]);
    expect((await face.send("PUT", `${item}/scale`, { body: widget })).code).toBe(400);
  });
});

describe("patch", () => {
  test("both patch types reach the store as they are", async () => {
    const { calls, script } = recorder("patch", "patchScale");
    await using face = await startFace(script);
    const operations = [
      { op: "test", path: "/spec/size", value: null },
      { op: "remove", path: "/spec" },
      { op: "move", from: "/a", path: "/b" },
    ];
    await face.send("PATCH", item, { headers: merge, body: '{"spec":{"size":null}}' });
    await face.send("PATCH", `${item}/status`, { headers: json, body: JSON.stringify(operations) });
    await face.send("PATCH", `${item}/scale`, { headers: merge, body: '{"spec":{"replicas":1}}' });
    const key = { namespace: "a", name: "w" };
    expect(calls).toEqual([
      ["patch", "Widget", key, { type: "merge", body: { spec: { size: null } } }, {}],
      ["patch", "Widget", key, { type: "json", operations }, { subresource: "status" }],
      ["patchScale", "Widget", key, { type: "merge", body: { spec: { replicas: 1 } } }, {}],
    ]);
  });

  test.each(["application/json", "application/strategic-merge-patch+json", "application/apply-patch+yaml", ""])(
    "the media type %j is refused with those that are taken",
    async (type) => {
      await using face = await startFace({});
      const reply = await face.send("PATCH", item, { headers: type === "" ? {} : { "content-type": type }, body: "{}" });
      const message = "accepted media types include: application/json-patch+json, application/merge-patch+json";
      expect(reply).toMatchObject({ code: 415, body: { message: expect.stringContaining(message) } });
    },
  );

  test.each([
    ["a merge patch that is no object", merge, "[]", 400],
    ["a merge patch that is no JSON", merge, "{", 400],
    ["a JSON patch that is no array", json, "{}", 400],
    ["an operation that is no object", json, "[1]", 400],
    ["an operation without a path", json, '[{"op":"remove"}]', 422],
    ["an unknown operation", json, '[{"op":"grow","path":"/a"}]', 422],
    ["a move without a source", json, '[{"op":"move","path":"/a"}]', 422],
  ])("%s is refused", async (_what, headers, body, code) => {
    await using face = await startFace({});
    expect((await face.send("PATCH", item, { headers, body })).code).toBe(code);
  });
});

describe("delete", () => {
  const stored = { ...widget, metadata: { name: "w", namespace: "a", uid: "u1" } };

  /** A store that holds one object until it is deleted, or until its finalizers are. */
  function holding(object: typeof stored, after: typeof stored | undefined): { options: unknown[]; script: Partial<ObjectClient> } {
    let current: typeof stored | undefined = object;
    const options: unknown[] = [];
    return {
      options,
      script: {
        get: async () => {
          if (current === undefined) throw new ApiError("NotFound", "gone");
          return current as never;
        },
        delete: async (_type, _key, given) => {
          options.push(withoutSignal(given));
          if (given?.dryRun !== true) current = after;
        },
      },
    };
  }

  test("an object that is gone is answered with who it was", async () => {
    await using face = await startFace(holding(stored, undefined).script);
    expect(await face.send("DELETE", item)).toMatchObject({
      code: 200,
      body: { kind: "Status", status: "Success", details: { name: "w", group: "example.test", kind: "widgets", uid: "u1" } },
    });
  });

  test("an object that stays for its finalizers is answered as it is now", async () => {
    const terminating = { ...stored, metadata: { ...stored.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } };
    await using face = await startFace(holding(stored, terminating).script);
    expect(await face.send("DELETE", item)).toMatchObject({ code: 200, body: terminating });
  });

  test("an object that was made anew in the meantime is not mistaken for the deleted one", async () => {
    await using face = await startFace(holding(stored, { ...stored, metadata: { ...stored.metadata, uid: "u2" } }).script);
    expect(await face.send("DELETE", item)).toMatchObject({ body: { status: "Success", details: { uid: "u1" } } });
  });

  test("a pod that is gone is answered as it was", async () => {
    await using face = await startFace(holding(stored, undefined).script);
    expect(await face.send("DELETE", "/api/v1/namespaces/a/pods/w")).toMatchObject({ code: 200, body: stored });
  });

  test("options come from the query", async () => {
    const { options, script } = holding(stored, undefined);
    await using face = await startFace(script);
    await face.send("DELETE", `${item}?propagationPolicy=Orphan&gracePeriodSeconds=5&dryRun=All`);
    expect(options).toEqual([{ propagationPolicy: "Orphan", gracePeriodSeconds: 5, dryRun: true }]);
  });

  test("options of the body stand alone", async () => {
    const { options, script } = holding(stored, undefined);
    await using face = await startFace(script);
    const body = { kind: "DeleteOptions", apiVersion: "v1", gracePeriodSeconds: 0, preconditions: { uid: "u1", resourceVersion: "3" } };
    await face.send("DELETE", `${item}?propagationPolicy=Orphan`, { body });
    expect(options).toEqual([{ gracePeriodSeconds: 0, preconditions: { uid: "u1", resourceVersion: "3" } }]);
  });

  test.each([
    [{ kind: "Widget" }, 400],
    [{ propagationPolicy: "Sideways" }, 422],
    [{ propagationPolicy: 3 }, 400],
    [{ gracePeriodSeconds: "5" }, 400],
    [{ gracePeriodSeconds: 1.5 }, 400],
    [{ preconditions: [] }, 400],
    [{ preconditions: { uid: 3 } }, 400],
    [{ dryRun: "All" }, 400],
    [{ dryRun: ["Some"] }, 422],
  ])("the options %j are refused", async (body, code) => {
    await using face = await startFace(holding(stored, undefined).script);
    expect((await face.send("DELETE", item, { body })).code).toBe(code);
  });

  test("a delete that the store refuses is refused", async () => {
    await using face = await startFace({
      get: async () => stored as never,
      delete: () => Promise.reject(new ApiError("Conflict", "the UID in the precondition does not match")),
    });
    expect(await face.send("DELETE", item)).toMatchObject({ code: 409, body: { reason: "Conflict" } });
  });
});

test.each([
  ["POST", collection, {}, `{"kind":"Widget","apiVersion":"example.test/v1","spec":${nestedText(100_000)}}`],
  ["POST", collection, {}, `{"kind":${nestedText(5_000)},"apiVersion":"example.test/v1"}`],
  ["PUT", item, {}, `{"kind":"Widget","apiVersion":"example.test/v1","spec":${nestedText(500)}}`],
  ["PATCH", item, merge, nestedText(5_000)],
  ["PATCH", item, json, `[{"op":"add","path":"/spec","value":${nestedText(100_000)}}]`],
  ["DELETE", item, {}, nestedText(100_000)],
])("a body that is nested too deeply is refused: %s %s", async (method, path, headers, body) => {
  const { calls, script } = recorder("create", "update", "patch", "delete");
  await using face = await startFace(script);
  const reply = await face.send(method, path, { headers, body });
  expect(reply.code).toBe(400);
  expect(reply.body).toMatchObject({ reason: "BadRequest", message: expect.stringContaining("nested more than 500 levels deep") });
  expect(calls).toEqual([]);
});
