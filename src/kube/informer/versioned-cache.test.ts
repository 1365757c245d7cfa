import { describe, expect, test } from "vitest";
import type { WatchEvent } from "#kube/object-client.ts";
import { type ConfigMap, ConfigMaps } from "#model/core-kinds.ts";
import type { Index } from "./indexed-store.ts";
import { VersionedCache } from "./versioned-cache.ts";

const byColor: Index<ConfigMap> = {
  name: "color",
  type: ConfigMaps,
  extract: ({ data }) => (data?.["color"] === undefined ? [] : [data["color"]]),
};

function at(version: number, name = "a", more: { uid?: string; color?: string } = {}): ConfigMap {
  return {
    metadata: { namespace: "ns", name, uid: more.uid ?? `uid-${name}`, resourceVersion: String(version) },
    ...(more.color === undefined ? {} : { data: { color: more.color } }),
  };
}

function modified(object: ConfigMap): WatchEvent<ConfigMap> {
  return { type: "MODIFIED", object };
}

function deleted(object: ConfigMap): WatchEvent<ConfigMap> {
  return { type: "DELETED", object };
}

function cacheWith(items: readonly ConfigMap[], version: number): VersionedCache<ConfigMap> {
  const cache = new VersionedCache([byColor]);
  cache.startReplace()({ items, resourceVersion: String(version) });
  return cache;
}

function held(cache: VersionedCache<ConfigMap>, name = "a"): string | undefined {
  return cache.objects.get({ namespace: "ns", name })?.metadata.resourceVersion;
}

describe("watch events", () => {
  test("move an object forward and tell what it was", () => {
    const cache = cacheWith([at(5)], 10);
    expect(cache.observe(modified(at(11)))).toEqual([{ now: at(11), before: at(5) }]);
    expect(cache.observe(deleted(at(12)))).toEqual([{ now: undefined, before: at(11) }]);
    expect(held(cache)).toBeUndefined();
  });

  test("that come twice or late change nothing", () => {
    const cache = cacheWith([], 10);
    cache.observe({ type: "ADDED", object: at(11) });
    cache.observe(modified(at(13)));
    expect(cache.observe(modified(at(13)))).toEqual([]);
    expect(cache.observe({ type: "ADDED", object: at(11) })).toEqual([]);
    expect(cache.observe(deleted(at(12)))).toEqual([]);
    expect(held(cache)).toBe("13");
  });

  test("of an object that is gone do not bring it back", () => {
    const cache = cacheWith([], 10);
    cache.observe({ type: "ADDED", object: at(11) });
    cache.observe(deleted(at(12)));
    expect(cache.observe({ type: "ADDED", object: at(11) })).toEqual([]);
    expect(cache.objects.size).toBe(0);
  });

  test("and bookmarks say where a watch goes on, never backwards", () => {
    const cache = cacheWith([], 10);
    cache.observe(modified(at(11)));
    expect(cache.seen).toBe("11");
    cache.observe({ type: "BOOKMARK", resourceVersion: "20" });
    cache.observe({ type: "BOOKMARK", resourceVersion: "15" });
    cache.observe(modified(at(11)));
    expect(cache.seen).toBe("20");
  });

  test("of a new object under an old name end the old one first", () => {
    const cache = cacheWith([at(5)], 10);
    const next = at(12, "a", { uid: "another" });
    expect(cache.observe(modified(next))).toEqual([
      { now: undefined, before: at(5) },
      { now: next, before: undefined },
    ]);
  });

  test("of a deletion that was never seen alive are no change", () => {
    expect(cacheWith([], 10).observe(deleted(at(12)))).toEqual([]);
  });
});

describe("our own writes", () => {
  test("are seen at once, and the watch's older events change nothing", () => {
    const cache = cacheWith([at(5)], 10);
    expect(cache.remember(at(14))).toEqual([{ now: at(14), before: at(5) }]);
    expect(cache.observe(modified(at(12)))).toEqual([]);
    expect(cache.observe(modified(at(14)))).toEqual([]);
    expect(held(cache)).toBe("14");
    expect(cache.observe(modified(at(15)))).toHaveLength(1);
  });

  test("do not move the place where the watch goes on", () => {
    const cache = cacheWith([], 10);
    cache.remember(at(14));
    expect(cache.seen).toBe("10");
  });

  test("whose answer comes after the end of the object do not bring it back", () => {
    const cache = cacheWith([at(5)], 10);
    cache.observe(deleted(at(12)));
    expect(cache.remember(at(11))).toEqual([]);
    expect(cache.objects.size).toBe(0);
  });

  test("that end the object (the last finalizer goes) are followed by its deletion with the same version", () => {
    const cache = cacheWith([at(5)], 10);
    cache.remember(at(14));
    expect(cache.observe(deleted(at(14)))).toEqual([{ now: undefined, before: at(14) }]);
  });

  test("of a new object outlive the late deletion of its forerunner", () => {
    const cache = cacheWith([at(5)], 10);
    cache.remember(at(14, "a", { uid: "another" }));
    expect(cache.observe(deleted(at(13)))).toEqual([]);
    expect(held(cache)).toBe("14");
  });
});

describe("a new list", () => {
  test("tells only true differences, ends first", () => {
    const cache = cacheWith([at(1, "same"), at(2, "changed"), at(3, "gone")], 10);
    const changes = cache.startReplace()({ items: [at(12, "changed"), at(13, "new"), at(1, "same")], resourceVersion: "20" });
    expect(changes).toEqual([
      { now: undefined, before: at(3, "gone") },
      { now: at(12, "changed"), before: at(2, "changed") },
      { now: at(13, "new"), before: undefined },
    ]);
    expect(cache.seen).toBe("20");
  });

  test("keeps what we wrote after it was made", () => {
    const cache = cacheWith([at(5)], 10);
    const replace = cache.startReplace();
    cache.remember(at(21));
    cache.remember(at(22, "fresh"));
    expect(replace({ items: [at(5)], resourceVersion: "20" })).toEqual([]);
    expect([held(cache), held(cache, "fresh")]).toEqual(["21", "22"]);
    expect(cache.seen).toBe("20");
  });

  test("that is older than what was known before it was asked for is another history, and is believed", () => {
    const cache = cacheWith([at(500), at(501, "ghost"), at(7, "same")], 600);
    cache.remember(at(700, "mine"));
    const changes = cache.startReplace()({ items: [at(6), at(7, "same")], resourceVersion: "9" });
    expect(changes.map((change) => (change.now ?? change.before).metadata.name)).toEqual(["ghost", "mine", "a"]);
    expect([held(cache), held(cache, "ghost"), held(cache, "mine"), cache.seen]).toEqual(["6", undefined, undefined, "9"]);
    expect(cache.observe(modified(at(10)))).toHaveLength(1);
  });
});

test("an object that no server has returned cannot be cached", () => {
  expect(() => cacheWith([], 1).remember({ kind: "ConfigMap", metadata: { name: "a" } })).toThrow("ConfigMap a has no resourceVersion");
});
