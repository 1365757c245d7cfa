import { describe, expect, test } from "vitest";
import { E2bScene, running } from "../../../test/world/e2b-scene.ts";

test("a create that is named by an idempotency key is passed on with it", async () => {
  const scene = new E2bScene();
  await scene.ask("POST /v2/sandboxes", { templateID: "base" }, { "idempotency-key": "k1" });
  expect(scene.asked).toMatchObject([{ from: "base", idempotencyKey: "k1" }]);
});

test.each(["", "Key", "a b", "a".repeat(256)])("the idempotency key %j is refused", async (key) => {
  const scene = new E2bScene();
  expect(await scene.ask("POST /v2/sandboxes", { templateID: "base" }, { "idempotency-key": key })).toMatchObject({ status: 400 });
  expect(scene.asked).toEqual([]);
});

test.each(["/sandboxes", "/v2/sandboxes"])("W29: POST %s answers with what SDKs need to reach the sandbox", async (path) => {
  const scene = new E2bScene();
  const { status, json } = await scene.ask(`POST ${path}`, { templateID: "base", unknownField: 1, secure: true });
  expect(status).toBe(201);
  expect(json).toEqual({
    templateID: "base",
    sandboxID: "abc",
    clientID: "agentbox",
    envdVersion: "0.6.4",
    alias: "base",
    envdAccessToken: "access-abc",
    trafficAccessToken: "traffic-abc",
    domain: "box.test:8443",
  });
});

test("a sandbox that was made without a token is answered without any, at once and later", async () => {
  const scene = new E2bScene();
  scene.detail = { ...running, openDaemon: true };
  const answers = [
    await scene.ask("POST /sandboxes", { templateID: "base", secure: false }),
    await scene.ask("POST /sandboxes/abc/connect", {}),
    await scene.ask("GET /sandboxes/abc"),
  ];
  for (const { json } of answers) expect(JSON.stringify(json)).not.toContain("AccessToken");
});

test("one sandbox is shown with its size, its end and its state", async () => {
  const { json } = await new E2bScene().ask("GET /sandboxes/abc-oldclient");
  expect(json).toMatchObject({
    sandboxID: "abc",
    startedAt: running.startedAt,
    endAt: running.endTime,
    cpuCount: 2,
    memoryMB: 1024,
    state: "running",
    envdAccessToken: "access-abc",
    metadata: { task: "7" },
    lifecycle: { autoResume: false, onTimeout: "kill" },
  });
});

describe("a list", () => {
  test("is of live sandboxes, with the place of the next page in a header", async () => {
    const scene = new E2bScene();
    const { json, headers } = await scene.ask("GET /v2/sandboxes?limit=5&nextToken=here&state=paused");
    expect(json).toMatchObject([{ sandboxID: "abc" }]);
    expect(headers["x-next-token"]).toBe("more");
    expect(scene.asked).toEqual([{ limit: 5, status: ["Paused"], order: "newest", cursor: "here" }]);
  });

  test("says how many run that fit, of all pages, unless only paused ones are asked for", async () => {
    const scene = new E2bScene();
    const of = async (path: string) => (await scene.ask(`GET ${path}`)).headers["x-total-running"];
    expect([await of("/v2/sandboxes?limit=1&metadata=a%3Db"), await of("/sandboxes"), await of("/v2/sandboxes?state=paused")]).toEqual([
      "7",
      "7",
      undefined,
    ]);
    expect(scene.counted[0]).toEqual({ metadata: { a: "b" }, status: ["Starting", "Running"] });
  });

  test("shows when each sandbox ends and how big it is, in the order that is asked for", async () => {
    const scene = new E2bScene();
    const { json } = await scene.ask("GET /v2/sandboxes?order=asc");
    expect(json).toMatchObject([{ endAt: running.endTime, cpuCount: 2, memoryMB: 1024, diskSizeMB: 3072 }]);
    expect(scene.asked).toMatchObject([{ order: "oldest" }]);
  });

  test("is asked for metadata that the SDKs escape as pairs and once more", async () => {
    const scene = new E2bScene();
    const pairs = new URLSearchParams({ [encodeURIComponent("a&b")]: encodeURIComponent("c=d e+100%ü"), x: "1" });
    await scene.ask(`GET /v2/sandboxes?metadata=${encodeURIComponent(pairs.toString())}`);
    expect(scene.asked).toMatchObject([{ metadata: { "a&b": "c=d e+100%ü", x: "1" } }]);
  });

  test.each(["state=gone", "template=base:v1", "metadata=novalue", "metadata=%25zz%3D1", "order=up", "limit=101", "limit=x"])(
    "%s is refused",
    async (query) => {
      expect(await new E2bScene().ask(`GET /v2/sandboxes?${query}`)).toMatchObject({ status: 400, json: { code: 400 } });
    },
  );
});

