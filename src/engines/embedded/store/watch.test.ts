import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { WatchOptions } from "#kube/object-client.ts";
import { ConfigMaps } from "#model/core-kinds.ts";
import { Pods } from "#model/pod.ts";
import { settle } from "../../../../test/world/stepped-clock.ts";
import { Pools } from "../../../../test/world/bare-kinds.ts";
import { aMap, aPod, aPool, openTestStore, refusal, type TestStore, Watching } from "../../../../test/world/bare-store.ts";
import { eventOf } from "./watch-cursor.ts";

const at = (name: string) => ({ namespace: "default", name });
const label = (store: TestStore, name: string, color: string) =>
  store.patch(ConfigMaps, at(name), { type: "merge", body: { metadata: { labels: { color } } } });
const watchMaps = (store: TestStore, options: WatchOptions = {}) =>
  new Watching((signal) => store.watch(ConfigMaps, { ...options, signal }));
const now = (store: TestStore) => String(store.stats().newestRevision);

describe("a watch", () => {
  test("from a version shows every change of its kind after it, in order", async () => {
    using store = openTestStore();
    await store.create(ConfigMaps, aMap("before"));
    using watching = watchMaps(store, { resourceVersion: now(store) });
    const start = store.stats().newestRevision;
    await store.create(ConfigMaps, aMap("m"));
    await store.create(Pools, aPool("other-kind"));
    await label(store, "m", "red");
    await store.delete(ConfigMaps, at("m"));
    expect(await watching.take(3)).toEqual([`ADDED m@${start + 1}`, `MODIFIED m@${start + 3}`, `DELETED m@${start + 4}`]);
  });

  test.for([undefined, "", "0"])("from version %j begins with what is there and ends that with a bookmark", async (resourceVersion) => {
    using store = openTestStore();
    await store.create(ConfigMaps, aMap("b"));
    await store.create(ConfigMaps, aMap("a"));
    const version = store.stats().newestRevision;
    using watching = watchMaps(store, { resourceVersion, bookmarks: true });
    expect(await watching.take(3)).toEqual([`ADDED a@${version}`, `ADDED b@${version - 1}`, `BOOKMARK @${version}`]);
    await label(store, "a", "red");
    expect(await watching.take(1)).toEqual([`MODIFIED a@${version + 1}`]);
  });

  test("shows the beginning as it was, however late it is read", async () => {
    using store = openTestStore();
    for (const name of ["a", "b", "c"]) await store.create(ConfigMaps, aMap(name));
    const version = store.stats().newestRevision;
    using watching = watchMaps(store);
    const seen = await watching.take(1);
    await store.delete(ConfigMaps, at("b"));
    await label(store, "c", "red");
    await store.create(ConfigMaps, aMap("aa"));
    seen.push(...(await watching.take(5)));
    expect(seen).toEqual([
      `ADDED a@${version - 2}`,
      `ADDED b@${version - 1}`,
      `ADDED c@${version}`,
      `DELETED b@${version + 1}`,
      `MODIFIED c@${version + 2}`,
      `ADDED aa@${version + 3}`,
    ]);
  });

  test("waits for the next change and gets it as soon as it is written", async () => {
    using store = openTestStore();
    using watching = watchMaps(store, { resourceVersion: now(store) });
    const next = watching.next();
    const made = await store.create(ConfigMaps, aMap("m"));
    expect(await next).toEqual({ done: false, value: { type: "ADDED", object: made } });
  });

  test("hands out the very objects that reads do", async () => {
    using store = openTestStore();
    using watching = watchMaps(store, { resourceVersion: now(store) });
    const made = await store.create(ConfigMaps, aMap("m"));
    const { value } = await watching.next();
    expect(value).toHaveProperty("object", made);
    await store.delete(ConfigMaps, at("m"));
    const end = (await watching.next()).value as { object: typeof made };
    expect(end.object).toEqual({ ...made, metadata: { ...made.metadata, resourceVersion: now(store) } });
    expect(Object.isFrozen(end.object.metadata)).toBe(true);
  });

  test("sees only its namespace", async () => {
    using store = openTestStore();
    using watching = watchMaps(store, { resourceVersion: now(store), namespace: "kube-system" });
    await store.create(ConfigMaps, aMap("m"));
    await store.create(ConfigMaps, aMap("mine", { metadata: { namespace: "kube-system" } }));
    expect(await watching.take(1)).toEqual([`ADDED mine@${now(store)}`]);
  });

  test("shows what begins to match as new and what stops to match as gone, in its last matching state", async () => {
    using store = openTestStore();
    await store.create(ConfigMaps, aMap("m"));
    using watching = watchMaps(store, { resourceVersion: now(store), labelSelector: "color=red" });
    await label(store, "m", "blue");
    await label(store, "m", "red");
    await store.patch(ConfigMaps, at("m"), { type: "merge", body: { data: { a: "1" } } });
    const last = await label(store, "m", "blue");
    const version = Number(last.metadata.resourceVersion);
    expect(await watching.take(2)).toEqual([`ADDED m@${version - 2}`, `MODIFIED m@${version - 1}`]);
    expect((await watching.next()).value).toMatchObject({
      type: "DELETED",
      object: { data: { a: "1" }, metadata: { labels: { color: "red" }, resourceVersion: String(version) } },
    });
  });

  test("follows the fields of its field selector, and refuses those that cannot be selected by", async () => {
    using store = openTestStore();
    const running = { type: "merge", body: { status: { phase: "Running" } } } as const;
    using watching = new Watching((signal) =>
      store.watch(Pods, { resourceVersion: now(store), fieldSelector: "status.phase=Running", signal }),
    );
    await store.create(Pods, aPod("p"));
    await store.patch(Pods, at("p"), running, { subresource: "status" });
    expect(await watching.take(1)).toEqual([`ADDED p@${now(store)}`]);
    using wrong = watchMaps(store, { fieldSelector: "spec.color=red" });
    expect(await refusal(wrong.next())).toMatchObject({ reason: "BadRequest", message: "field label not supported: spec.color" });
    using unreadable = watchMaps(store, { labelSelector: "a b c" });
    expect((await refusal(unreadable.next())).reason).toBe("BadRequest");
  });

  test("answers several questions at once in order", async () => {
    using store = openTestStore();
    using watching = watchMaps(store, { resourceVersion: now(store) });
    const questions = [watching.take(1), watching.take(1), watching.take(1)];
    for (const name of ["a", "b", "c"]) await store.create(ConfigMaps, aMap(name));
    const version = store.stats().newestRevision;
    expect(await Promise.all(questions)).toEqual([[`ADDED a@${version - 2}`], [`ADDED b@${version - 1}`], [`ADDED c@${version}`]]);
  });
});

