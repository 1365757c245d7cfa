import { describe, expect, test } from "vitest";
import type { ConfigMap } from "#model/core-kinds.ts";
import { ChangeFeed } from "./change-feed.ts";
import type { Change } from "./versioned-cache.ts";

function named(name: string): ConfigMap {
  return { metadata: { name } };
}

function added(name: string): Change<ConfigMap> {
  return { now: named(name), before: undefined };
}

function recorder(): { seen: string[]; handler: (now: ConfigMap | undefined, before: ConfigMap | undefined) => void } {
  const seen: string[] = [];
  return { seen, handler: (now, before) => void seen.push(`${before?.metadata.name ?? ""}>${now?.metadata.name ?? ""}`) };
}

function aFeed(): { feed: ChangeFeed<ConfigMap>; errors: unknown[] } {
  const errors: unknown[] = [];
  return { feed: new ChangeFeed((error) => errors.push(error)), errors };
}

describe("a change feed", () => {
  test("shows a handler what is there, then every change in order", () => {
    const { feed } = aFeed();
    const { seen, handler } = recorder();
    feed.subscribe(handler, [named("a"), named("b")]);
    feed.publish([added("c"), { now: undefined, before: named("a") }]);
    feed.publish([{ now: named("b2"), before: named("b") }]);
    expect(seen).toEqual([">a", ">b", ">c", "a>", "b>b2"]);
  });

  test("a handler that throws is reported and stops neither the others nor itself", () => {
    const { feed, errors } = aFeed();
    const good = recorder();
    let calls = 0;
    feed.subscribe(() => {
      calls += 1;
      throw new Error("bad handler");
    }, [named("a")]);
    feed.subscribe(good.handler, []);
    feed.publish([added("b"), added("c")]);
    expect(good.seen).toEqual([">b", ">c"]);
    expect(calls).toBe(3);
    expect(errors).toEqual([new Error("bad handler"), new Error("bad handler"), new Error("bad handler")]);
  });

  test("a removed handler is not called again, not even for the change under way", () => {
    const { feed } = aFeed();
    const second = recorder();
    const removals: (() => void)[] = [];
    feed.subscribe(() => removals.forEach((remove) => remove()), []);
    removals.push(feed.subscribe(second.handler, []));
    feed.publish([added("a")]);
    expect(second.seen).toEqual([]);
  });

  test("changes that a handler causes come after the present one, for everybody", () => {
    const { feed } = aFeed();
    const second = recorder();
    feed.subscribe((now) => {
      if (now?.metadata.name === "a") feed.publish([{ now: named("a2"), before: named("a") }]);
    }, []);
    feed.subscribe(second.handler, []);
    feed.publish([added("a"), added("b")]);
    expect(second.seen).toEqual([">a", ">b", "a>a2"]);
  });

  test("a handler that comes in the middle of a delivery gets each change once: shown or told", () => {
    const { feed } = aFeed();
    const late = recorder();
    let came = false;
    feed.subscribe(() => {
      if (came) return;
      came = true;
      // The cache already holds both changes of the batch when its first is delivered.
      feed.subscribe(late.handler, [named("a"), named("b")]);
    }, []);
    feed.publish([added("a"), added("b")]);
    feed.publish([added("c")]);
    expect(late.seen).toEqual([">a", ">b", ">c"]);
  });

  test("changes caused while a handler is shown what is there wait until it has seen all of it", () => {
    const { feed } = aFeed();
    const seen: string[] = [];
    feed.subscribe(
      (now) => {
        seen.push(now?.metadata.name ?? "");
        if (now?.metadata.name === "a") feed.publish([{ now: named("b2"), before: named("b") }]);
      },
      [named("a"), named("b")],
    );
    expect(seen).toEqual(["a", "b", "b2"]);
  });
});
