import { Registry } from "prom-client";
import { describe, expect, test } from "vitest";
import { apiServer } from "#api/http/api-server.ts";
import { prometheusMetrics } from "#lib/metrics.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import type { Caller } from "#services/caller.ts";
import type {
  CreateSandbox,
  EgressChange,
  ListSandboxes,
  SandboxDetail,
  SandboxService,
  TimeoutChange,
} from "#services/sandbox-service.ts";
import { ServiceError } from "#services/service-error.ts";
import type { Capacity } from "#services/usage/pod-use.ts";
import type { SandboxUsage } from "#services/usage/sandbox-usage.ts";
import type { UsageSample } from "#services/usage/usage-log.ts";
import { only } from "../../../test/world/native-api.ts";
import { recordedLog } from "../../../test/world/recorded-log.ts";
import { SteppedClock } from "../../../test/world/stepped-clock.ts";
import { e2bFace } from "./e2b-face.ts";

const running: SandboxDetail = {
  sandboxId: "abc",
  namespace: "default",
  poolName: "base",
  templateName: "base",
  podName: "base-1",
  team: "red",
  user: "",
  status: "Running",
  claimedAt: "2026-01-01T00:00:00.000Z",
  startedAt: "2026-01-01T00:00:01.000Z",
  endTime: "2026-01-01T00:05:00.000Z",
  containerImages: {},
  metadata: { task: "7" },
  cpu: "1500m",
  memory: "1Gi",
  disk: "3Gi",
};

const caller: Caller = { role: "tenant", team: "red", keyId: "k" };
const pool: SandboxPool = { metadata: { name: "base", namespace: "default", uid: "u" }, spec: { replicas: 1, templateName: "base" } };

const limits: Capacity = { cpus: 1.5, memoryBytes: 2 ** 30, diskBytes: 2 ** 31 };
const sample: UsageSample = {
  atMs: Date.parse("2026-01-01T00:01:00Z"),
  cpuPercent: 12.5,
  memoryBytes: 4096,
  cacheBytes: 1024,
  diskBytes: 2048,
};

class Scene {
  readonly asked: unknown[] = [];
  detail = running;

  readonly sandboxes: SandboxService = only({
    create: async (_: Caller, command: CreateSandbox) => {
      this.asked.push(command);
      return { sandbox: running, accessToken: "t" };
    },
    get: async (_: Caller, id: string) => {
      if (id !== "abc") throw new ServiceError("not_found", `there is no sandbox "${id}"`);
      return this.detail;
    },
    end: async (_: Caller, id: string) => void this.asked.push(["end", id]),
    list: async (_: Caller, query: ListSandboxes) => {
      this.asked.push(query);
      return { sandboxes: [running], next: "more" };
    },
    setTimeouts: async (_: Caller, id: string, change: TimeoutChange) => {
      this.asked.push([id, change]);
      return this.detail;
    },
    pause: async () => {
      this.asked.push("pause");
      return this.detail;
    },
    resume: async () => {
      this.asked.push("resume");
      return this.detail;
    },
    setEgress: async (_: Caller, id: string, { egress }: EgressChange) => {
      this.asked.push([id, egress]);
      return this.detail;
    },
    logs: async function* () {
      yield Buffer.from("one\ntw");
      yield Buffer.from("o\n");
    },
  });

  readonly usage: SandboxUsage = {
    of: async (_, id, span) => {
      this.asked.push([id, span]);
      return { limits, samples: [sample, { ...sample, atMs: sample.atMs + 5000 }] };
    },
    latest: async (_, ids) => {
      this.asked.push(ids);
      return new Map([["abc", { limits, sample }]]);
    },
  };

