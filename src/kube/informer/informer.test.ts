import { getEventListeners } from "node:events";
import { describe, expect, test } from "vitest";
import { ApiError } from "#kube/api-error.ts";
import { type ConfigMap, ConfigMaps } from "#model/core-kinds.ts";
import { LabelSelectorError } from "#model/label-selector.ts";
import { aMap, byColor, InformerBench } from "../../../test/world/informer-bench.ts";
import { settle } from "../../../test/world/stepped-clock.ts";
import { InformerStoppedError } from "./informer.ts";

const reset = new ApiError("Unreachable", "connection reset");

describe("syncing", () => {
  test("an informer lists in pages, watches from the list's version, and follows", async () => {
    await using bench = new InformerBench(
      Array.from({ length: 7 }, (_, n) => aMap(`m${n}`)),
      { pace: { pageSize: 3 } },
    );
    await bench.informer.whenSynced();
    expect(bench.calls("list")).toHaveLength(3);
    expect(bench.story).toEqual(["m0", "m1", "m2", "m3", "m4", "m5", "m6"]);
    await settle();
    expect(bench.calls("watch").map((call) => call.resourceVersion)).toEqual([bench.server.version]);
    bench.server.put(ConfigMaps, aMap("m0", { color: "red" }));
    bench.server.remove(ConfigMaps, { namespace: "ns", name: "m1" });
    await settle();
    expect(bench.story.slice(7)).toEqual(["~m0", "-m1"]);
    expect(bench.cached()).toEqual(bench.served());
  });

  test("writes between list and watch are not lost", async () => {
    await using bench = new InformerBench([aMap("a")]);
    bench.informer.onChange((now) => {
      if (now?.metadata.name === "a" && bench.server.all(ConfigMaps).length === 1) bench.server.put(ConfigMaps, aMap("b"));
    });
    await settle();
    expect(bench.cached()).toEqual(bench.served());
    expect(bench.story).toEqual(["a", "b"]);
  });

  test("an informer is not synced before its list is complete", async () => {
    await using bench = new InformerBench([aMap("a")]);
    const registration = bench.informer.onChange(() => {});
    expect([bench.informer.synced, registration.synced]).toEqual([false, false]);
    await Promise.all([bench.informer.whenSynced(), registration.whenSynced()]);
    expect([bench.informer.synced, registration.synced]).toEqual([true, true]);
    registration.remove();
    expect(registration.synced).toBe(false);
  });

  test("waiting for the sync can be given up", async () => {
    await using bench = new InformerBench();
    bench.server.failNext("list", reset, 100);
    const abort = new AbortController();
    const waiting = bench.informer.whenSynced(abort.signal);
    abort.abort(new Error("not today"));
    await expect(waiting).rejects.toThrow("not today");
    expect(getEventListeners(abort.signal, "abort")).toEqual([]);
  });

  test("a late handler is shown what is there, and then told as the others are", async () => {
    await using bench = new InformerBench([aMap("a"), aMap("b")]);
    await bench.informer.whenSynced();
    const seen: (string | undefined)[] = [];
    const registration = bench.informer.onChange((now) => seen.push(now?.metadata.name));
    expect([seen, registration.synced]).toEqual([["a", "b"], true]);
    await settle();
    bench.server.put(ConfigMaps, aMap("c"));
    await settle();
    registration.remove();
    bench.server.put(ConfigMaps, aMap("d"));
    await settle();
    expect(seen).toEqual(["a", "b", "c"]);
  });

  test("a handler's exception is logged and keeps nobody from the change", async () => {
    await using bench = new InformerBench();
    bench.informer.onChange(() => {
      throw new Error("bad handler");
    });
    const seen: (string | undefined)[] = [];
    bench.informer.onChange((now) => seen.push(now?.metadata.name));
    bench.server.put(ConfigMaps, aMap("a"));
    await bench.informer.whenSynced();
    expect(seen).toEqual(["a"]);
    expect(bench.lines).toMatchObject([{ level: "error", msg: "change handler failed", resource: "configmaps" }]);
  });
});

describe("health", () => {
  test("an informer is healthy when it is synced and has had no error for two minutes", async () => {
    await using bench = new InformerBench([aMap("a")]);
    bench.server.failNext("list", reset);
    expect(bench.informer.health()).toEqual({ healthy: false, reason: "configmaps: not synced yet" });
    await settle();
    expect(bench.informer.health()).toEqual({ healthy: false, reason: "configmaps: not synced yet; 0 s ago: connection reset" });
    await bench.clock.step(30_000);
    expect(bench.informer.health()).toEqual({ healthy: false, reason: "configmaps: 30 s ago: connection reset" });
    await bench.clock.step(90_000);
    expect(bench.informer.health()).toEqual({ healthy: true });
    bench.server.breakWatches(reset);
    await settle();
    expect(bench.informer.health().healthy).toBe(false);
  });
});