describe("a watch that fell behind", () => {
  test("reads what has left memory from the log, without a gap, however it is mixed with new changes", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(30), { minLength: 1, maxLength: 12 }), async (bursts) => {
        using store = openTestStore({ tailEvents: 4 });
        using watching = watchMaps(store, { resourceVersion: now(store), namespace: "default" });
        const wanted: string[] = [];
        let read = 0;
        for (const [burst, size] of bursts.entries()) {
          for (let i = 0; i < size; i++) {
            await store.create(Pools, aPool(`noise-${burst}-${i}`));
            const { metadata } = await store.create(ConfigMaps, aMap(`m-${burst}-${i}`));
            wanted.push(`ADDED ${metadata.name}@${metadata.resourceVersion}`);
          }
          const some = Math.floor((wanted.length - read) / 2);
          expect(await watching.take(some)).toEqual(wanted.slice(read, read + some));
          read += some;
        }
        expect(await watching.take(wanted.length - read)).toEqual(wanted.slice(read));
      }),
      { numRuns: 20 },
    );
  });

  test("sees selector transitions from the log as it would have from memory", async () => {
    using store = openTestStore({ tailEvents: 1 });
    await store.create(ConfigMaps, aMap("m"));
    using watching = watchMaps(store, { resourceVersion: now(store), labelSelector: "color=red" });
    for (const color of ["red", "green", "red"]) await label(store, "m", color);
    await store.delete(ConfigMaps, at("m"));
    const version = store.stats().newestRevision;
    expect(await watching.take(4)).toEqual([
      `ADDED m@${version - 3}`,
      `DELETED m@${version - 2}`,
      `ADDED m@${version - 1}`,
      `DELETED m@${version}`,
    ]);
  });

  test("is told so when the log has forgotten: Expired", async () => {
    using store = openTestStore({ tailEvents: 2, history: { revisions: 10, ms: 0 } });
    const start = now(store);
    for (let i = 0; i < 100; i++) await store.create(ConfigMaps, aMap(`m${i}`));
    await store.clock.step(60_000);
    const { compactedRevision } = store.stats();
    expect(compactedRevision).toBe(store.stats().newestRevision - 10);
    using late = watchMaps(store, { resourceVersion: start });
    expect(await refusal(late.next())).toMatchObject({
      reason: "Expired",
      code: 410,
      message: `too old resource version: ${start} (${compactedRevision})`,
    });
    expect((await late.next()).done).toBe(true);
    using justInTime = watchMaps(store, { resourceVersion: String(compactedRevision) });
    expect(await justInTime.take(10)).toHaveLength(10);
  });

  test("is not told so when it is idle while others write", async () => {
    using store = openTestStore({ tailEvents: 2, history: { revisions: 5, ms: 0 } });
    using idle = watchMaps(store, { resourceVersion: now(store) });
    const next = idle.take(1);
    for (let i = 0; i < 50; i++) await store.create(Pools, aPool(`p${i}`));
    await store.clock.step(60_000);
    await store.create(ConfigMaps, aMap("m"));
    expect(await next).toEqual([`ADDED m@${now(store)}`]);
  });
});