  async ask(line: string, body?: unknown, more: Readonly<Record<string, string>> = {}) {
    const [method = "GET", url = "/"] = line.split(" ");
    const app = await apiServer({
      keys: { authenticate: (key) => (key === "key" ? caller : undefined) },
      clock: new SteppedClock(),
      log: recordedLog().log,
      metrics: prometheusMetrics(new Registry()),
      rateLimit: { perSecond: 0, burst: 0 },
      ready: () => true,
      metricsText: async () => ({ contentType: "text/plain", text: "" }),
      faces: [
        e2bFace({
          sandboxes: this.sandboxes,
          pools: { get: async () => pool, list: async () => ({ items: [pool] }) },
          usage: this.usage,
          sizeOf: () => ({ cpu: "500m", memory: "2Gi", disk: "4Gi" }),
          accessTokenOf: (id) => `access-${id}`,
          trafficTokenOf: (id) => `traffic-${id}`,
          domain: "box.test:8443",
          maxTimeoutSeconds: 3600,
        }),
      ],
    });
    const payload = body === undefined ? {} : { payload: body as object };
    const answer = await app.inject({ method: method as "GET", url, headers: { "x-api-key": "key", ...more }, ...payload });
    await app.close();
    return {
      status: answer.statusCode,
      json: answer.body === "" ? undefined : (JSON.parse(answer.body) as unknown),
      headers: answer.headers,
    };
  }
}

test("a create that is named by an idempotency key is passed on with it", async () => {
  const scene = new Scene();
  await scene.ask("POST /v2/sandboxes", { templateID: "base" }, { "idempotency-key": "k1" });
  expect(scene.asked).toMatchObject([{ from: "base", idempotencyKey: "k1" }]);
});

test.each(["/sandboxes", "/v2/sandboxes"])("POST %s answers with what SDKs need to reach the sandbox", async (path) => {
  const scene = new Scene();
  const { status, json } = await scene.ask(`POST ${path}`, { templateID: "base", unknownField: 1, secure: true });
  expect(status).toBe(201);
  expect(json).toEqual({
    templateID: "base",
    sandboxID: "abc",
    clientID: "agentbox",
    envdVersion: "0.6.4",
    alias: "base",
    envdAccessToken: "t",
    domain: "box.test:8443",
  });
});

test("one sandbox is shown with its size, its end and its state", async () => {
  const { json } = await new Scene().ask("GET /sandboxes/abc-oldclient");
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
    const scene = new Scene();
    const { json, headers } = await scene.ask("GET /v2/sandboxes?limit=5&nextToken=here&state=paused");
    expect(json).toMatchObject([{ sandboxID: "abc" }]);
    expect(headers["x-next-token"]).toBe("more");
    expect(scene.asked).toEqual([{ limit: 5, status: ["Paused"], order: "newest", cursor: "here" }]);
  });

  test("shows when each sandbox ends and how big it is, in the order that is asked for", async () => {
    const scene = new Scene();
    const { json } = await scene.ask("GET /v2/sandboxes?order=asc");
    expect(json).toMatchObject([{ endAt: running.endTime, cpuCount: 2, memoryMB: 1024, diskSizeMB: 3072 }]);
    expect(scene.asked).toMatchObject([{ order: "oldest" }]);
  });

  test("is asked for metadata that the SDKs escape as pairs and once more", async () => {
    const scene = new Scene();
    const pairs = new URLSearchParams({ [encodeURIComponent("a&b")]: encodeURIComponent("c=d e+100%ü"), x: "1" });
    await scene.ask(`GET /v2/sandboxes?metadata=${encodeURIComponent(pairs.toString())}`);
    expect(scene.asked).toMatchObject([{ metadata: { "a&b": "c=d e+100%ü", x: "1" } }]);
  });

  test.each(["state=gone", "template=base:v1", "metadata=novalue", "metadata=%25zz%3D1", "order=up", "limit=101", "limit=x"])(
    "%s is refused",
    async (query) => {
      expect(await new Scene().ask(`GET /v2/sandboxes?${query}`)).toMatchObject({ status: 400, json: { code: 400 } });
    },
  );
});

test("a pause without memory is missing, and is not taken for one with it", async () => {
  const scene = new Scene();
  expect(await scene.ask("POST /sandboxes/abc/pause", { memory: false })).toMatchObject({ status: 501, json: { code: 501 } });
  expect((await scene.ask("POST /sandboxes/abc/pause", { memory: true })).status).toBe(204);
  expect(scene.asked).toEqual(["pause"]);
});