describe("our own writes", () => {
  test("can be read at once, and events that are still under way do not undo them", async () => {
    await using bench = new InformerBench([aMap("a", { n: "0" })]);
    await bench.informer.whenSynced();
    await settle();
    bench.server.hold();
    bench.server.put(ConfigMaps, aMap("a", { n: "1" }));
    bench.informer.remember(bench.server.put(ConfigMaps, aMap("a", { n: "2" })));
    const read = (): string | undefined => bench.informer.get({ namespace: "ns", name: "a" })?.data?.["n"];
    expect(read()).toBe("2");
    bench.server.release();
    await settle();
    expect(read()).toBe("2");
    expect(bench.story).toEqual(["a", "~a"]);
  });

  test("outside of the informer's namespace or selector are not its business", async () => {
    await using bench = new InformerBench([aMap("a", {}, { app: "x" })], { namespace: "ns", labelSelector: "app=x" });
    await bench.informer.whenSynced();
    const version = "99999";
    bench.informer.remember({ metadata: { namespace: "ns", name: "b", resourceVersion: version, labels: { app: "y" } } });
    bench.informer.remember({ metadata: { namespace: "elsewhere", name: "b", resourceVersion: version, labels: { app: "x" } } });
    expect(bench.informer.objects.size).toBe(1);
    bench.informer.remember({ metadata: { namespace: "ns", name: "b", resourceVersion: version, labels: { app: "x" } } });
    expect(bench.informer.objects.size).toBe(2);
  });
});

describe("a part of a kind", () => {
  test("is what the namespace and selector say; what leaves it is gone", async () => {
    await using bench = new InformerBench([aMap("a", {}, { app: "x" }), aMap("b", {}, { app: "y" })], { labelSelector: "app=x" });
    await bench.informer.whenSynced();
    await settle();
    bench.server.put(ConfigMaps, aMap("b", {}, { app: "x" }));
    bench.server.put(ConfigMaps, aMap("a", {}, { app: "y" }));
    await settle();
    expect(bench.story).toEqual(["a", "b", "-a"]);
  });

  test("with a bad selector is refused before any call", () => {
    expect(() => new InformerBench([], { labelSelector: "app in x" })).toThrow(LabelSelectorError);
  });
});

describe("what is kept", () => {
  test("is the server's own object when there is nothing to strip, else a frozen one without the ballast", async () => {
    await using bench = new InformerBench([aMap("a")]);
    const heavy = bench.server.put(ConfigMaps, { metadata: { namespace: "ns", name: "b", managedFields: [{}] }, data: { n: "1" } });
    await bench.informer.whenSynced();
    expect(bench.informer.get({ namespace: "ns", name: "a" })).toBe(bench.server.all(ConfigMaps)[0]);
    const lean = bench.informer.get({ namespace: "ns", name: "b" });
    expect(lean?.metadata.managedFields).toBeUndefined();
    expect(lean?.data).toBe(heavy.data);
    expect(Object.isFrozen(lean) && Object.isFrozen(lean?.metadata)).toBe(true);
  });

  test("can be cut further by the kind's own function", async () => {
    await using bench = new InformerBench([aMap("a", { secret: "x" })], { strip: ({ metadata }) => Object.freeze({ metadata }) });
    bench.server.put(ConfigMaps, aMap("b", { secret: "y" }));
    await bench.informer.whenSynced();
    await settle();
    bench.informer.remember(bench.server.put(ConfigMaps, aMap("c", { secret: "z" })));
    expect(bench.informer.objects.list().some((object) => object.data !== undefined)).toBe(false);
    expect(bench.informer.objects.size).toBe(3);
  });
});