describe("the end of a watch", () => {
  test("comes by itself after timeoutSeconds", async () => {
    using store = openTestStore();
    using watching = watchMaps(store, { resourceVersion: now(store), timeoutSeconds: 10 });
    const all = watching.rest();
    await store.create(ConfigMaps, aMap("m"));
    await store.clock.step(10_000);
    await store.create(ConfigMaps, aMap("late"));
    expect(await all).toHaveLength(1);
    expect(store.stats().watchers).toBe(0);
    expect(store.clock.pending).toBe(2);
  });

  test("shows a late reader what was written before it, then says where to go on", async () => {
    using store = openTestStore();
    using watching = watchMaps(store, { resourceVersion: now(store), timeoutSeconds: 10, bookmarks: true });
    const first = watching.take(1);
    await store.create(ConfigMaps, aMap("a"));
    await first;
    await store.create(ConfigMaps, aMap("b"));
    await store.create(Pools, aPool("other-kind"));
    const version = store.stats().newestRevision;
    await store.clock.step(10_000);
    expect(await watching.rest()).toEqual([`ADDED b@${version - 1}`, `BOOKMARK @${version}`]);
  });

  test("comes even if there is always something new", async () => {
    using store = openTestStore();
    using watching = watchMaps(store, { resourceVersion: now(store), timeoutSeconds: 10 });
    const first = watching.take(1);
    for (const name of ["a", "b", "c"]) await store.create(ConfigMaps, aMap(name));
    await first;
    await store.clock.step(10_000);
    await watching.take(1);
    await store.create(ConfigMaps, aMap("late"));
    expect(await watching.rest()).toHaveLength(1);
  });

  test("comes with the caller's reason when it is aborted, and leaves nothing behind", async () => {
    using store = openTestStore();
    const abort = new AbortController();
    const events = store.watch(ConfigMaps, { bookmarks: true, timeoutSeconds: 5, resourceVersion: now(store), signal: abort.signal });
    const iterator = events[Symbol.asyncIterator]();
    const waiting = iterator.next();
    await settle();
    expect(store.stats().watchers).toBe(1);
    abort.abort(new Error("seen enough"));
    await expect(waiting).rejects.toThrow("seen enough");
    expect((await iterator.next()).done).toBe(true);
    expect(store.stats().watchers).toBe(0);
    expect(store.clock.pending).toBe(2);
  });

  test("comes when the reader leaves its loop", async () => {
    using store = openTestStore();
    await store.create(ConfigMaps, aMap("m"));
    for await (const event of store.watch(ConfigMaps)) {
      expect(event.type).toBe("ADDED");
      break;
    }
    expect(store.stats().watchers).toBe(0);
  });

  test("comes when the store is closed", async () => {
    const store = openTestStore();
    using watching = watchMaps(store, { resourceVersion: now(store) });
    const all = watching.rest();
    await settle();
    store.close();
    expect(await all).toEqual([]);
    expect(await refusal(store.list(ConfigMaps))).toMatchObject({ reason: "ServiceUnavailable", message: "the object store is closed" });
  });
});