describe("connecting", () => {
  test("to a running sandbox makes its end later, never earlier", async () => {
    const scene = new Scene();
    expect((await scene.ask("POST /v2/sandboxes/abc/connect", { timeout: 60 })).status).toBe(200);
    expect(scene.asked).toEqual([["abc", { lifetimeMs: 60_000, onlyLater: true }]]);
  });

  test("to a paused one wakes it", async () => {
    const scene = new Scene();
    scene.detail = { ...running, status: "Paused" };
    expect((await scene.ask("POST /sandboxes/abc/connect", { timeout: 60 })).status).toBe(201);
    expect(scene.asked).toEqual(["resume", ["abc", { lifetimeMs: 60_000, onlyLater: false }]]);
  });
});

test("a timeout may be shortened, a refresh only makes the end later", async () => {
  const scene = new Scene();
  expect((await scene.ask("POST /sandboxes/abc/timeout", { timeout: 5 })).status).toBe(204);
  expect((await scene.ask("POST /sandboxes/abc/refreshes", { duration: 10 })).status).toBe(204);
  expect(scene.asked).toEqual([
    ["abc", { lifetimeMs: 5000 }],
    ["abc", { lifetimeMs: 10_000, onlyLater: true }],
  ]);
});

test("a sandbox is paused once", async () => {
  const scene = new Scene();
  expect((await scene.ask("POST /sandboxes/abc/pause", {})).status).toBe(204);
  scene.detail = { ...running, status: "Paused" };
  expect(await scene.ask("POST /sandboxes/abc/pause", {})).toMatchObject({ status: 409, json: { code: 409 } });
});

test("killing one that is there is 204, and one that has ended or never was is a 404 with the code in its body", async () => {
  const scene = new Scene();
  expect((await scene.ask("DELETE /sandboxes/abc")).status).toBe(204);
  scene.detail = { ...running, status: "Completed" };
  for (const id of ["abc", "nobody"])
    expect(await scene.ask(`DELETE /sandboxes/${id}`)).toMatchObject({ status: 404, json: { code: 404 } });
  expect(scene.asked).toEqual([["end", "abc"]]);
});

test("a log is lines, however it came in pieces", async () => {
  expect((await new Scene().ask("GET /sandboxes/abc/logs")).json).toMatchObject({ logs: [{ line: "one" }, { line: "two" }] });
});

test("templates are the pools that the caller may use", async () => {
  expect((await new Scene().ask("GET /templates")).json).toMatchObject([{ templateID: "base", aliases: ["base"], public: true }]);
  expect((await new Scene().ask("GET /templates/aliases/base")).json).toEqual({ templateID: "base", public: true });
});

test.each(["POST /sandboxes/abc/fork", "POST /sandboxes/abc/snapshots", "POST /v3/templates", "GET /volumes", "GET /secrets"])(
  "%s says what is missing",
  async (line) => {
    expect(await new Scene().ask(line)).toMatchObject({
      status: 501,
      json: { code: 501, message: expect.stringContaining("AgentBox does not have this yet: ") as string },
    });
  },
);

test("health needs no key", async () => {
  expect((await new Scene().ask("GET /health")).status).toBe(204);
});

const metric = {
  timestamp: "2026-01-01T00:01:00.000Z",
  timestampUnix: 1_767_225_660,
  cpuCount: 2,
  cpuUsedPct: 12.5,
  memUsed: 4096,
  memTotal: 2 ** 30,
  memCache: 1024,
  diskUsed: 2048,
  diskTotal: 2 ** 31,
};

test("metrics of one sandbox are those of the span that is asked for, with every field that SDKs read", async () => {
  const scene = new Scene();
  const { status, json } = await scene.ask("GET /sandboxes/abc/metrics?start=1767225600&end=1767225700");
  expect([status, json]).toEqual([200, [metric, { ...metric, timestamp: "2026-01-01T00:01:05.000Z", timestampUnix: 1_767_225_665 }]]);
  await scene.ask("GET /sandboxes/abc-old/metrics");
  expect(scene.asked).toEqual([
    ["abc", { fromMs: 1_767_225_600_000, toMs: 1_767_225_700_000 }],
    ["abc", {}],
  ]);
  expect((await scene.ask("GET /sandboxes/abc/metrics?start=yesterday")).status).toBe(400);
});

