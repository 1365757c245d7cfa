/** Claims that stand on Leases (ADR 54), as the cache shows them. */
import { expect, test } from "vitest";
import { ApiError } from "#kube/api-error.ts";
import { isClaimElsewhere } from "#model/shown-pod.ts";
import { sandboxIdOf, sandboxPhaseOf } from "#model/claimed-pod.ts";
import { Leases } from "#model/core-kinds.ts";
import { labelKeys } from "#model/keys.ts";
import { Pods } from "#model/pod.ts";
import { asClaimsOnLeases, claimBook } from "../../test/world/claim-books.ts";
import { CacheBench, inUse, names } from "../../test/world/cache-bench.ts";
import { settle } from "../../test/world/stepped-clock.ts";

const onLeases = { claims: claimBook(true) };
const keyA = { namespace: "ns", name: "a" };

test("claims are shown on their pods, wherever pods are looked for", async () => {
  await using bench = new CacheBench(onLeases).pod("a", inUse(0)).pod("b", inUse(0));
  const cache = await bench.run();
  const told: (string | undefined)[] = [];
  cache.pods.onChange((now, before) => before && told.push(now && sandboxIdOf(now)));
  bench.lease("a", "i1");
  await settle();
  expect(names(cache.listSandboxes({ user: "ann" }))).toEqual(["a"]);
  expect(cache.claimedSandbox({ sandboxId: "i1" }).metadata.name).toBe("a");
  expect(names(cache.listPodsInPool({ namespace: "ns", pool: "py" }))).toEqual(["b"]);
  expect(names(cache.listPodsInPool({ namespace: "ns", pool: "py", slot: "running" }))).toEqual(["a"]);
  expect(names(cache.listPodsInPool({ namespace: "ns", pool: "py" }))[0]).toBe("b");
  expect(told).toEqual(["i1"]);
});

test("claims that are known before their pods are shown with the first sight of these", async () => {
  await using bench = new CacheBench(onLeases).lease("a", "i1");
  const cache = await bench.run();
  const seen: (string | undefined)[] = [];
  cache.pods.onChange((now) => seen.push(now && sandboxPhaseOf(now)));
  bench.pod("a", inUse(0));
  await settle();
  bench.pod("a", { ...inUse(0), status: { podIP: "10.0.0.8" } });
  await settle();
  expect(seen).toEqual(["running", "running"]);
  expect(isClaimElsewhere(cache.claimedSandbox({ sandboxId: "i1" }))).toBe(true);
});

test("claims are listed before the pods: nobody who starts takes a claimed pod for a free one", async () => {
  await using bench = new CacheBench(onLeases).pod("a", inUse(0)).lease("a", "i1");
  bench.server.failNext("list", new ApiError("Unreachable", "connection reset"));
  const seen: (string | undefined)[] = [];
  bench.cache.pods.onChange((now) => seen.push(now && sandboxPhaseOf(now)));
  const running = bench.cache.run();
  await settle();
  expect([...new Set(bench.server.calls.map(({ resource }) => resource))]).toEqual(["leases.coordination.k8s.io"]);
  await bench.clock.step(60_000);
  await running;
  expect(seen).toEqual(["running"]);
});

test("claims end with the write of the pod that takes them along, and are not taken for those of its next use", async () => {
  await using bench = new CacheBench(onLeases).pod("a", inUse(0)).lease("a", "i1");
  const cache = await bench.run();
  bench.pod("a", { phase: "running", id: "i1", ...inUse(0) });
  await settle();
  expect(isClaimElsewhere(cache.claimedSandbox({ sandboxId: "i1" }))).toBe(false);
  bench.pod("a", { phase: "stopping", id: "i1", ...inUse(0) });
  bench.pod("a", inUse(1));
  await settle();
  expect(names(cache.listPodsInPool({ namespace: "ns", pool: "py" }))[0]).toBe("a");
  bench.lease("a", "i2", 1);
  await settle();
  expect(names(cache.podsOfSandbox("i2"))).toEqual(["a"]);
  expect(names(cache.podsOfSandbox("i1"))).toEqual([]);
});

test("claims whose Lease goes before its pod do not make that look free, whatever is heard of it then", async () => {
  await using bench = new CacheBench(onLeases).pod("a", inUse(0)).pod("b", inUse(0)).lease("a", "i1").lease("b", "i2");
  const cache = await bench.run();
  bench.server.remove(Leases, keyA);
  bench.server.remove(Leases, { namespace: "ns", name: "b" });
  await settle();
  expect(names(cache.listSandboxes())).toEqual(["a", "b"]);
  bench
    .pod("a", { ...inUse(0), metadata: { deletionTimestamp: "2026-01-01T10:00:00Z" } })
    .pod("b", { ...inUse(0), status: { podIP: "10.0.0.8" } });
  await settle();
  expect(names(cache.listSandboxes())).toEqual(["a", "b"]);
  // A pod of the same name, or its next use, is not theirs.
  bench.server.remove(Pods, keyA);
  bench.pod("a", { ...inUse(0), metadata: { uid: "uid-2" } });
  bench.pod("b", { phase: "stopping", id: "i2", ...inUse(0) }).pod("b", inUse(1));
  await settle();
  expect(names(cache.listSandboxes())).toEqual([]);
  expect(names(cache.listPodsInPool({ namespace: "ns", pool: "py" }))).toEqual(["a", "b"]);
});

