import { describe, expect, onTestFinished, test } from "vitest";
import type { WatchEvent } from "#kube/object-client.ts";
import { type Clock, systemClock } from "#lib/clock.ts";
import { ConfigMaps, Leases, Namespaces, type ConfigMap } from "#model/core-kinds.ts";
import { eventually } from "../../../test/world/eventually.ts";
import { answerJson, answerStatus, startFakeApiServer, type Answer, type FakeApiServer } from "../../../test/world/fake-api-server.ts";
import { kubernetesClient, type ClientSettings, type KubernetesClient } from "./client.ts";

async function bench(
  answer: Answer,
  settings: ClientSettings = {},
): Promise<{ readonly server: FakeApiServer; readonly client: KubernetesClient }> {
  const server = await startFakeApiServer(answer);
  const client = await kubernetesClient({ url: server.url, token: "t", ...settings });
  onTestFinished(async () => {
    await client.close();
    await server[Symbol.asyncDispose]();
  });
  return { server, client };
}

const key = { namespace: "ns", name: "a" };
const stored = { kind: "ConfigMap", apiVersion: "v1", metadata: { ...key, resourceVersion: "5" } };

interface MethodCase {
  readonly method: string;
  readonly call: (client: KubernetesClient) => Promise<unknown>;
  /** The request line that it makes. */
  readonly line: string;
  readonly contentType?: string;
  readonly body?: unknown;
}

describe("each method is one request of the API", () => {
  const path = "/api/v1/namespaces/ns/configmaps";
  const everyWriteOption = { dryRun: true, fieldValidation: "Strict", fieldManager: "me" } as const;
  const writeQuery = "?dryRun=All&fieldValidation=Strict&fieldManager=me";
  const object: ConfigMap = { metadata: key, data: { k: "v" } };
  const sentObject = { contentType: "application/json", body: { apiVersion: "v1", kind: "ConfigMap", metadata: key, data: { k: "v" } } };
  const scale = { metadata: key, spec: { replicas: 3 } };
  const cases: readonly MethodCase[] = [
    { method: "get", call: (client) => client.get(ConfigMaps, key), line: `GET ${path}/a` },
    { method: "get, cluster-scoped", call: (client) => client.get(Namespaces, { name: "a" }), line: "GET /api/v1/namespaces/a" },
    { method: "list", call: (client) => client.list(ConfigMaps), line: "GET /api/v1/configmaps" },
    {
      method: "list with every option",
      call: (client) =>
        client.list(Leases, { namespace: "ns", labelSelector: "a=b", fieldSelector: "metadata.name=x", limit: 2, continue: "c" }),
      line: "GET /apis/coordination.k8s.io/v1/namespaces/ns/leases?labelSelector=a%3Db&fieldSelector=metadata.name%3Dx&limit=2&continue=c",
    },
    {
      method: "create",
      call: (client) => client.create(ConfigMaps, object, everyWriteOption),
      line: `POST ${path}${writeQuery}`,
      ...sentObject,
    },
    { method: "update", call: (client) => client.update(ConfigMaps, object), line: `PUT ${path}/a`, ...sentObject },
    {
      method: "update of the status",
      call: (client) => client.update(ConfigMaps, object, { subresource: "status" }),
      line: `PUT ${path}/a/status`,
      ...sentObject,
    },
    {
      method: "merge patch",
      call: (client) => client.patch(ConfigMaps, key, { type: "merge", body: { data: null } }, everyWriteOption),
      line: `PATCH ${path}/a${writeQuery}`,
      contentType: "application/merge-patch+json",
      body: { data: null },
    },
    {
      method: "JSON patch of the status",
      call: (client) =>
        client.patch(ConfigMaps, key, { type: "json", operations: [{ op: "remove", path: "/x" }] }, { subresource: "status" }),
      line: `PATCH ${path}/a/status`,
      contentType: "application/json-patch+json",
      body: [{ op: "remove", path: "/x" }],
    },
    {
      method: "delete",
      call: (client) => client.delete(ConfigMaps, key),
      line: `DELETE ${path}/a`,
      contentType: "application/json",
      body: { apiVersion: "v1", kind: "DeleteOptions" },
    },
    {
      method: "delete with every option",
      call: (client) =>
        client.delete(ConfigMaps, key, {
          preconditions: { uid: "u", resourceVersion: "5" },
          propagationPolicy: "Foreground",
          gracePeriodSeconds: 0,
          dryRun: true,
        }),
      line: `DELETE ${path}/a`,
      contentType: "application/json",
      body: {
        apiVersion: "v1",
        kind: "DeleteOptions",
        preconditions: { uid: "u", resourceVersion: "5" },
        propagationPolicy: "Foreground",
        gracePeriodSeconds: 0,
        dryRun: ["All"],
      },
    },
    { method: "getScale", call: (client) => client.getScale(ConfigMaps, key), line: `GET ${path}/a/scale` },
    {
      method: "updateScale",
      call: (client) => client.updateScale(ConfigMaps, key, scale),
      line: `PUT ${path}/a/scale`,
      contentType: "application/json",
      body: { apiVersion: "autoscaling/v1", kind: "Scale", ...scale },
    },
    {
      method: "patchScale",
      call: (client) => client.patchScale(ConfigMaps, key, { type: "merge", body: { spec: { replicas: 1 } } }, { dryRun: true }),
      line: `PATCH ${path}/a/scale?dryRun=All`,
      contentType: "application/merge-patch+json",
      body: { spec: { replicas: 1 } },
    },
  ];
  test.each(cases)("$method", async ({ call, line, contentType, body }) => {
    const { server, client } = await bench((_, response) => answerJson(response, 200, stored));
    await call(client);
    const [request] = server.requests;
    expect(`${request?.method} ${request?.path}`).toBe(line);
    expect(request?.headers["content-type"]).toBe(contentType);
    expect(request?.body === "" ? undefined : JSON.parse(request?.body ?? "")).toEqual(body);
  });

  test("and what cannot be addressed is refused without one", async () => {
    const { server, client } = await bench((_, response) => answerJson(response, 200, stored));
    await expect(client.update(ConfigMaps, { metadata: { namespace: "ns" } })).rejects.toMatchObject({ reason: "BadRequest" });
    await expect(client.create(ConfigMaps, { metadata: { name: "a" } })).rejects.toMatchObject({ reason: "BadRequest" });
    expect(server.requests).toHaveLength(0);
  });
});

