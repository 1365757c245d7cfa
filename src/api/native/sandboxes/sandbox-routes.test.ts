import { describe, expect, test } from "vitest";
import type { ListSandboxes, SandboxService, SandboxView, TimeoutChange } from "#services/sandbox-service.ts";
import { ServiceError } from "#services/service-error.ts";
import { NativeApi, only } from "../../../../test/world/native-api.ts";
import { changeRoutes } from "./change-routes.ts";
import { sandboxRoutes } from "./sandbox-routes.ts";

const one: SandboxView = {
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
};

function over(service: Partial<SandboxService>): Promise<NativeApi> {
  const sandboxes = only(service);
  return NativeApi.over(({ clock }) => [...sandboxRoutes({ sandboxes }), ...changeRoutes({ sandboxes, clock })]);
}

describe("a list", () => {
  async function asked(query: string): Promise<[NativeApi, ListSandboxes[], unknown]> {
    const queries: ListSandboxes[] = [];
    const api = await over({
      list: async (_caller, wanted) => {
        queries.push(wanted);
        return { sandboxes: [one], next: "more" };
      },
    });
    return [api, queries, (await api.ask(`GET /v1/sandboxes${query}`)).json];
  }

  test("without a query has what the service says, and how to go on", async () => {
    const [api, queries, answer] = await asked("");
    await using _ = api;
    expect([queries, answer]).toEqual([[{}], { sandboxes: [one], next: "more" }]);
  });

  test("is asked for by all its filters", async () => {
    const times = "claimedAfter=2026-01-01T00:00:00Z&claimedBefore=2026-01-02T00:00:00Z&endedAfter=2026-01-03T00:00:00Z";
    const [api, queries] = await asked(
      `?limit=5&cursor=abc&poolName=py&envName=e&templateName=t&status=Running,Completed&idPrefix=i&metadata=a=1=2&metadata=b=&${times}`,
    );
    await using _ = api;
    expect(queries).toEqual([
      {
        limit: 5,
        cursor: "abc",
        pool: "py",
        env: "e",
        template: "t",
        status: ["Running", "Completed"],
        idPrefix: "i",
        metadata: { a: "1=2", b: "" },
        claimedAfter: "2026-01-01T00:00:00Z",
        claimedBefore: "2026-01-02T00:00:00Z",
        endedAfter: "2026-01-03T00:00:00Z",
      },
    ]);
  });

  test.for<[string, string]>([
    ["limit=0", "query.limit"],
    ["limit=many", "query.limit"],
    ["cursor=", "query.cursor"],
    ["status=Sleeping", "query.status[0]"],
    ["endedBefore=never", "query.endedBefore"],
    ["metadata=a", "query.metadata[0]"],
    ["metadata=a=1&metadata=a=2", "query.metadata"],
    ["offset=10", "query.offset"],
  ])("with %s is refused, with the place", async ([query, field]) => {
    const [api, queries, answer] = await asked(`?${query}`);
    await using _ = api;
    expect(answer).toMatchObject({ status: 400, code: "invalid_request", field });
    expect(queries).toEqual([]);
  });

  test("names the place of an error that only the service finds", async () => {
    await using api = await over({
      list: () => Promise.reject(new ServiceError("invalid_request", "the cursor is not one", { field: "cursor" })),
    });
    expect((await api.ask("GET /v1/sandboxes?cursor=x")).json).toMatchObject({ status: 400, field: "query.cursor" });
  });
});

test("a sandbox is shown with why it is stuck", async () => {
  const diagnosis = { podName: "py-1", phase: "starting", reason: "Pulling", message: "…", events: [] };
  await using api = await over({ get: async (_caller, sandboxId) => ({ ...one, sandboxId, diagnosis, idleTimeoutMs: 1500 }) });
  const answer = await api.ask("GET /v1/sandboxes/i%2F2");
  expect([answer.status, answer.json]).toEqual([200, { sandbox: { ...one, sandboxId: "i/2", diagnosis, idleTimeout: "1s500ms" } }]);
});

test("ending a sandbox is accepted without a body, any number of times", async () => {
  const ended: string[] = [];
  await using api = await over({ end: async (_caller, sandboxId) => void ended.push(sandboxId) });
  for (let turn = 0; turn < 2; turn++) {
    const answer = await api.ask("DELETE /v1/sandboxes/i1");
    expect([answer.status, answer.text]).toEqual([202, ""]);
  }
  expect(ended).toEqual(["i1", "i1"]);
});

describe("timeouts", () => {
  async function changed(body: unknown): Promise<[TimeoutChange[], number, unknown]> {
    const changes: TimeoutChange[] = [];
    await using api = await over({
      setTimeouts: async (_caller, _id, change) => {
        changes.push(change);
        return { ...one, endTime: "2026-01-01T01:00:00.000Z" };
      },
    });
    const { status, json } = await api.ask("PUT /v1/sandboxes/i1/timeout", { body });
    return [changes, status, json];
  }

  test.for<[object, TimeoutChange]>([
    [{ idleTimeout: "30m" }, { idleTimeoutMs: 1_800_000 }],
    [{ idleTimeout: "0" }, { idleTimeoutMs: 0 }],
    [
      { lifetime: "1h", onlyLater: true },
      { lifetimeMs: 3_600_000, onlyLater: true },
    ],
    [{ lifetime: null }, { lifetimeMs: null }],
    [{ endTime: "2026-01-01T00:01:00Z" }, { lifetimeMs: 60_000 }],
    [{ endTime: "2026-01-01T02:01:00+02:00" }, { lifetimeMs: 60_000 }],
  ])("%j", async ([body, change]) => {
    const [changes, status, answer] = await changed(body);
    expect([changes, status, answer]).toMatchObject([[change], 200, { sandbox: { endTime: "2026-01-01T01:00:00.000Z" } }]);
  });

  test.for<[unknown, string]>([
    [undefined, "body"],
    [{}, "body"],
    [{ onlyLater: true }, "body"],
    [{ timeout: "5m" }, "timeout"],
    [{ lifetime: 60 }, "lifetime"],
    [{ endTime: "tomorrow" }, "endTime"],
    [{ endTime: "2025-12-31T00:00:00Z" }, "endTime"],
    [{ endTime: "2026-01-01T00:01:00Z", lifetime: "5m" }, "endTime"],
  ])("%j is refused, with the place", async ([body, field]) => {
    const [changes, status, answer] = await changed(body);
    expect([changes, status, answer]).toMatchObject([[], 400, { code: "invalid_request", field }]);
  });
});

test("pausing and resuming are answered with the sandbox as it is then", async () => {
  const done: string[] = [];
  await using api = await over({
    pause: async (_caller, sandboxId) => {
      done.push(`pause ${sandboxId}`);
      return { ...one, status: "Paused" };
    },
    resume: async (_caller, sandboxId) => {
      done.push(`resume ${sandboxId}`);
      return one;
    },
  });
  const paused = await api.ask("POST /v1/sandboxes/i1/pause");
  // Some clients send this header with every request.
  const resumed = await api.ask("POST /v1/sandboxes/i1/resume", { headers: { "content-type": "application/json" } });
  expect([paused, resumed]).toMatchObject([
    { status: 200, json: { sandbox: { status: "Paused" } } },
    { status: 200, json: { sandbox: { status: "Running" } } },
  ]);
  expect(done).toEqual(["pause i1", "resume i1"]);
});