test("a pause without memory is not taken for one with it", async () => {
  const scene = new E2bScene();
  expect((await scene.ask("POST /sandboxes/abc/pause", { memory: false })).status).toBe(204);
  expect((await scene.ask("POST /sandboxes/abc/pause", { memory: true })).status).toBe(204);
  expect(await scene.ask("POST /sandboxes/abc/pause", { memory: "no" })).toMatchObject({ status: 400 });
  expect(scene.asked).toEqual(["pause without memory", "pause"]);
});

test("connecting without memory starts a sandbox anew whose memory is there", async () => {
  const scene = new E2bScene();
  scene.detail = { ...running, status: "Paused" };
  expect((await scene.ask("POST /v2/sandboxes/abc/connect", { timeout: 60, memory: false })).status).toBe(201);
  expect(scene.asked.slice(0, 2)).toEqual(["pause without memory", "resume"]);
});

describe("connecting", () => {
  test("to a running sandbox makes its end later, never earlier", async () => {
    const scene = new E2bScene();
    expect((await scene.ask("POST /v2/sandboxes/abc/connect", { timeout: 60 })).status).toBe(200);
    expect(scene.asked).toEqual([["abc", { lifetimeMs: 60_000, onlyLater: true }]]);
  });

  test("to a paused one wakes it", async () => {
    const scene = new E2bScene();
    scene.detail = { ...running, status: "Paused" };
    expect((await scene.ask("POST /sandboxes/abc/connect", { timeout: 60 })).status).toBe(201);
    expect(scene.asked).toEqual(["resume", ["abc", { lifetimeMs: 60_000, onlyLater: false }]]);
  });

  test("to a paused one that never ends leaves it so", async () => {
    const scene = new E2bScene();
    const { endTime: _, ...endless } = running;
    scene.detail = { ...endless, status: "Paused" };
    expect((await scene.ask("POST /v2/sandboxes/abc/connect", {})).status).toBe(201);
    expect(scene.asked).toEqual(["resume", ["abc", { lifetimeMs: 300_000, onlyLater: true }]]);
  });
});

test("a timeout may be shortened, a refresh only makes the end later", async () => {
  const scene = new E2bScene();
  expect((await scene.ask("POST /sandboxes/abc/timeout", { timeout: 5 })).status).toBe(204);
  expect((await scene.ask("POST /sandboxes/abc/refreshes", { duration: 10 })).status).toBe(204);
  expect(scene.asked).toEqual([
    ["abc", { lifetimeMs: 5000 }],
    ["abc", { lifetimeMs: 10_000, onlyLater: true }],
  ]);
});

test("a sandbox is paused once", async () => {
  const scene = new E2bScene();
  expect((await scene.ask("POST /sandboxes/abc/pause", {})).status).toBe(204);
  scene.detail = { ...running, status: "Paused" };
  expect(await scene.ask("POST /sandboxes/abc/pause", {})).toMatchObject({ status: 409, json: { code: 409 } });
});

test("killing a live sandbox is a 204, killing an ended or unknown one is a 404 with the code in its body", async () => {
  const scene = new E2bScene();
  expect((await scene.ask("DELETE /sandboxes/abc")).status).toBe(204);
  scene.detail = { ...running, status: "Completed" };
  for (const id of ["abc", "nobody"])
    expect(await scene.ask(`DELETE /sandboxes/${id}`)).toMatchObject({ status: 404, json: { code: 404 } });
  expect(scene.asked).toEqual([["end", "abc"]]);
});

test("a log is lines, however it came in pieces", async () => {
  expect((await new E2bScene().ask("GET /sandboxes/abc/logs")).json).toMatchObject({ logs: [{ line: "one" }, { line: "two" }] });
});

test("a template shows how many sandboxes were created from it, when the last one was, and if it is ready", async () => {
  const [template] = (await new E2bScene().ask("GET /templates")).json as [object];
  const lastSpawnedAt = running.claimedAt;
  expect(template).toMatchObject({ spawnCount: 3, lastSpawnedAt, buildCount: 0, buildStatus: "building" });
});