test("what comes back is frozen and without managedFields", async () => {
  const { client } = await bench((_, response) =>
    answerJson(response, 200, { ...stored, metadata: { ...stored.metadata, managedFields: [{}] } }),
  );
  const object = await client.get(ConfigMaps, key);
  expect(object).toEqual(stored);
  expect(Object.isFrozen(object.metadata)).toBe(true);
});

test("an answer that is not JSON fails although it says 200", async () => {
  const { client } = await bench((_, response) => response.end("<html>Sign in</html>"));
  await expect(client.get(ConfigMaps, key)).rejects.toMatchObject({
    reason: "Unknown",
    message: expect.stringContaining("not JSON: <html>"),
  });
});

function event(type: string, name: string): string {
  return `${JSON.stringify({ type, object: { ...stored, metadata: { name } } })}\n`;
}

function nameOf(seen: WatchEvent<ConfigMap>): string {
  return seen.type === "BOOKMARK" ? `at ${seen.resourceVersion}` : `${seen.type} ${seen.object.metadata.name}`;
}

async function collect(watch: AsyncIterable<WatchEvent<ConfigMap>>, into: string[] = []): Promise<string[]> {
  for await (const seen of watch) into.push(nameOf(seen));
  return into;
}

describe("a watch", () => {
  test("asks with all its options", async () => {
    const { server, client } = await bench((_, response) => response.end());
    await collect(
      client.watch(ConfigMaps, {
        namespace: "ns",
        labelSelector: "a",
        fieldSelector: "b=c",
        resourceVersion: "7",
        bookmarks: true,
        timeoutSeconds: 9,
      }),
    );
    await collect(client.watch(ConfigMaps, { bookmarks: false }));
    expect(server.requests.map((request) => request.path)).toEqual([
      "/api/v1/namespaces/ns/configmaps?watch=true&labelSelector=a&fieldSelector=b%3Dc&resourceVersion=7&allowWatchBookmarks=true&timeoutSeconds=9",
      "/api/v1/configmaps?watch=true",
    ]);
  });

  test("gives events however they are cut, and ends when the server ends it", async () => {
    const bytes = Buffer.from(
      event("ADDED", "ä🙂") +
        event("MODIFIED", "b") +
        '{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9"}}}\n' +
        event("DELETED", "ä🙂"),
    );
    const { client } = await bench((_, response) => {
      const write = (from: number): void => {
        if (from >= bytes.length) response.end();
        else response.write(bytes.subarray(from, from + 7), () => setImmediate(write, from + 7));
      };
      write(0);
    });
    await expect(collect(client.watch(ConfigMaps))).resolves.toEqual(["ADDED ä🙂", "MODIFIED b", "at 9", "DELETED ä🙂"]);
  });

  test("that is too old throws Expired, be it at once or in the stream", async () => {
    const status = { kind: "Status", code: 410, reason: "Expired", message: "too old" };
    const { client } = await bench((_, response, turn) => {
      if (turn === 0) answerStatus(response, 410, "Expired");
      else response.end(`${event("ADDED", "a")}${JSON.stringify({ type: "ERROR", object: status })}\n`);
    });
    await expect(collect(client.watch(ConfigMaps))).rejects.toMatchObject({ reason: "Expired" });
    const seen: string[] = [];
    await expect(collect(client.watch(ConfigMaps), seen)).rejects.toMatchObject({ reason: "Expired", message: "too old" });
    expect(seen).toEqual(["ADDED a"]);
  });

  test("that is torn gives what it got and then throws Unreachable", async () => {
    const { client } = await bench((_, response, turn) => {
      if (turn === 0) response.write(event("ADDED", "a"), () => response.destroy());
      else response.end(event("ADDED", "b") + '{"type":"ADD');
    });
    const seen: string[] = [];
    await expect(collect(client.watch(ConfigMaps), seen)).rejects.toMatchObject({ reason: "Unreachable" });
    await expect(collect(client.watch(ConfigMaps), seen)).rejects.toMatchObject({
      reason: "Unreachable",
      message: "the watch of configmaps was cut in the middle of an event",
    });
    expect(seen).toEqual(["ADDED a", "ADDED b"]);
  });

  test("ends with the caller's reason as soon as it aborts, and hangs up", async () => {
    const { server, client } = await bench((_, response) => response.write(event("ADDED", "a") + event("ADDED", "b")));
    const abort = new AbortController();
    const seen: string[] = [];
    const watching = collect(client.watch(ConfigMaps, { signal: abort.signal }), seen).catch((error: unknown) => error);
    await eventually(() => expect(seen).toHaveLength(2));
    const reason = new Error("enough");
    abort.abort(reason);
    expect(await watching).toBe(reason);
    await eventually(() => expect(server.openConnections()).toBe(0));
  });

  test("hands out nothing more after an abort, even if it has more", async () => {
    const { client } = await bench((_, response) => response.write(event("ADDED", "a") + event("ADDED", "b")));
    const abort = new AbortController();
    const watch = client.watch(ConfigMaps, { signal: abort.signal })[Symbol.asyncIterator]();
    await watch.next();
    abort.abort(new Error("enough"));
    await expect(watch.next()).rejects.toThrow("enough");
  });

  test("hangs up when its reader leaves the loop", async () => {
    const { server, client } = await bench((_, response) => response.write(event("ADDED", "a")));
    for await (const seen of client.watch(ConfigMaps)) {
      expect(nameOf(seen)).toBe("ADDED a");
      break;
    }
    await eventually(() => expect(server.openConnections()).toBe(0));
  });

  test("with a slow reader holds the server back instead of piling up events", async () => {
    const padding = "x".repeat(10_000);
    let written = 0;
    let held = false;
    const { client } = await bench((_, response) => {
      const write = (): void => {
        held = false;
        while (!response.destroyed) {
          written += padding.length;
          if (response.write(event("ADDED", padding))) continue;
          held = true;
          response.once("drain", write);
          return;
        }
      };
      write();
    });
    const watch = client.watch(ConfigMaps)[Symbol.asyncIterator]();
    await watch.next();
    let before = -1;
    let unchanged = 0;
    await eventually(() => {
      unchanged = held && written === before ? unchanged + 1 : 0;
      before = written;
      expect(unchanged).toBeGreaterThan(40);
    });
    // Kernel buffers take some megabytes; without back-pressure the server would never have stopped.
    expect(written).toBeLessThan(30_000_000);
    for (let turn = 0; turn < 2000; turn++) await watch.next();
    await eventually(() => expect(written).toBeGreaterThan(before));
    await watch.return?.();
  });
});

test("a client that stays warm opens its connections by itself, and asks over those that it has", async () => {
  const quick: Clock = { now: () => Date.now(), after: (ms, run) => systemClock.after(ms / 100, run) };
  const { server, client } = await bench((_, response) => answerJson(response, 200, stored), {
    staysWarm: true,
    connections: 3,
    clock: quick,
  });
  await eventually(() => expect(server.openConnections()).toBe(3));
  await Promise.all([1, 2, 3].map(() => client.get(ConfigMaps, key)));
  expect(server.connectionsMade()).toBe(3);
});
