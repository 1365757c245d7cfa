import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ConfigMaps, Namespaces } from "#model/core-kinds.ts";
import { Pods } from "#model/pod.ts";
import { Pools, bareKinds } from "../../../../test/world/bare-kinds.ts";
import {
  aMap,
  aPod,
  aPool,
  backgroundDone,
  everything,
  openTestStore,
  ownedBy,
  refusal,
  type TestStore,
  Watching,
} from "../../../../test/world/bare-store.ts";

const at = (name: string) => ({ namespace: "default", name });
const label = (color: string) => ({ type: "merge", body: { metadata: { labels: { color } } } }) as const;

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "agentbox-store-"));
  file = join(folder, "objects.db");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Closes the store and opens it again on the same file. */
function restarted(store: TestStore, options: Parameters<typeof openTestStore>[0] = {}): TestStore {
  const { clock } = store;
  store.close();
  return openTestStore({ file, clock, ...options });
}

describe("a restart", () => {
  test("keeps every object as it was, and the version", async () => {
    using first = openTestStore({ file });
    await first.create(ConfigMaps, aMap("a"));
    await first.create(ConfigMaps, aMap("gone"));
    await first.patch(ConfigMaps, at("a"), label("red"));
    await first.create(Pods, aPod("p", { spec: { nodeName: "n", terminationGracePeriodSeconds: 30 } }));
    await first.delete(Pods, at("p"));
    await first.delete(ConfigMaps, at("gone"));
    const [before, stats] = [await everything(first), first.stats()];
    using second = restarted(first);
    expect(second.stats()).toEqual(stats);
    const after = await everything(second);
    expect(after).toEqual(before);
    expect(Object.isFrozen(after[0]?.metadata)).toBe(true);
    expect(await second.get(ConfigMaps, at("a"))).toBe(await second.get(ConfigMaps, at("a")));
    const next = await second.create(ConfigMaps, aMap("next"));
    expect(Number(next.metadata.resourceVersion)).toBe(stats.newestRevision + 1);
  });

  test("lets a watch go on from any version it has seen, without a gap", async () => {
    const options = { file, tailEvents: 3 };
    let store = openTestStore(options);
    const start = store.stats().newestRevision;
    const written: string[] = [];
    for (let i = 0; i < 30; i++) {
      if (i % 7 === 3) store = restarted(store, options);
      if (i % 3 === 2) await store.delete(ConfigMaps, at(`m${i - 1}`));
      else await store.create(ConfigMaps, aMap(`m${i}`));
      written.push(i % 3 === 2 ? `DELETED m${i - 1}` : `ADDED m${i}`);
    }
    store = restarted(store, options);
    for (let seen = 0; seen <= 30; seen++) {
      using watching = new Watching((signal) => store.watch(ConfigMaps, { resourceVersion: String(start + seen), signal }));
      const wanted = written.slice(seen).map((event, i) => `${event}@${start + seen + i + 1}`);
      expect(await watching.take(30 - seen)).toEqual(wanted);
    }
    store.close();
  });

  test("remembers what history was forgotten", async () => {
    using first = openTestStore({ file, history: { revisions: 3, ms: 0 } });
    for (let i = 0; i < 20; i++) await first.create(ConfigMaps, aMap(`m${i}`));
    await first.clock.step(60_000);
    const { compactedRevision } = first.stats();
    using second = restarted(first);
    expect(second.stats().compactedRevision).toBe(compactedRevision);
    using late = new Watching((signal) => second.watch(ConfigMaps, { resourceVersion: String(compactedRevision - 1), signal }));
    expect((await refusal(late.next())).reason).toBe("Expired");
    using inTime = new Watching((signal) => second.watch(ConfigMaps, { resourceVersion: String(compactedRevision), signal }));
    expect(await inTime.take(3)).toHaveLength(3);
  });

  test("never gives a version twice, even when the newest revisions are forgotten removals", async () => {
    using first = openTestStore({ file, history: { revisions: 0, ms: 0 } });
    await first.create(ConfigMaps, aMap("m"));
    await first.delete(ConfigMaps, at("m"));
    await first.clock.step(60_000);
    const { newestRevision } = first.stats();
    using second = restarted(first);
    expect(second.stats().newestRevision).toBe(newestRevision);
  });

  test("goes on with what the background had not done yet", async () => {
    using first = openTestStore({ file });
    await first.create(Namespaces, { metadata: { name: "ns" } });
    await first.create(ConfigMaps, aMap("inside", { metadata: { namespace: "ns" } }));
    const pool = await first.create(Pools, aPool("owner"));
    await first.create(ConfigMaps, aMap("child", { metadata: ownedBy(pool) }));
    const waiting = await first.create(Pools, aPool("waiting"));
    await first.create(ConfigMaps, aMap("blocks", { metadata: ownedBy(waiting, { blockOwnerDeletion: true }) }));
    await first.create(Pools, aPool("alone"));
    // All of it in one turn of the event loop: the background gets no chance before the end.
    const deletes = [
      first.delete(Namespaces, { name: "ns" }),
      first.delete(Pools, at("owner")),
      first.delete(Pools, at("waiting"), { propagationPolicy: "Foreground" }),
      first.delete(Pools, at("alone"), { propagationPolicy: "Foreground" }),
    ];
    using second = restarted(first);
    await Promise.all(deletes);
    expect((await second.list(Pools)).items).toHaveLength(2);
    await backgroundDone();
    expect((await everything(second)).map(({ metadata }) => metadata.name)).toEqual([
      "default",
      "kube-node-lease",
      "kube-public",
      "kube-system",
    ]);
  });

  test("leaves alone what belongs to kinds that are not served any more, until they are served again", async () => {
    using first = openTestStore({ file });
    await first.create(Pools, aPool("p"));
    using second = restarted(first, { kinds: bareKinds.filter((rules) => rules.resource !== Pools) });
    expect((await refusal(second.list(Pools))).message).toBe("the server could not find the requested resource");
    using third = restarted(second);
    expect((await third.list(Pools)).items).toHaveLength(1);
  });
});

test("damage to one object is reported when it is read, and harms no other", async () => {
  using first = openTestStore({ file });
  const { metadata } = await first.create(ConfigMaps, aMap("bad"));
  await first.create(ConfigMaps, aMap("good"));
  first.close();
  const db = new DatabaseSync(file);
  db.prepare("UPDATE revisions SET data = '{' WHERE rv = ?").run(Number(metadata.resourceVersion));
  db.close();
  using second = openTestStore({ file });
  expect(await refusal(second.get(ConfigMaps, at("bad")))).toMatchObject({
    reason: "InternalError",
    message: `Internal error occurred: version ${metadata.resourceVersion} in the data file is damaged`,
  });
  await second.get(ConfigMaps, at("good"));
});

test("a call with an aborted signal rejects with the signal's reason and does nothing", async () => {
  using store = openTestStore();
  const signal = AbortSignal.abort(new Error("changed my mind"));
  await expect(store.create(ConfigMaps, aMap("m"), { signal })).rejects.toThrow("changed my mind");
  await expect(store.delete(Namespaces, { name: "default" }, { signal })).rejects.toThrow("changed my mind");
  expect((await store.list(ConfigMaps)).items).toEqual([]);
});

test("a store needs namespaces, and does not hold on to the file if it cannot begin", () => {
  expect(() => openTestStore({ file, kinds: [] })).toThrow("the server could not find the requested resource");
  openTestStore({ file }).close();
});