describe("what is shown in place of an object", () => {
  /** Every map with a color that stands elsewhere; the same object where there is none, or the same one. */
  function painted(objects: readonly ConfigMap[]): { readonly bench: InformerBench; readonly colors: Map<string, string> } {
    const colors = new Map<string, string>();
    const show = (object: ConfigMap): ConfigMap => {
      const color = colors.get(object.metadata.name ?? "");
      if (color === undefined || object.data?.["color"] === color) return object;
      return Object.freeze({ ...object, data: { ...object.data, color } });
    };
    return { bench: new InformerBench(objects, { show }), colors };
  }
  const keyA = { namespace: "ns", name: "a" };
  const colored = (bench: InformerBench, color: string): (string | undefined)[] =>
    [...bench.informer.objects.lookup(byColor, color)].map(({ metadata }) => metadata.name);

  test("is shown however it came: listed, watched or written by us", async () => {
    const { bench, colors } = painted([aMap("a")]);
    await using _ = bench;
    for (const name of ["a", "b", "c"]) colors.set(name, "red");
    await bench.informer.whenSynced();
    await settle();
    bench.server.put(ConfigMaps, aMap("b", { color: "blue" }));
    await settle();
    bench.informer.remember(bench.server.put(ConfigMaps, aMap("c")));
    expect([colored(bench, "red"), colored(bench, "blue")]).toEqual([["a", "b", "c"], []]);
  });

  test("is without the ballast", async () => {
    const seen: ConfigMap[] = [];
    await using bench = new InformerBench([], { show: (object) => (seen.push(object), object) });
    bench.server.put(ConfigMaps, { metadata: { ...keyA, managedFields: [{}] }, data: {} });
    await bench.informer.whenSynced();
    bench.informer.refresh(keyA);
    expect(seen.map(({ metadata }) => metadata.managedFields)).toEqual([undefined, undefined]);
  });

  test("is asked for again when what it depends on has changed: handlers are told in the same turn, and indexes follow", async () => {
    const { bench, colors } = painted([aMap("a", { n: "1" }), aMap("b")]);
    await using _ = bench;
    await bench.informer.whenSynced();
    const told: [ConfigMap | undefined, ConfigMap | undefined][] = [];
    const plain = bench.informer.get(keyA);
    bench.informer.onChange((now, before) => told.push([now, before]));
    told.length = 0;
    colors.set("a", "red");
    expect(colored(bench, "red")).toEqual([]);
    bench.informer.refresh(keyA);
    const red = bench.informer.get(keyA);
    expect([red?.data, red?.metadata]).toEqual([{ n: "1", color: "red" }, plain?.metadata]);
    expect([colored(bench, "red"), colored(bench, "none")]).toEqual([["a"], ["b"]]);
    expect(told).toHaveLength(1);
    expect([told[0]?.[0] === red, told[0]?.[1] === plain]).toEqual([true, true]);
  });

  test("is told of to nobody when it is shown as before, or is not there", async () => {
    const { bench, colors } = painted([aMap("a")]);
    await using _ = bench;
    bench.informer.refresh(keyA);
    await bench.informer.whenSynced();
    colors.set("a", "red");
    bench.informer.refresh(keyA);
    bench.informer.refresh(keyA);
    bench.informer.refresh({ namespace: "ns", name: "nobody" });
    bench.informer.refresh({ namespace: "other", name: "a" });
    expect(bench.story).toEqual(["a", "~a"]);
    expect(bench.informer.objects.size).toBe(1);
  });

  test("is of the version that it stands for: older events change nothing, newer ones are shown anew", async () => {
    const { bench, colors } = painted([aMap("a", { n: "0" })]);
    await using _ = bench;
    await bench.informer.whenSynced();
    await settle();
    bench.server.hold();
    const first = bench.server.put(ConfigMaps, aMap("a", { n: "1" }));
    bench.informer.remember(bench.server.put(ConfigMaps, aMap("a", { n: "2" })));
    colors.set("a", "red");
    bench.informer.refresh(keyA);
    bench.informer.remember(first);
    bench.server.release();
    await settle();
    expect(bench.informer.get(keyA)?.data).toEqual({ n: "2", color: "red" });
    bench.server.put(ConfigMaps, aMap("a", { n: "3" }));
    await settle();
    expect(bench.informer.get(keyA)?.data).toEqual({ n: "3", color: "red" });
    bench.server.remove(ConfigMaps, keyA);
    await settle();
    bench.informer.refresh(keyA);
    expect(bench.story).toEqual(["a", "~a", "~a", "~a", "-a"]);
  });
});

describe("stopping", () => {
  test("leaves no watch, no timer and no pending call behind, and reads still work", async () => {
    const bench = new InformerBench([aMap("a")]);
    await bench.informer.whenSynced();
    await settle();
    await bench.informer.stop();
    expect([bench.server.watching, bench.clock.pending]).toEqual([0, 0]);
    expect(bench.informer.objects.size).toBe(1);
    expect(bench.informer.health()).toEqual({ healthy: false, reason: "configmaps: stopped" });
    bench.informer.start();
    await settle();
    expect(bench.server.watching).toBe(0);
  });

  test("in the middle of a pause ends at once", async () => {
    const bench = new InformerBench();
    bench.server.failNext("list", reset, 100);
    await settle();
    expect(bench.clock.pending).toBe(1);
    await bench.informer.stop();
    expect(bench.clock.pending).toBe(0);
  });

  test("before the sync tells those who wait for it", async () => {
    const bench = new InformerBench();
    bench.server.failNext("list", reset, 100);
    const waiting = bench.informer.whenSynced();
    await bench.informer.stop();
    await expect(waiting).rejects.toThrow(InformerStoppedError);
  });
});
