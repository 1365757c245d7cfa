import { describe, expect, test } from "vitest";
import { ApiError } from "#kube/api-error.ts";
import { ConfigMaps } from "#model/core-kinds.ts";
import { aMap, InformerBench } from "../../../test/world/informer-bench.ts";
import { settle } from "../../../test/world/stepped-clock.ts";

const reset = new ApiError("Unreachable", "connection reset");

describe("a watch", () => {
  test("that the server ends is resumed from the last version seen, without a list", async () => {
    await using bench = new InformerBench([aMap("a")]);
    await bench.informer.whenSynced();
    await bench.clock.step(5_000);
    bench.server.put(ConfigMaps, aMap("b"));
    await settle();
    const last = bench.server.version;
    bench.server.endWatches();
    bench.server.put(ConfigMaps, aMap("c"));
    await settle();
    expect(bench.calls("watch").at(-1)?.resourceVersion).toBe(last);
    expect(bench.story).toEqual(["a", "b", "c"]);
    expect(bench.calls("list")).toHaveLength(1);
    expect(bench.informer.health()).toEqual({ healthy: true });
  });

  test("resumes from a bookmark when nothing of ours has changed", async () => {
    await using bench = new InformerBench([aMap("a")]);
    await bench.informer.whenSynced();
    await bench.clock.step(5_000);
    bench.server.put({ ...ConfigMaps, plural: "others" }, aMap("other"));
    bench.server.bookmark();
    await settle();
    bench.server.endWatches();
    await settle();
    expect(bench.calls("watch").at(-1)?.resourceVersion).toBe(bench.server.version);
  });

  test("that starves is taken for dead and resumed without a gap", async () => {
    await using bench = new InformerBench([aMap("a")], { pace: { idleTimeoutMs: 150_000 } });
    await bench.informer.whenSynced();
    await settle();
    bench.server.starveWatches();
    bench.server.put(ConfigMaps, aMap("b"));
    await bench.clock.step(149_000);
    expect(bench.story).toEqual(["a"]);
    await bench.clock.step(2_000);
    expect(bench.story).toEqual(["a", "b"]);
    expect(bench.calls("list")).toHaveLength(1);
    expect(bench.lines).toMatchObject([{ level: "warn", msg: "watch starved; resuming" }]);
  });

  test("that starves is taken for dead as soon when somebody sets the clock back", async () => {
    await using bench = new InformerBench([aMap("a")], { pace: { idleTimeoutMs: 150_000 } });
    await bench.informer.whenSynced();
    await settle();
    bench.server.starveWatches();
    bench.server.put(ConfigMaps, aMap("b"));
    bench.clock.setBy(-3_600_000);
    await bench.clock.step(151_000);
    expect(bench.story).toEqual(["a", "b"]);
  });

  test("with a sign of life now and then is left alone", async () => {
    await using bench = new InformerBench([aMap("a")], { pace: { idleTimeoutMs: 150_000 } });
    await bench.informer.whenSynced();
    for (let minute = 0; minute < 10; minute++) {
      await bench.clock.step(60_000);
      if (minute % 2 === 0) bench.server.bookmark();
      else bench.server.put(ConfigMaps, aMap("a"));
    }
    expect(bench.calls("watch")).toHaveLength(1);
    expect(bench.clock.pending).toBe(1);
  });

  test("that breaks is resumed after a pause, and what happened meanwhile arrives", async () => {
    await using bench = new InformerBench([aMap("a")]);
    await bench.informer.whenSynced();
    await settle();
    bench.server.breakWatches(reset);
    await settle();
    bench.server.put(ConfigMaps, aMap("b"));
    bench.server.remove(ConfigMaps, { namespace: "ns", name: "a" });
    await settle();
    expect(bench.story).toEqual(["a"]);
    await bench.clock.step(200);
    expect(bench.story).toEqual(["a", "b", "-a"]);
    expect(bench.lines).toMatchObject([{ level: "warn", msg: "list or watch failed", retryInMs: 150 }]);
  });

  test("that is asked for ends by itself at a time that differs from watch to watch", async () => {
    await using bench = new InformerBench([], { pace: { watchTimeoutMs: 300_000 } });
    await bench.informer.whenSynced();
    await settle();
    expect(bench.server.calls.at(-1)?.timeoutSeconds).toBe(450);
  });
});