test("metrics of several sandboxes are the newest of each, by their ids", async () => {
  const scene = new Scene();
  const { status, json } = await scene.ask("GET /sandboxes/metrics?sandbox_ids=abc,def&sandbox_ids=ghi");
  expect([status, json]).toEqual([200, { sandboxes: { abc: metric } }]);
  expect(scene.asked).toEqual([["abc", "def", "ghi"]]);
});

describe("the network of a running sandbox", () => {
  test.each([
    [
      { allowOut: ["1.1.1.1"], denyOut: ["0.0.0.0/0"] },
      { internet: false, allow: ["1.1.1.1"], deny: [] },
    ],
    [
      { denyOut: ["8.8.8.0/24"], allow_internet_access: true },
      { internet: true, allow: [], deny: ["8.8.8.0/24"] },
    ],
    [{ allow_internet_access: false }, { internet: false, allow: [], deny: [] }],
    [{ rules: {}, egressProxy: null }, undefined],
    [{}, undefined],
  ])("%j is all that holds from then on", async (body, egress) => {
    const scene = new Scene();
    expect((await scene.ask("PUT /sandboxes/abc/network", body)).status).toBe(204);
    expect(scene.asked).toEqual([["abc", egress]]);
  });

  test.each([
    [{ rules: { "api.test": [{}] } }, 501],
    [{ egressProxy: { address: "1.1.1.1:1080" } }, 501],
    [{ allowOut: ["beef.cafe"], denyOut: ["0.0.0.0/0"] }, 501],
    [{ denyOut: ["evil.test"] }, 400],
    [{ allowOut: [{}] }, 400],
  ])("%j is refused", async (body, status) => {
    const scene = new Scene();
    expect(await scene.ask("PUT /sandboxes/abc/network", body)).toMatchObject({ status, json: { code: status } });
    expect(scene.asked).toEqual([]);
  });

  test("is shown with its details", async () => {
    const scene = new Scene();
    expect((await scene.ask("GET /sandboxes/abc")).json).toMatchObject({
      allowInternetAccess: true,
      network: { allowPublicTraffic: true },
    });
    const egress = { internet: false, allow: ["1.1.1.1"], deny: ["1.1.1.2"] };
    scene.detail = { ...running, egress, privateTraffic: true, maskHost: "localhost:${PORT}" };
    expect((await scene.ask("GET /sandboxes/abc")).json).toMatchObject({
      allowInternetAccess: false,
      network: {
        allowOut: ["1.1.1.1"],
        denyOut: ["0.0.0.0/0", "1.1.1.2"],
        allowPublicTraffic: false,
        maskRequestHost: "localhost:${PORT}",
      },
    });
  });

  test("of one that does not exist cannot be changed", async () => {
    expect((await new Scene().ask("PUT /sandboxes/nope/network", {})).status).toBe(404);
  });
});

describe("the end of a sandbox", () => {
  test("comes at once with a timeout of 0", async () => {
    const scene = new Scene();
    expect((await scene.ask("POST /sandboxes/abc/timeout", { timeout: 0 })).status).toBe(204);
    expect(scene.asked).toEqual([["abc", { lifetimeMs: 1 }]]);
  });

  test("is put off by a refresh, which need not say by how much", async () => {
    const scene = new Scene();
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
  const { json } = await new Scene().ask(`GET ${path}`);
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
  const { json } = await new Scene().ask(`GET /v2/sandboxes/abc/logs?${query}`);
  expect((json as { logs: { message: string }[] }).logs.map(({ message }) => message)).toEqual(messages);
});

test.each(["GET /volumes/x", "PUT /volumecontent/x/file", "DELETE /secrets/x", "GET /events/sandboxes", "GET /templates/a/builds/b/logs"])(
  "%s is answered in E2B's form",
  async (line) => {
    expect(await new Scene().ask(line)).toMatchObject({
      status: 501,
      json: { code: 501, message: expect.stringContaining("does not have") },
    });
  },
);
