import { describe, expect, test } from "vitest";
import { ApiError } from "#kube/api-error.ts";
import { InformerStoppedError } from "#kube/informer/informer.ts";
import { isWaitError } from "#kube/wait/wait-error.ts";
import { ConfigMaps, Secrets } from "#model/core-kinds.ts";
import { Pods } from "#model/pod.ts";
import { SandboxTemplates } from "#model/sandbox-template.ts";
import { CacheBench, names } from "../../test/world/cache-bench.ts";
import { settle } from "../../test/world/stepped-clock.ts";
import { poolValue, readyIdlePods } from "./indexes.ts";
import { isLookupError, LookupError } from "./lookup-error.ts";

const pauseAskedAt = "2026-01-01T10:00:00Z";

function thrown(act: () => unknown): unknown {
  try {
    act();
  } catch (error) {
    return error;
  }
  throw new Error("nothing was thrown");
}

describe("a claimed sandbox", () => {
  test("is found by its id, in its namespace or in all", async () => {
    await using bench = new CacheBench()
      .pod("a", { phase: "running", id: "i1" })
      .pod("b", { phase: "starting", id: "i2", namespace: "other" });
    const cache = await bench.run();
    expect(cache.claimedSandbox({ sandboxId: "i1" }).metadata.name).toBe("a");
    expect(cache.claimedSandbox({ namespace: "", sandboxId: "i2" }).metadata.name).toBe("b");
    expect(cache.claimedSandbox({ namespace: "other", sandboxId: "i2" }).metadata.name).toBe("b");
  });

  test("of another namespace, of nobody, or ended is not found", async () => {
    await using bench = new CacheBench().pod("a", { phase: "running", id: "i1" }).pod("b", { phase: "stopping", id: "i2" }).pod("c");
    const cache = await bench.run();
    for (const query of [{ namespace: "other", sandboxId: "i1" }, { sandboxId: "i2" }, { sandboxId: "i3" }, { sandboxId: "" }]) {
      expect(thrown(() => cache.claimedSandbox(query))).toMatchObject({
        name: "LookupError",
        code: "not-found",
        what: "sandbox",
        id: query.sandboxId,
      });
    }
    expect(names(cache.podsOfSandbox("i2"))).toEqual(["b"]);
  });

  test("whose id two pods carry fails closed", async () => {
    await using bench = new CacheBench()
      .pod("a", { phase: "running", id: "i1" })
      .pod("b", { phase: "starting", id: "i1", namespace: "other" });
    const cache = await bench.run();
    const error = thrown(() => cache.claimedSandbox({ sandboxId: "i1" }));
    expect(isLookupError(error, "ambiguous")).toBe(true);
    expect(error).toMatchObject({ found: ["ns/a", "other/b"], message: 'sandbox "i1" is ambiguous: ns/a and other/b have this id' });
    expect(cache.claimedSandbox({ namespace: "other", sandboxId: "i1" }).metadata.name).toBe("b");
  });

  test("that was resumed elsewhere is not confused with its old pod", async () => {
    await using bench = new CacheBench().pod("old", { phase: "stopping", id: "i1" }).pod("new", { phase: "running", id: "i1" });
    const cache = await bench.run();
    expect(cache.claimedSandbox({ sandboxId: "i1" }).metadata.name).toBe("new");
    expect(names(cache.podsOfSandbox("i1"))).toEqual(["old", "new"]);
  });

  test("follows its pod: claimed, released, recycled", async () => {
    await using bench = new CacheBench().pod("a");
    const cache = await bench.run();
    bench.pod("a", { phase: "running", id: "i1" });
    await settle();
    expect(cache.claimedSandbox({ sandboxId: "i1" }).metadata.name).toBe("a");
    bench.pod("a", { phase: "stopping", id: "i1" });
    bench.pod("a");
    await settle();
    expect(() => cache.claimedSandbox({ sandboxId: "i1" })).toThrow(LookupError);
  });
});