test("claims are read with the pod by the server's word, and known from then on", async () => {
  await using bench = new CacheBench(onLeases).pod("a", inUse(0));
  const cache = await bench.run();
  bench.server.hold();
  bench.pod("a", { ...inUse(0), status: { podIP: "10.0.0.8" } }).lease("a", "i1");
  const read = await cache.readPod(bench.server, keyA);
  expect([sandboxIdOf(read), sandboxPhaseOf(read), read.status?.podIP]).toEqual(["i1", "running", "10.0.0.8"]);
  expect(cache.claimedSandbox({ sandboxId: "i1" }).status?.podIP).toBe("10.0.0.8");
  expect((await asClaimsOnLeases(cache.claims).readLease(bench.server, keyA))?.spec?.holderIdentity).toBe("i1");
  await expect(cache.readPod(bench.server, { namespace: "ns", name: "b" })).rejects.toMatchObject({ reason: "NotFound" });
});

test("claims are asked for of idle pods only; one without any is read as it is", async () => {
  await using bench = new CacheBench(onLeases).pod("a", inUse(0)).pod("b", { phase: "running", id: "i2" });
  const cache = await bench.run();
  const asked = async (name: string): Promise<string[]> => {
    const before = bench.server.calls.length;
    const read = await cache.readPod(bench.server, { namespace: "ns", name });
    expect(read).toBe(bench.server.all(Pods).find((pod) => pod.metadata.name === name));
    return bench.server.calls.slice(before).map(({ verb, resource }) => `${verb} ${resource}`);
  };
  expect(await asked("a")).toEqual(["get pods", "get leases.coordination.k8s.io"]);
  expect(await asked("b")).toEqual(["get pods"]);
  bench.server.failNext("get", new ApiError("Unreachable", "connection reset"));
  await expect(asClaimsOnLeases(cache.claims).readLease(bench.server, keyA)).rejects.toMatchObject({ reason: "Unreachable" });
});

test.each([
  ["a pod that is known as idle", (bench: CacheBench) => bench.pod("a", inUse(1))],
  ["a pod that nobody has heard of", (bench: CacheBench) => bench],
  ["a pod that is known from an earlier use", (bench: CacheBench) => bench.pod("a", { phase: "stopping", id: "i0", ...inUse(0) })],
])("claims of %s are found by the sandbox, whatever the watches have told", async (_, known) => {
  await using bench = known(new CacheBench(onLeases));
  const cache = await bench.run();
  bench.server.hold();
  bench
    .pod("a", { ...inUse(1), status: { podIP: "10.0.0.8" } })
    .pod("b", inUse(0))
    .lease("a", "i1", 1);
  await cache.refreshSandbox(bench.server, "i1");
  expect(names(cache.podsOfSandbox("i1"))).toEqual(["a"]);
  expect(sandboxPhaseOf(cache.claimedSandbox({ sandboxId: "i1" }))).toBe("running");
  await cache.refreshSandbox(bench.server, "i2");
  expect(names(cache.podsOfSandbox("i2"))).toEqual([]);
});

test("claims are told of by what one waits for", async () => {
  await using bench = new CacheBench(onLeases).pod("a", inUse(0));
  const cache = await bench.run();
  bench.lease("a", "i1");
  const pod = await cache.readPod(bench.server, keyA);
  expect((await cache.readyTask(pod).wait({ timeoutMs: 1_000 })).metadata.labels?.[labelKeys.sandboxId]).toBe("i1");
});

test("claims are of pools: Leases of others are not held, nor any where claims stand on pods", async () => {
  await using bench = new CacheBench(onLeases).pod("a", inUse(0)).lease("a", "i1");
  bench.server.put(Leases, { metadata: { namespace: "ns", name: "agentbox-controllers" }, spec: { holderIdentity: "me" } });
  const [leases] = asClaimsOnLeases((await bench.run()).claims).followed;
  expect(names(leases.objects.list())).toEqual(["a"]);
  await using other = new CacheBench().pod("a", inUse(0)).lease("a", "i1");
  const cache = await other.run();
  expect([cache.claims.followed, names(cache.podsOfSandbox("i1"))]).toEqual([[], []]);
  await cache.readPod(other.server, keyA);
  await cache.refreshSandbox(other.server, "i1");
  expect(other.server.calls.filter(({ resource }) => resource.startsWith("leases"))).toEqual([]);
  expect(names(cache.podsOfSandbox("i1"))).toEqual([]);
});