test("an Env is a template of the size of its default member, made ready by any of its pools", async () => {
  const scene = new E2bScene();
  const metadata = { name: "base", namespace: "default", uid: "e", creationTimestamp: "2026-01-01T00:00:00Z" };
  const pool = (name: string, phase: "Degraded" | "Ready") =>
    ({
      metadata: { name, namespace: "default" },
      spec: { replicas: 1 },
      status: { phase, idleReplicas: phase === "Ready" ? 1 : 0 },
    }) as const;
  const pools = [pool("base-a", "Degraded"), pool("base-b", "Ready")];
  scene.source = {
    kind: "env",
    object: { metadata, spec: { templateRef: { name: "t" }, mode: "WarmPool" } },
    pools,
    defaultPool: pools[1]!,
  };
  const [template] = (await scene.ask("GET /templates")).json as [object];
  expect(template).toMatchObject({ templateID: "base", buildID: "e", cpuCount: 1, memoryMB: 2048, buildStatus: "ready", spawnCount: 0 });
  await scene.ask("GET /v2/sandboxes?template=base");
  expect(scene.asked.at(-1)).toMatchObject({ env: "base" });
});

test("a sandbox of an Env is shown with the Env as its template", async () => {
  const scene = new E2bScene();
  scene.detail = { ...running, poolName: "base-2c4g", templateName: "t", envName: "base" };
  expect((await scene.ask("POST /v2/sandboxes", { templateID: "base" })).json).toMatchObject({ templateID: "base", alias: "base" });
  expect((await scene.ask("GET /sandboxes/abc")).json).toMatchObject({ templateID: "base", alias: "base" });
});

test("default templates are those of the server, which all callers see, in order", async () => {
  expect((await new E2bScene().ask("GET /default-templates")).json).toMatchObject([{ templateID: "base" }]);
});

test("templates are what the caller may create from", async () => {
  expect((await new E2bScene().ask("GET /templates")).json).toMatchObject([{ templateID: "base", aliases: ["base"], public: true }]);
  expect((await new E2bScene().ask("GET /templates/aliases/base")).json).toEqual({ templateID: "base", public: true });
});

test.each(["POST /v3/templates", "GET /secrets"])("%s says what is missing", async (line) => {
  expect(await new E2bScene().ask(line)).toMatchObject({
    status: 501,
    json: { code: 501, message: expect.stringContaining("AgentBox does not have this yet: ") as string },
  });
});

test("health needs no key", async () => {
  expect((await new E2bScene().ask("GET /health")).status).toBe(204);
});

describe("the end of a sandbox", () => {
  test("comes at once with a timeout of 0", async () => {
    const scene = new E2bScene();
    expect((await scene.ask("POST /sandboxes/abc/timeout", { timeout: 0 })).status).toBe(204);
    expect(scene.asked).toEqual([["abc", { lifetimeMs: 1 }]]);
  });

  test("is put off by a refresh, which need not say by how much", async () => {
    const scene = new E2bScene();
    expect((await scene.ask("POST /sandboxes/abc/refreshes")).status).toBe(204);
    expect((await scene.ask("POST /sandboxes/abc/refreshes", { duration: 5 })).status).toBe(204);
    expect(scene.asked).toEqual([
      ["abc", { lifetimeMs: 60_000, onlyLater: true }],
      ["abc", { lifetimeMs: 5000, onlyLater: true }],
    ]);
    expect((await scene.ask("POST /sandboxes/abc/refreshes", { duration: 3601 })).status).toBe(400);
  });
});

test.each(["/templates", "/v2/templates", "/templates/base"])("GET %s shows how big its sandboxes are", async (path) => {
  const { json } = await new E2bScene().ask(`GET ${path}`);
  expect([json].flat()).toMatchObject([{ templateID: "base", cpuCount: 1, memoryMB: 2048, diskSizeMB: 4096 }]);
});

test.each([
  ["limit=1", ["two"]],
  ["limit=0", []],
  ["direction=backward", ["two", "one"]],
  ["search=ne", ["one"]],
  ["level=error", []],
  ["level=info", ["one", "two"]],
])("logs with %s are those that are asked for", async (query, messages) => {
  const { json } = await new E2bScene().ask(`GET /v2/sandboxes/abc/logs?${query}`);
  expect((json as { logs: { message: string }[] }).logs.map(({ message }) => message)).toEqual(messages);
});

test.each(["DELETE /secrets/x", "GET /templates/a/builds/b/logs"])("%s is answered in E2B's form", async (line) => {
  expect(await new E2bScene().ask(line)).toMatchObject({
    status: 501,
    json: { code: 501, message: expect.stringContaining("does not have") },
  });
});