describe("checkpoints and pools", () => {
  test("a checkpoint is found by its id; two of one id fail closed", async () => {
    await using bench = new CacheBench();
    bench.checkpoint("a", { id: "c1" });
    bench.checkpoint("b", { id: "c2" });
    bench.checkpoint("c", { id: "c2", namespace: "other" });
    bench.checkpoint("d");
    const cache = await bench.run();
    expect(cache.checkpoint({ checkpointId: "c1" }).metadata.name).toBe("a");
    expect(cache.checkpoint({ checkpointId: "c2", namespace: "other" }).metadata.name).toBe("c");
    expect(
      isLookupError(
        thrown(() => cache.checkpoint({ checkpointId: "c2" })),
        "ambiguous",
      ),
    ).toBe(true);
    expect(
      isLookupError(
        thrown(() => cache.checkpoint({ checkpointId: "" })),
        "not-found",
      ),
    ).toBe(true);
    expect(isLookupError(new Error("no"))).toBe(false);
  });

  test("a pool is found by its name; the same name in two namespaces needs the namespace", async () => {
    await using bench = new CacheBench().pool("py").pool("go").pool("go", "other");
    const cache = await bench.run();
    expect(cache.pool({ name: "py" }).metadata.namespace).toBe("ns");
    expect(cache.pool({ name: "go", namespace: "other" }).metadata.namespace).toBe("other");
    expect(
      isLookupError(
        thrown(() => cache.pool({ name: "go" })),
        "ambiguous",
      ),
    ).toBe(true);
    expect(thrown(() => cache.pool({ name: "rust" }))).toMatchObject({ code: "not-found", message: 'no pool "rust" in the cache' });
    expect(names(cache.listPools())).toEqual(["py", "go", "go"]);
    expect(names(cache.listPools({ namespace: "other" }))).toEqual(["go"]);
  });
});

describe("lists", () => {
  test("of sandboxes hold claimed pods, by namespace and user", async () => {
    await using bench = new CacheBench()
      .pod("idle")
      .pod("a", { phase: "running", id: "i1", user: "ann" })
      .pod("b", { phase: "starting", id: "i2", user: "bob" })
      .pod("c", { phase: "running", id: "i3", user: "ann", namespace: "other" })
      .pod("d", { phase: "stopping", id: "i4", user: "ann" });
    const cache = await bench.run();
    expect(names(cache.listSandboxes())).toEqual(["a", "b", "c"]);
    expect(names(cache.listSandboxes({ namespace: "ns" }))).toEqual(["a", "b"]);
    expect(names(cache.listSandboxes({ user: "ann" }))).toEqual(["a", "c"]);
    expect(names(cache.listSandboxes({ namespace: "other", user: "ann" }))).toEqual(["c"]);
    expect(names(cache.listSandboxes({ user: "nobody" }))).toEqual([]);
    expect(names(cache.listSandboxes({ namespace: "", user: undefined }))).toEqual(["a", "b", "c"]);
  });

  test("for an empty user are empty, also when something has no user", async () => {
    await using bench = new CacheBench().pod("a", { phase: "running", id: "i1" }).pod("b", { phase: "running", id: "i2", user: "" });
    bench.checkpoint("c");
    bench.checkpoint("d", { user: "" });
    const cache = await bench.run();
    expect([names(cache.listSandboxes({ user: "" })), names(cache.listCheckpoints({ user: "" }))]).toEqual([[], []]);
  });

  test("of checkpoints hold every phase, by namespace and user", async () => {
    await using bench = new CacheBench();
    bench.checkpoint("a", { user: "ann" });
    bench.checkpoint("b", { id: "c2", user: "bob" });
    bench.checkpoint("c", { user: "ann", namespace: "other" });
    const cache = await bench.run();
    expect(names(cache.listCheckpoints())).toEqual(["a", "b", "c"]);
    expect(names(cache.listCheckpoints({ user: "ann" }))).toEqual(["a", "c"]);
    expect(names(cache.listCheckpoints({ user: "ann", namespace: "ns" }))).toEqual(["a"]);
  });

  test("of a pool's pods are by slot, the longest there first", async () => {
    await using bench = new CacheBench()
      .pod("a")
      .pod("b")
      .pod("c", { namespace: "other" })
      .pod("d", { pool: "go" })
      .pod("e", { phase: "running", id: "i1" });
    const cache = await bench.run();
    expect(names(cache.listPodsInPool({ namespace: "ns", pool: "py" }))).toEqual(["a", "b"]);
    expect(names(cache.listPodsInPool({ pool: "py" }))).toEqual(["a", "b", "c"]);
    expect(names(cache.listPodsInPool({ namespace: "ns", pool: "py", slot: "running" }))).toEqual(["e"]);
    bench.pod("a", { phase: "running", id: "i2" });
    bench.pod("b", { metadata: { deletionTimestamp: pauseAskedAt } });
    await settle();
    expect(names(cache.listPodsInPool({ namespace: "ns", pool: "py" }))).toEqual([]);
    expect(names(cache.listPodsInPool({ namespace: "ns", pool: "py", slot: "terminating" }))).toEqual(["b"]);
  });
});

