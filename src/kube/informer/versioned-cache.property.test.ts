import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { WatchEvent } from "#kube/object-client.ts";
import { type ConfigMap, ConfigMaps } from "#model/core-kinds.ts";
import type { Index } from "./indexed-store.ts";
import { type Change, VersionedCache } from "./versioned-cache.ts";
import { compareVersions } from "./versions.ts";

const byColor: Index<ConfigMap> = { name: "color", type: ConfigMaps, extract: ({ data }) => [data?.["color"] ?? "none"] };

interface Write {
  readonly name: string;
  /** Undefined deletes. */
  readonly color: string | undefined;
}

type Action =
  | { readonly do: "write"; readonly write: Write }
  /** The watch brings its next events. */
  | { readonly do: "deliver"; readonly count: number }
  /** It brings an event of the past once more. */
  | { readonly do: "repeat"; readonly pick: number }
  /** The answer to one of our writes comes in, however late. */
  | { readonly do: "remember"; readonly pick: number }
  | { readonly do: "bookmark" }
  /** A new list, with writes and answers between its making and its arrival. */
  | { readonly do: "relist"; readonly during: readonly Write[]; readonly remembered: readonly number[] };

interface Entry {
  readonly version: number;
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly object: ConfigMap;
}

/** A server with its whole history, a cache that follows it, and a handler that follows the cache. */
class World {
  readonly cache = new VersionedCache([byColor]);
  readonly state = new Map<string, ConfigMap>();
  readonly told = new Map<string, ConfigMap>();
  /** What a handler could not have made sense of. */
  readonly contradictions: string[] = [];
  readonly #history: Entry[] = [];
  #version = 10;

  act(action: Action): void {
    if (action.do === "write") this.#write(action.write);
    else if (action.do === "deliver") this.#deliver(action.count);
    else if (action.do === "repeat") this.#repeat(action.pick);
    else if (action.do === "remember") this.#remember(action.pick);
    else if (action.do === "bookmark") this.#bookmark();
    else this.#relist(action.during, action.remembered);
  }

  /** The watch brings all that is still missing. */
  catchUp(): void {
    this.#deliver(Infinity);
  }

  #write({ name, color }: Write): void {
    const before = this.state.get(name);
    if (color === undefined && before === undefined) return;
    this.#version += 1;
    const resourceVersion = String(this.#version);
    const uid = before?.metadata.uid ?? `uid-${resourceVersion}`;
    const object: ConfigMap = { metadata: { namespace: "ns", name, uid, resourceVersion }, data: { color: color ?? "gone" } };
    if (color === undefined) this.state.delete(name);
    else this.state.set(name, object);
    this.#history.push({
      version: this.#version,
      type: color === undefined ? "DELETED" : before === undefined ? "ADDED" : "MODIFIED",
      object,
    });
  }

  #missing(): readonly Entry[] {
    return this.#history.filter((entry) => entry.version > Number(this.cache.seen));
  }

  #deliver(count: number): void {
    for (const entry of this.#missing().slice(0, count)) this.#tell(this.cache.observe(eventOf(entry)));
  }

  #repeat(pick: number): void {
    const entry = this.#history[pick];
    if (entry !== undefined && entry.version <= Number(this.cache.seen)) this.#tell(this.cache.observe(eventOf(entry)));
  }

  #remember(pick: number): void {
    const entry = this.#history[pick];
    if (entry !== undefined && entry.type !== "DELETED") this.#tell(this.cache.remember(entry.object));
  }

  #bookmark(): void {
    if (this.#missing().length === 0) this.cache.observe({ type: "BOOKMARK", resourceVersion: String(this.#version) });
  }

  #relist(during: readonly Write[], remembered: readonly number[]): void {
    const replace = this.cache.startReplace();
    const list = { items: [...this.state.values()], resourceVersion: String(this.#version) };
    for (const write of during) this.#write(write);
    for (const pick of remembered) this.#remember(pick);
    this.#tell(replace(list));
  }

  #tell(changes: readonly Change<ConfigMap>[]): void {
    for (const { now, before } of changes) {
      const name = (now ?? before)?.metadata.name ?? "";
      if (this.told.get(name) !== before) this.contradictions.push(`${name}: "before" is not what was told last`);
      if (now === undefined) this.told.delete(name);
      else this.told.set(name, now);
      if (now !== undefined && before !== undefined && !isStepForward(before, now)) this.contradictions.push(`${name}: not a step forward`);
    }
  }
}

function isStepForward(before: ConfigMap, now: ConfigMap): boolean {
  const order = compareVersions(before.metadata.resourceVersion ?? "", now.metadata.resourceVersion ?? "");
  return before.metadata.uid === now.metadata.uid && order < 0;
}

function eventOf({ type, object }: Entry): WatchEvent<ConfigMap> {
  return { type, object };
}

const write: fc.Arbitrary<Write> = fc.record({ name: fc.constantFrom("a", "b", "c"), color: fc.constantFrom("red", "blue", undefined) });
const pick = fc.nat({ max: 40 });
const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant("write" as const), write }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("deliver" as const), count: fc.integer({ min: 1, max: 4 }) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("repeat" as const), pick }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("remember" as const), pick }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("bookmark" as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("relist" as const),
      during: fc.array(write, { maxLength: 3 }),
      remembered: fc.array(pick, { maxLength: 2 }),
    }),
  },
);

test("I10: dropped, repeated and late events and late answers change when something happens, never what", () => {
  fc.assert(
    fc.property(fc.array(action, { maxLength: 80, size: "max" }), (actions) => {
      const world = new World();
      world.act({ do: "relist", during: [], remembered: [] });
      for (const each of actions) world.act(each);
      world.catchUp();

      const wanted = [...world.state.values()];
      expect(world.contradictions).toEqual([]);
      expect(new Set(world.cache.objects.list())).toEqual(new Set(wanted));
      expect(new Set(world.told.values())).toEqual(new Set(wanted));
      for (const color of ["red", "blue", "gone"]) {
        const colored = wanted.filter((object) => object.data?.["color"] === color);
        expect(new Set(world.cache.objects.lookup(byColor, color))).toEqual(new Set(colored));
      }
    }),
    { numRuns: 500 },
  );
});