describe("a bookmark", () => {
  test("comes about once a minute and moves on while nothing of the kind happens", async () => {
    using store = openTestStore();
    using watching = watchMaps(store, { resourceVersion: now(store), bookmarks: true });
    const next = watching.take(2);
    await store.create(Pools, aPool("a"));
    const first = now(store);
    await store.clock.step(60_000);
    await store.create(Pools, aPool("b"));
    await store.clock.step(60_000);
    expect(await next).toEqual([`BOOKMARK @${first}`, `BOOKMARK @${now(store)}`]);
  });

  test("never comes unasked", async () => {
    using store = openTestStore();
    using watching = watchMaps(store, { timeoutSeconds: 600 });
    const all = watching.rest();
    await store.clock.step(600_000);
    expect(await all).toEqual([]);
  });

  test("never jumps over a change that was not shown yet", async () => {
    using store = openTestStore();
    using watching = watchMaps(store, { resourceVersion: now(store), bookmarks: true });
    const first = watching.take(1);
    await store.create(ConfigMaps, aMap("a"));
    await first;
    await store.create(ConfigMaps, aMap("b"));
    await store.clock.step(60_000);
    const version = now(store);
    expect(await watching.take(2)).toEqual([`ADDED b@${version}`, `BOOKMARK @${version}`]);
  });
});

describe("a version", () => {
  test("from the future waits until it is reached", async () => {
    using store = openTestStore();
    const start = store.stats().newestRevision;
    using watching = watchMaps(store, { resourceVersion: String(start + 2) });
    const next = watching.take(1);
    for (const name of ["a", "b", "c"]) await store.create(ConfigMaps, aMap(name));
    expect(await next).toEqual([`ADDED c@${start + 3}`]);
  });

  test("that is no number is refused", async () => {
    using store = openTestStore();
    using watching = watchMaps(store, { resourceVersion: "yesterday" });
    expect(await refusal(watching.next())).toMatchObject({ code: 500, message: expect.stringContaining('Invalid value: "yesterday"') });
  });
});

test.for<[string | undefined, string | undefined, string | undefined]>([
  [undefined, "red", "ADDED"],
  [undefined, "blue", undefined],
  ["blue", "red", "ADDED"],
  ["blue", "blue", undefined],
  ["blue", undefined, undefined],
  ["red", "red", "MODIFIED"],
  ["red", "blue", "DELETED"],
  ["red", undefined, "DELETED"],
])("to a watcher of red objects, %s becoming %s is %s", ([before, after, type]) => {
  const object = (color: string | undefined) => (color === undefined ? undefined : { metadata: { labels: { color } } });
  const change = { rv: 7, key: "k", previous: object(before), object: object(after) };
  expect(eventOf(change, ({ metadata }) => metadata.labels?.["color"] === "red")?.type).toBe(type);
});