test("an idle pod counts as ready only while it is Ready, the longest ready first", async () => {
  await using bench = new CacheBench().pod("stuck", { ready: false }).pod("a").pod("b");
  const cache = await bench.run();
  const idle = (): string | undefined => names(cache.pods.objects.lookup(readyIdlePods, poolValue({ namespace: "ns", pool: "py" })))[0];
  expect(idle()).toBe("a");
  bench.pod("a", { ready: false });
  await settle();
  expect(idle()).toBe("b");
  bench.pod("a");
  await settle();
  expect(idle()).toBe("b");
  bench.pod("a", { ready: false }).pod("b", { ready: false });
  await settle();
  expect(idle()).toBeUndefined();
  expect(names(cache.listPodsInPool({ namespace: "ns", pool: "py" }))).toEqual(["stuck", "a", "b"]);
});

describe("reads", () => {
  test("never leave the process; what must be fresh is asked of the client", async () => {
    await using bench = new CacheBench().pod("a", { phase: "running", id: "i1", user: "ann" }).pool("py");
    const cache = await bench.run();
    const calls = bench.server.calls.length;
    cache.claimedSandbox({ sandboxId: "i1" });
    cache.pool({ name: "py" });
    names(cache.listSandboxes({ user: "ann" }));
    names(cache.listPodsInPool({ namespace: "ns", pool: "py" }));
    await cache.currentPod({ namespace: "ns", name: "a" });
    expect(bench.server.calls).toHaveLength(calls);
    expect(cache.client).toBe(bench.server);
  });

  test("of a current object ask the server for what the cache does not have", async () => {
    await using bench = new CacheBench();
    const cache = await bench.run();
    bench.server.hold();
    bench.pod("a");
    bench.checkpoint("c");
    expect((await cache.currentPod({ namespace: "ns", name: "a" })).metadata.name).toBe("a");
    expect((await cache.currentCheckpoint({ namespace: "ns", name: "c" })).metadata.name).toBe("c");
    await expect(cache.currentPod({ namespace: "ns", name: "b" })).rejects.toMatchObject({ reason: "NotFound" });
  });
});

describe("the scope", () => {
  test("leaves out pods of no pool, other namespaces and other labels", async () => {
    await using bench = new CacheBench({ namespace: "ns" }).pod("a").pod("b", { namespace: "other" }).pool("py").pool("py", "other");
    bench.server.put(Pods, { metadata: { namespace: "ns", name: "nginx" }, spec: { containers: [] } });
    const cache = await bench.run();
    expect(names(cache.pods.objects.list())).toEqual(["a"]);
    expect(names(cache.listPools())).toEqual(["py"]);
  });

  test("holds secrets and config maps only of a system namespace", async () => {
    await using without = new CacheBench();
    expect(without.cache.system).toBeUndefined();
    await using bench = new CacheBench({ systemNamespace: "agentbox" });
    for (const namespace of ["agentbox", "ns"]) {
      bench.server.put(Secrets, { metadata: { namespace, name: "keys" } });
      bench.server.put(ConfigMaps, { metadata: { namespace, name: "settings" } });
    }
    bench.server.put(SandboxTemplates, { metadata: { name: "base" }, spec: {} });
    const cache = await bench.run();
    expect(names(cache.system?.secrets.objects.list() ?? [])).toEqual(["keys"]);
    expect(names(cache.system?.configMaps.objects.list() ?? [])).toEqual(["settings"]);
    expect(names(cache.templates.objects.list())).toEqual(["base"]);
  });
});

