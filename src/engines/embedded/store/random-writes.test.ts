import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "vitest";
import { isApiError } from "#kube/api-error.ts";
import type { JsonObject } from "#model/meta.ts";
import { type Pool, Pools } from "../../../../test/world/bare-kinds.ts";
import { aPool, openTestStore, type TestStore } from "../../../../test/world/bare-store.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "agentbox-store-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const name = fc.constantFrom("a", "b", "c");
const write = fc.oneof(
  fc.record({ do: fc.constant("create" as const), name, held: fc.boolean() }),
  fc.record({ do: fc.constant("set" as const), name, value: fc.nat(3) }),
  fc.record({ do: fc.constant("conditional" as const), name, value: fc.nat(3), stale: fc.boolean() }),
  fc.record({ do: fc.constant("release" as const), name }),
  fc.record({ do: fc.constant("delete" as const), name }),
);
const operation = fc.oneof(
  { weight: 8, arbitrary: write },
  { weight: 1, arbitrary: fc.constant({ do: "restart" as const }) },
  { weight: 1, arbitrary: fc.constant({ do: "compact" as const }) },
);
type Write = typeof write extends fc.Arbitrary<infer T> ? T : never;

interface Known {
  readonly version: number;
  readonly generation: number;
  readonly value: number;
  readonly held: boolean;
  readonly deleted: boolean;
}

/** What the store should know, as simply as it can be said. */
class Model {
  readonly objects = new Map<string, Known>();
  version: number;

  constructor(version: number) {
    this.version = version;
  }

  run(op: Write): string {
    const known = this.objects.get(op.name);
    if (op.do === "create") {
      if (known !== undefined) return "AlreadyExists";
      return this.#put(op.name, { version: 0, generation: 1, value: 0, held: op.held, deleted: false });
    }
    if (known === undefined) return "NotFound";
    if (op.do === "delete") return this.#delete(op.name, known);
    if (op.do === "release") return this.#release(op.name, known);
    if (op.do === "conditional" && op.stale) return "Conflict";
    return op.value === known.value ? "ok" : this.#put(op.name, { ...known, value: op.value, generation: known.generation + 1 });
  }

  #release(at: string, known: Known): string {
    if (!known.held) return "ok";
    return known.deleted ? this.#remove(at) : this.#put(at, { ...known, held: false });
  }

  #delete(at: string, known: Known): string {
    if (!known.held) return this.#remove(at);
    return known.deleted ? "ok" : this.#put(at, { ...known, deleted: true, generation: known.generation + 1 });
  }

  #put(at: string, known: Known): string {
    this.objects.set(at, { ...known, version: ++this.version });
    return "ok";
  }

  #remove(at: string): string {
    this.objects.delete(at);
    this.version++;
    return "ok";
  }
}

/** Knows the store only through watches, each from where the last one ended; when that is forgotten, it lists again. */
class Follower {
  readonly objects = new Map<string, Known>();
  #version: string;

  constructor(version: number) {
    this.#version = String(version);
  }

  async catchUp(store: TestStore): Promise<void> {
    const reading = this.#read(store).catch(async (error: unknown) => {
      if (!isApiError(error, "Expired")) throw error;
      const { items, resourceVersion } = await store.list(Pools);
      this.objects.clear();
      for (const pool of items) this.#see(pool);
      this.#version = resourceVersion;
    });
    await store.clock.step(1000);
    await reading;
  }

  async #read(store: TestStore): Promise<void> {
    for await (const event of store.watch(Pools, { resourceVersion: this.#version, timeoutSeconds: 1, bookmarks: true })) {
      if (event.type === "BOOKMARK") this.#version = event.resourceVersion;
      else if (event.type === "DELETED") this.objects.delete(event.object.metadata.name ?? "");
      else this.#see(event.object);
    }
  }

  #see(pool: Pool): void {
    this.objects.set(pool.metadata.name ?? "", knownOf(pool));
  }
}

function knownOf({ metadata, spec }: Pool): Known {
  return {
    version: Number(metadata.resourceVersion),
    generation: metadata.generation ?? 0,
    value: spec?.replicas ?? -1,
    held: metadata.finalizers !== undefined,
    deleted: metadata.deletionTimestamp !== undefined,
  };
}

function perform(store: TestStore, op: Write): Promise<unknown> {
  const key = { namespace: "default", name: op.name };
  const merge = (body: JsonObject) => store.patch(Pools, key, { type: "merge", body });
  switch (op.do) {
    case "create":
      return store.create(Pools, aPool(op.name, { metadata: op.held ? { finalizers: ["example.com/hold"] } : {}, spec: { replicas: 0 } }));
    case "set":
      return merge({ spec: { replicas: op.value } });
    case "conditional":
      return store.get(Pools, key).then(({ metadata: { resourceVersion = "" } }) => {
        const version = op.stale ? String(Number(resourceVersion) - 1) : resourceVersion;
        return merge({ metadata: { resourceVersion: version }, spec: { replicas: op.value } });
      });
    case "release":
      return merge({ metadata: { finalizers: null } });
    case "delete":
      return store.delete(Pools, key);
  }
}

async function outcome(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return "ok";
  } catch (error) {
    return isApiError(error) ? error.reason : String(error);
  }
}

test("any sequence of writes has the outcome of a simple model, survives restarts, and its events add up to its state", async () => {
  let run = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(operation, { maxLength: 60 }), async (operations) => {
      const options = { file: join(folder, `${run++}.db`), tailEvents: 4, history: { revisions: 5, ms: 0 } };
      let store = openTestStore(options);
      const { clock } = store;
      const [model, follower] = [new Model(store.stats().newestRevision), new Follower(store.stats().newestRevision)];
      const [got, wanted]: [unknown[], unknown[]] = [[], []];
      for (const op of [...operations, { do: "restart" as const }]) {
        if ("name" in op) {
          got.push(await outcome(perform(store, op)));
          wanted.push(model.run(op));
        } else {
          if (op.do === "compact") await clock.step(20_000);
          else store.close();
          if (op.do === "restart") store = openTestStore({ ...options, clock });
          await follower.catchUp(store);
          got.push(new Map(follower.objects));
          wanted.push(new Map(model.objects));
        }
        got.push(store.stats().newestRevision);
        wanted.push(model.version);
      }
      expect(got).toEqual(wanted);
      const { items } = await store.list(Pools);
      expect(new Map(items.map((pool) => [pool.metadata.name, knownOf(pool)]))).toEqual(model.objects);
      store.close();
    }),
    { numRuns: 60 },
  );
});
