import { connect } from "node:net";
import { describe, expect, test } from "vitest";
import { ApiError } from "#kube/api-error.ts";
import { Pods } from "#model/pod.ts";
import { startFace, Widgets } from "../../../../test/world/serve-face.ts";
import type { ServedRequest } from "./serve-objects.ts";

const widget = { apiVersion: "example.test/v1", kind: "Widget", metadata: { name: "w", namespace: "a", uid: "u1", resourceVersion: "7" } };
const collection = "/apis/example.test/v1/namespaces/a/widgets";
const item = `${collection}/w`;

describe("reading", () => {
  test("an object is answered as it is stored", async () => {
    await using face = await startFace({ get: async (type, key) => ({ ...widget, asked: [type.kind, key] }) as never });
    const reply = await face.send("GET", item);
    expect(reply).toMatchObject({ code: 200, body: { ...widget, asked: ["Widget", { namespace: "a", name: "w" }] } });
    expect(reply.headers["content-type"]).toBe("application/json");
  });

  test("the status subresource shows the whole object, the scale subresource its scale", async () => {
    await using face = await startFace({
      get: async () => widget as never,
      getScale: async () => ({ apiVersion: "autoscaling/v1", kind: "Scale", metadata: { name: "w" }, spec: { replicas: 3 } }),
    });
    expect((await face.send("GET", `${item}/status`)).body).toEqual(widget);
    expect((await face.send("GET", `${item}/scale`)).body).toMatchObject({ kind: "Scale", spec: { replicas: 3 } });
  });

  test("a failure of the store comes out as the Status of a kube-apiserver", async () => {
    await using face = await startFace({
      get: () =>
        Promise.reject(
          new ApiError("NotFound", 'widgets.example.test "w" not found', { group: "example.test", kind: "widgets", name: "w" }),
        ),
    });
    const reply = await face.send("GET", item);
    expect(reply.code).toBe(404);
    expect(reply.body).toEqual({
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message: 'widgets.example.test "w" not found',
      reason: "NotFound",
      details: { name: "w", group: "example.test", kind: "widgets" },
      code: 404,
    });
  });

  test("a wait that the store asks for is in the header and in the body, never rounded down", async () => {
    await using face = await startFace({ get: () => Promise.reject(new ApiError("TooManyRequests", "busy", { retryAfterMs: 1200 })) });
    const reply = await face.send("GET", item);
    expect(reply.code).toBe(429);
    expect(reply.headers["retry-after"]).toBe("2");
    expect(reply.body).toMatchObject({ details: { retryAfterSeconds: 2 } });
  });

  test("a defect is told to us, not to the client", async () => {
    const defects: unknown[] = [];
    await using face = await startFace(
      { get: () => Promise.reject(new Error("secret path /x")) },
      { onDefect: (error, request) => defects.push([String(error), request]) },
    );
    const reply = await face.send("GET", item);
    expect(reply.code).toBe(500);
    expect(reply.body).toMatchObject({ reason: "InternalError" });
    expect(reply.text).not.toContain("secret");
    expect(defects).toEqual([["Error: secret path /x", { method: "GET", path: item }]]);
  });

  test("what is not served is a NotFound Status, not a page", async () => {
    await using face = await startFace({});
    expect(await face.send("GET", "/apis/other/v1/things")).toMatchObject({ code: 404, body: { kind: "Status", reason: "NotFound" } });
    expect(await face.send("GET", "//[")).toMatchObject({ code: 404 });
  });

  test("a client that takes no JSON hears which format there is", async () => {
    await using face = await startFace({ get: async () => widget as never });
    const reply = await face.send("GET", item, { headers: { accept: "application/vnd.kubernetes.protobuf" } });
    expect(reply).toMatchObject({ code: 406, body: { reason: "NotAcceptable", message: expect.stringContaining("application/json") } });
    const table = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
    expect(await face.send("GET", item, { headers: { accept: table } })).toMatchObject({ code: 200, body: widget });
  });
});

describe("methods", () => {
  test.each([
    ["PUT", collection],
    ["DELETE", collection],
    ["POST", item],
    ["DELETE", `${item}/status`],
    ["DELETE", `${item}/scale`],
  ])("%s %s is not allowed", async (method, path) => {
    await using face = await startFace({});
    expect(await face.send(method, path)).toMatchObject({ code: 405, body: { reason: "MethodNotAllowed" } });
  });
});

describe("the server itself", () => {
  test("health, version and groups need no store", async () => {
    await using face = await startFace({}, { version: "v9" });
    expect(await face.send("GET", "/healthz")).toMatchObject({ code: 200, text: "ok" });
    expect(await face.send("GET", "/livez")).toMatchObject({ code: 200, text: "ok" });
    expect(await face.send("GET", "/readyz")).toMatchObject({ code: 200, text: "ok" });
    expect((await face.send("GET", "/version")).body).toMatchObject({ gitVersion: "v9" });
    expect((await face.send("GET", "/api")).body).toEqual({ kind: "APIVersions", versions: ["v1"] });
    expect((await face.send("GET", "/apis")).body).toMatchObject({
      groups: [
        { name: "example.test", versions: [{ groupVersion: "example.test/v1", version: "v1" }] },
        { name: "coordination.k8s.io", preferredVersion: { version: "v1" } },
      ],
    });
  });

  test("a server that is not ready says so", async () => {
    await using face = await startFace({}, { ready: () => false });
    expect(await face.send("GET", "/readyz")).toMatchObject({ code: 503, text: "not ready" });
    expect(await face.send("GET", "/livez")).toMatchObject({ code: 200 });
  });

  test("after stop every request is refused with a time to come back", async () => {
    await using face = await startFace({ get: async () => widget as never });
    face.stop();
    const reply = await face.send("GET", item);
    expect(reply).toMatchObject({ code: 503, body: { reason: "ServiceUnavailable" } });
    expect(reply.headers["retry-after"]).toBe("1");
  });

  test("every request for objects is reported with its verb, kind and code", async () => {
    const served: ServedRequest[] = [];
    await using face = await startFace(
      {
        get: async () => widget as never,
        list: async () => ({ items: [], resourceVersion: "1" }),
        create: () => Promise.reject(new ApiError("AlreadyExists", "there")),
      },
      { onServed: (request) => served.push(request) },
    );
    await face.send("GET", "/api/v1/namespaces/a/pods/p/status");
    await face.send("GET", collection);
    await face.send("POST", collection, { body: widget });
    await face.send("GET", "/healthz");
    expect(served.map(({ verb, type, subresource, code }) => [verb, type, subresource, code])).toEqual([
      ["get", Pods, "status", 200],
      ["list", Widgets, undefined, 200],
      ["create", Widgets, undefined, 409],
    ]);
    expect(served.every(({ seconds }) => seconds >= 0)).toBe(true);
  });

  test("a request that is cut off in the middle of its body reaches no store and breaks nothing", async () => {
    await using face = await startFace({ get: async () => widget as never });
    const socket = connect(face.socketPath);
    socket.write(`POST ${collection} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"half`);
    await new Promise((resolve) => setImmediate(resolve));
    socket.destroy();
    expect(await face.send("GET", item)).toMatchObject({ code: 200 });
  });
});