describe("waits", () => {
  test("pause and resume exclude each other from their making; ready and checkpoint hold only while they wait", async () => {
    await using bench = new CacheBench().pod("a", { phase: "running", id: "i1" });
    const checkpoint = bench.checkpoint("a");
    const cache = await bench.run();
    const pod = cache.claimedSandbox({ sandboxId: "i1" });
    using pause = cache.pauseTask(pod);
    expect(
      isWaitError(
        thrown(() => cache.resumeTask(pod)),
        { code: "conflict", existing: "pause", requested: "resume" },
      ),
    ).toBe(true);
    cache.readyTask(pod);
    const taking = cache.checkpointTask(checkpoint).wait({ timeoutMs: 1_000 });
    // The same name, another kind: they do not meet.
    expect(cache.checkpointWaits.held()).toEqual([{ key: "ns/a", action: "checkpoint", holders: 1 }]);
    bench.checkpoint("a", { id: "c1" });
    expect((await taking).status?.checkpointId).toBe("c1");

    bench.pod("a", { phase: "running", id: "i1", pauseWish: pauseAskedAt, paused: {} });
    await pause.wait({ timeoutMs: 1_000 });
    using resume = cache.resumeTask(pod);
    bench.pod("a", { phase: "running", id: "i1" });
    await settle();
    await resume.wait({ timeoutMs: 1_000 });
    expect([cache.sandboxWaits.held(), cache.checkpointWaits.held()]).toEqual([[], []]);
  });

  test("a sandbox becomes ready by an event", async () => {
    await using bench = new CacheBench().pod("a", { phase: "starting", id: "i1", ready: false });
    const cache = await bench.run();
    const wait = cache.readyTask(cache.claimedSandbox({ sandboxId: "i1" })).wait({ timeoutMs: 1_000 });
    bench.pod("a", { phase: "running", id: "i1" });
    expect((await wait).status?.podIP).toBe("10.0.0.7");
  });
});

describe("running", () => {
  test("resolves when all kinds are cached, and the cache is healthy then", async () => {
    await using bench = new CacheBench({ systemNamespace: "agentbox" });
    expect(bench.cache.health()).toMatchObject({
      healthy: false,
      reason: expect.stringMatching(/pods: not synced yet; .*configmaps: not synced yet/),
    });
    await bench.run();
    expect(bench.cache.health()).toEqual({ healthy: true });
    expect(bench.server.watching).toBe(9);
    bench.server.breakWatches(new ApiError("Unreachable", "connection reset"));
    await settle();
    expect(bench.cache.health()).toMatchObject({ healthy: false, reason: expect.stringContaining("pods: 0 s ago: connection reset") });
  });

  test("can be given up, and then nothing goes on", async () => {
    await using bench = new CacheBench();
    bench.server.failNext("list", new ApiError("Forbidden", "no"), 100);
    const abort = new AbortController();
    const running = bench.cache.run(abort.signal);
    await settle();
    abort.abort(new Error("shutting down"));
    await expect(running).rejects.toThrow("shutting down");
    expect([bench.server.watching, bench.clock.pending]).toEqual([0, 0]);
  });

  test("ends with stop, which is safe at any time", async () => {
    const bench = new CacheBench();
    await bench.cache.stop();
    await expect(bench.cache.run()).rejects.toThrow(InformerStoppedError);
    const other = new CacheBench();
    await other.run();
    await Promise.all([other.cache.stop(), other.cache.stop()]);
    expect([other.server.watching, other.clock.pending]).toEqual([0, 0]);
  });
});