describe("expired history", () => {
  test("is answered with a new list that tells only what differs, deletions too", async () => {
    await using bench = new InformerBench([aMap("same"), aMap("changed"), aMap("gone")]);
    await bench.informer.whenSynced();
    await bench.clock.step(5_000);
    const same = bench.informer.get({ namespace: "ns", name: "same" });
    bench.server.starveWatches();
    bench.server.put(ConfigMaps, aMap("changed", { color: "red" }));
    bench.server.remove(ConfigMaps, { namespace: "ns", name: "gone" });
    bench.server.put(ConfigMaps, aMap("new"));
    bench.server.compact();
    await bench.clock.step(160_000);
    expect(bench.story.slice(3)).toEqual(["-gone", "~changed", "new"]);
    expect(bench.informer.get({ namespace: "ns", name: "same" })).toBe(same);
    expect(bench.cached()).toEqual(bench.served());
    expect(bench.informer.health()).toEqual({ healthy: true });
  });

  test("while a list is read leads to a list without pages", async () => {
    await using bench = new InformerBench([aMap("a"), aMap("b"), aMap("c")], { pace: { pageSize: 1 } });
    bench.server.failNext("list", new ApiError("Expired", "the continue parameter is too old"));
    await bench.clock.step(1_000);
    await bench.informer.whenSynced();
    expect(bench.calls("list").at(-1)?.limit).toBeUndefined();
    expect(bench.cached()).toEqual(bench.served());
  });

  test("another history (a restored backup) is believed", async () => {
    await using bench = new InformerBench([aMap("a"), aMap("b")]);
    await bench.informer.whenSynced();
    await bench.clock.step(5_000);
    bench.server.failNext(
      "watch",
      new ApiError("Timeout", "Too large resource version", { causes: [{ field: "", reason: "ResourceVersionTooLarge", message: "" }] }),
    );
    bench.server.restart(3);
    await bench.clock.step(1_000);
    bench.server.put(ConfigMaps, aMap("c"));
    await bench.clock.step(1_000);
    expect(bench.cached()).toEqual(bench.served());
  });
});

describe("back-off", () => {
  test("grows while nothing holds and starts anew after a connection that held", async () => {
    await using bench = new InformerBench([aMap("a")]);
    bench.server.failNext("list", reset, 3);
    await bench.clock.step(149);
    expect(bench.calls("list")).toHaveLength(1);
    await bench.clock.step(1 + 300 + 600);
    expect(bench.calls("list")).toHaveLength(4);
    await bench.informer.whenSynced();

    // The list worked, but no watch has held yet.
    bench.server.breakWatches(reset);
    await bench.clock.step(1_199);
    expect(bench.calls("watch")).toHaveLength(1);
    await bench.clock.step(1);
    expect(bench.calls("watch")).toHaveLength(2);

    await bench.clock.step(5_000);
    bench.server.bookmark();
    await settle();
    bench.server.breakWatches(reset);
    await bench.clock.step(150);
    expect(bench.calls("watch")).toHaveLength(3);
  });

  test("is not reset by a connection that took long and never brought anything", async () => {
    await using bench = new InformerBench([aMap("a")]);
    await bench.informer.whenSynced();
    await bench.clock.step(5_000);
    bench.server.breakWatches(reset);
    await bench.clock.step(150);
    await bench.clock.step(5_000);
    bench.server.breakWatches(reset);
    await bench.clock.step(299);
    expect(bench.calls("watch")).toHaveLength(2);
    await bench.clock.step(1);
    expect(bench.calls("watch")).toHaveLength(3);
  });

  test("a server that ends every watch at once is not asked in a tight loop", async () => {
    await using bench = new InformerBench([aMap("a")]);
    await bench.informer.whenSynced();
    for (let ms = 0; ms < 60_000; ms += 10) {
      bench.server.endWatches();
      await bench.clock.step(10);
    }
    expect(bench.calls("watch").length).toBeLessThan(12);
  }, 20_000);
});
