import { expect, test } from "vitest";
import { ConfigMaps } from "#model/core-kinds.ts";
import { Pods } from "#model/pod.ts";
import { SandboxPools } from "#model/sandbox-pool.ts";
import { aConfigMap, aPod, gone, names, refusal, Watching } from "./helpers.ts";
import { aPool } from "./own-kinds.ts";
import { describeServers } from "./servers.ts";

const label = (value: string) => ({ type: "merge", body: { metadata: { labels: { color: value } } } }) as const;

describeServers("watching", (server) => {
  test("a watch from a list's version shows every change after it, in order", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    await client.create(ConfigMaps, aConfigMap(namespace, "before"));
    const { resourceVersion } = await client.list(ConfigMaps, { namespace });
    await using watching = new Watching(client, ConfigMaps, { namespace, resourceVersion });
    await client.create(ConfigMaps, aConfigMap(namespace, "x"));
    await client.patch(ConfigMaps, { namespace, name: "x" }, label("red"));
    await client.delete(ConfigMaps, { namespace, name: "x" });
    expect(await watching.take(3)).toEqual(["ADDED x", "MODIFIED x", "DELETED x"]);
  });

  test("changes made before the watch opened but after its version are not missed", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const { resourceVersion } = await client.list(ConfigMaps, { namespace });
    for (const name of ["a", "b", "c"]) await client.create(ConfigMaps, aConfigMap(namespace, name));
    await using watching = new Watching(client, ConfigMaps, { namespace, resourceVersion });
    expect(await watching.take(3)).toEqual(["ADDED a", "ADDED b", "ADDED c"]);
  });

  test("a watch without a version first shows what is there", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    for (const name of ["a", "b"]) await client.create(ConfigMaps, aConfigMap(namespace, name));
    await using watching = new Watching(client, ConfigMaps, { namespace, fieldSelector: "metadata.name!=kube-root-ca.crt" });
    expect((await watching.take(2)).sort()).toEqual(["ADDED a", "ADDED b"]);
    await client.create(ConfigMaps, aConfigMap(namespace, "c"));
    expect(await watching.take(1)).toEqual(["ADDED c"]);
  });

  test("an event carries the object as it was written, with its version", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const { resourceVersion } = await client.list(SandboxPools, { namespace });
    await using watching = new Watching(client, SandboxPools, { namespace, resourceVersion });
    const made = await client.create(SandboxPools, aPool(namespace, "seen"));
    const event = await watching.next();
    expect(event.object).toEqual(made);
    expect(Object.isFrozen(event.object.spec)).toBe(true);
  });

  test("versions in a watch only grow", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const { resourceVersion } = await client.list(ConfigMaps, { namespace });
    await using watching = new Watching(client, ConfigMaps, { namespace, resourceVersion });
    await Promise.all(Array.from({ length: 20 }, (_, i) => client.create(ConfigMaps, aConfigMap(namespace, `n${i}`))));
    let last = Number(resourceVersion);
    for (let i = 0; i < 20; i++) {
      const version = Number((await watching.next()).object.metadata.resourceVersion);
      expect(version).toBeGreaterThan(last);
      last = version;
    }
  });

  test("a DELETED event carries the last state under a newer version", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const made = await client.create(ConfigMaps, aConfigMap(namespace, "last"));
    await using watching = new Watching(client, ConfigMaps, { namespace, resourceVersion: made.metadata.resourceVersion });
    await client.delete(ConfigMaps, { namespace, name: "last" });
    const event = await watching.next();
    expect(event.type).toBe("DELETED");
    expect(event.object.data).toEqual(made.data);
    expect(Number(event.object.metadata.resourceVersion)).toBeGreaterThan(Number(made.metadata.resourceVersion));
  });

  test("a watch sees only its namespace", async () => {
    const { client } = server();
    const [here, there] = [await server().namespace(), await server().namespace()];
    const { resourceVersion } = await client.list(SandboxPools, { namespace: here });
    await using watching = new Watching(client, SandboxPools, { namespace: here, resourceVersion });
    await client.create(SandboxPools, aPool(there, "elsewhere"));
    await client.create(SandboxPools, aPool(here, "mine"));
    expect(await watching.take(1)).toEqual(["ADDED mine"]);
  });

  test("a watch over all namespaces sees all", async () => {
    const { client } = server();
    const [here, there] = [await server().namespace(), await server().namespace()];
    const { resourceVersion } = await client.list(SandboxPools);
    await using watching = new Watching(client, SandboxPools, { resourceVersion, labelSelector: "across" });
    for (const namespace of [here, there]) {
      const pool = aPool(namespace, "both");
      await client.create(SandboxPools, { ...pool, metadata: { ...pool.metadata, labels: { across: "yes" } } });
    }
    expect(await watching.take(2)).toEqual(["ADDED both", "ADDED both"]);
  });

  test("a watch sees only its kind", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const { resourceVersion } = await client.list(SandboxPools, { namespace });
    await using watching = new Watching(client, SandboxPools, { namespace, resourceVersion });
    await client.create(ConfigMaps, aConfigMap(namespace, "other-kind"));
    await client.create(SandboxPools, aPool(namespace, "pool"));
    expect(await watching.take(1)).toEqual(["ADDED pool"]);
  });

  test("an object that starts to match a selector is ADDED, one that stops is DELETED as it last matched", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    await client.create(ConfigMaps, aConfigMap(namespace, "chameleon"));
    const { resourceVersion } = await client.list(ConfigMaps, { namespace });
    await using watching = new Watching(client, ConfigMaps, { namespace, resourceVersion, labelSelector: "color=red" });
    const key = { namespace, name: "chameleon" };
    await client.patch(ConfigMaps, key, label("blue"));
    await client.patch(ConfigMaps, key, label("red"));
    await client.patch(ConfigMaps, key, { type: "merge", body: { data: { greeting: "red" } } });
    const left = await client.patch(ConfigMaps, key, label("green"));
    await client.patch(ConfigMaps, key, label("red"));
    expect((await watching.next()).type).toBe("ADDED");
    expect((await watching.next()).type).toBe("MODIFIED");
    const removed = await watching.next();
    expect(removed.type).toBe("DELETED");
    expect(removed.object.metadata.labels).toEqual({ color: "red" });
    expect(removed.object.metadata.resourceVersion).toBe(left.metadata.resourceVersion);
    expect((await watching.next()).type).toBe("ADDED");
  });

  test("a watch with a field selector follows the field", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const { resourceVersion } = await client.list(Pods, { namespace });
    await using watching = new Watching(client, Pods, { namespace, resourceVersion, fieldSelector: "status.phase=Running" });
    const pod = await client.create(Pods, aPod(namespace, "p", { spec: { nodeName: "n" } }));
    const running = await client.update(Pods, { ...pod, status: { ...pod.status, phase: "Running" } }, { subresource: "status" });
    await client.update(Pods, { ...running, status: { ...running.status, phase: "Failed" } }, { subresource: "status" });
    expect(await watching.take(2)).toEqual(["ADDED p", "DELETED p"]);
  });

  test("a write that changes nothing sends no event", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const made = await client.create(ConfigMaps, aConfigMap(namespace, "same"));
    await using watching = new Watching(client, ConfigMaps, { namespace, resourceVersion: made.metadata.resourceVersion });
    await client.update(ConfigMaps, made);
    await client.patch(ConfigMaps, { namespace, name: "same" }, { type: "merge", body: {} });
    await client.create(ConfigMaps, aConfigMap(namespace, "after"));
    expect(await watching.take(1)).toEqual(["ADDED after"]);
  });

  test("a watch goes on where another one stopped, without a gap and without a repeat", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    let { resourceVersion } = await client.list(ConfigMaps, { namespace });
    const seen: string[] = [];
    for (let round = 0; round < 5; round++) {
      await client.create(ConfigMaps, aConfigMap(namespace, `a${round}`));
      await client.create(ConfigMaps, aConfigMap(namespace, `b${round}`));
      await using watching = new Watching(client, ConfigMaps, { namespace, resourceVersion });
      // One of the two is left for the next watch.
      const event = await watching.next();
      seen.push(event.object.metadata.name ?? "");
      resourceVersion = event.object.metadata.resourceVersion ?? "";
    }
    expect(seen).toEqual(["a0", "b0", "a1", "b1", "a2"]);
  });

  test("a watch ends by itself after timeoutSeconds", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const { resourceVersion } = await client.list(ConfigMaps, { namespace });
    await using watching = new Watching(client, ConfigMaps, { namespace, resourceVersion, timeoutSeconds: 1 });
    await client.create(ConfigMaps, aConfigMap(namespace, "one"));
    const events = await watching.rest();
    expect(events.map((event) => event.type)).toEqual(["ADDED"]);
  });

  test("a bookmark is a version that can be resumed from", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    await client.create(ConfigMaps, aConfigMap(namespace, "one"));
    await using watching = new Watching(client, ConfigMaps, { namespace, timeoutSeconds: 4, bookmarks: true });
    const events = await watching.rest();
    const bookmark = events.at(-1);
    if (bookmark?.type !== "BOOKMARK") throw new Error(`the last event is ${bookmark?.type}`);
    await using resumed = new Watching(client, ConfigMaps, { namespace, resourceVersion: bookmark.resourceVersion });
    await client.create(ConfigMaps, aConfigMap(namespace, "two"));
    expect(await resumed.take(1)).toEqual(["ADDED two"]);
  });

  test("a watch that does not ask for bookmarks gets none", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    await client.create(ConfigMaps, aConfigMap(namespace, "one"));
    await using watching = new Watching(client, ConfigMaps, { namespace, timeoutSeconds: 2 });
    expect((await watching.rest()).map((event) => event.type)).toEqual(["ADDED"]);
  });

  test("a version that is no number is refused", async () => {
    const namespace = await server().namespace();
    await using watching = new Watching(server().client, ConfigMaps, { namespace, resourceVersion: "yesterday" });
    await refusal(watching.next());
  });

  test("an aborted watch ends with the caller's reason", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const abort = new AbortController();
    const events = client.watch(ConfigMaps, { namespace, resourceVersion: "0", signal: abort.signal })[Symbol.asyncIterator]();
    const waiting = (async () => {
      for (;;) if ((await events.next()).done === true) return "ended";
    })();
    abort.abort(new Error("seen enough"));
    await expect(waiting).rejects.toThrow("seen enough");
  });

  test("ten watchers all see the same thing", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const { resourceVersion } = await client.list(ConfigMaps, { namespace });
    const watchers = Array.from({ length: 10 }, () => new Watching(client, ConfigMaps, { namespace, resourceVersion }));
    for (let i = 0; i < 20; i++) await client.create(ConfigMaps, aConfigMap(namespace, `n${i}`));
    const seen = await Promise.all(watchers.map((watching) => watching.take(20)));
    for (const one of seen) expect(one).toEqual(seen[0]);
    await Promise.all(watchers.map((watching) => watching[Symbol.asyncDispose]()));
  });

  test("a watcher that reads late misses nothing", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    const { resourceVersion } = await client.list(ConfigMaps, { namespace });
    await using watching = new Watching(client, ConfigMaps, { namespace, resourceVersion });
    await client.create(ConfigMaps, aConfigMap(namespace, "start"));
    await watching.take(1);
    const wanted: string[] = [];
    for (let i = 0; i < 150; i++) wanted.push(`ADDED ${(await client.create(ConfigMaps, aConfigMap(namespace, `n${i}`))).metadata.name}`);
    expect(await watching.take(150)).toEqual(wanted);
  });

  test("a list and the watch from it add up to the present", async () => {
    const { client } = server();
    const namespace = await server().namespace();
    for (const name of ["a", "b", "c"]) await client.create(SandboxPools, aPool(namespace, name));
    const list = await client.list(SandboxPools, { namespace });
    await using watching = new Watching(client, SandboxPools, { namespace, resourceVersion: list.resourceVersion });
    await client.delete(SandboxPools, { namespace, name: "b" });
    await client.create(SandboxPools, aPool(namespace, "d"));
    await gone(client, SandboxPools, { namespace, name: "b" });
    const known = new Set(names(list.items).map(String));
    for (const event of [await watching.next(), await watching.next()]) {
      if (event.type === "DELETED") known.delete(String(event.object.metadata.name));
      else known.add(String(event.object.metadata.name));
    }
    expect([...known].sort()).toEqual(names((await client.list(SandboxPools, { namespace })).items));
  });
});
