import fc from "fast-check";
import { expect, test } from "vitest";
import { annotationKeys, finalizers, labelKeys } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import { aPoolPod } from "../../../../test/world/pool-pods.ts";
import { PoolLedger } from "./pool-ledger.ts";

/** What a ledger follows: pods that come, change and go. */
class PodFeed {
  readonly #handlers = new Set<(now: Pod | undefined, before: Pod | undefined) => void>();

  readonly onChange = (handler: (now: Pod | undefined, before: Pod | undefined) => void) => {
    this.#handlers.add(handler);
    return { whenSynced: async () => {}, remove: () => this.#handlers.delete(handler) };
  };

  tell(now: Pod | undefined, before: Pod | undefined): void {
    for (const handler of this.#handlers) handler(now, before);
  }
}

const pools = ["py", "go"] as const;

const arbitraryPod = fc
  .record({
    name: fc.constantFrom("a", "b", "c", "d", "e"),
    pool: fc.constantFrom(...pools, undefined),
    phase: fc.constantFrom("idle", "idle", "idle", "running", undefined),
    isReady: fc.boolean(),
    isProtected: fc.boolean(),
    isGoing: fc.boolean(),
    hash: fc.constantFrom("old", "new"),
    mark: fc.constantFrom(undefined, "2026-01-01T00:00:00Z", "nonsense"),
    second: fc.integer({ min: 0, max: 59 }),
  })
  .map((shape): Pod => {
    const at = `2026-01-01T00:00:${String(shape.second).padStart(2, "0")}Z`;
    const labels = {
      ...(shape.pool === undefined ? {} : { [labelKeys.sandboxPool]: shape.pool }),
      ...(shape.phase === undefined ? {} : { [labelKeys.sandboxPhase]: shape.phase }),
    };
    const annotations = {
      [annotationKeys.templateHash]: shape.hash,
      ...(shape.mark === undefined ? {} : { [annotationKeys.chosenToGo]: shape.mark }),
    };
    const metadata = {
      name: shape.name,
      uid: shape.name,
      creationTimestamp: at,
      labels,
      annotations,
      finalizers: shape.isProtected ? [finalizers.sandboxProtection] : [],
      ...(shape.isGoing ? { deletionTimestamp: at } : {}),
    };
    return aPoolPod({ metadata, ready: shape.isReady });
  });

const arbitraryChange = fc.oneof(
  { weight: 4, arbitrary: arbitraryPod },
  { weight: 1, arbitrary: fc.constantFrom("a", "b", "c", "d", "e").map((gone) => ({ gone })) },
);

/** Everything that a look at a pool reads of it. */
function contents(ledger: PoolLedger, pool: string): unknown {
  const book = ledger.of({ namespace: "ns", name: pool });
  const names = (notes: ReadonlyMap<string, unknown>): string[] => [...notes.keys()].sort();
  // Pods of the same second stand in any order.
  const ordered = (order: typeof book.ready): unknown => {
    const notes = order.oldestFirst().toArray();
    return { names: notes.map(({ name }) => name).sort(), times: notes.map(({ createdMs }) => createdMs) };
  };
  return {
    size: book.size,
    unprotected: names(book.unprotected),
    strays: names(book.strays),
    marked: names(book.marked),
    ready: ordered(book.ready),
    unready: ordered(book.unready),
    outdated: ["old", "new", "other"].map((hash) => book.outdated(hash)),
  };
}

test("I10: what a ledger knows of a pool follows from the pods that there are, however they came to be so", () => {
  fc.assert(
    fc.property(fc.array(arbitraryChange, { maxLength: 40 }), (changes) => {
      const feed = new PodFeed();
      const kept = new PoolLedger();
      kept.follow(feed);
      const present = new Map<string, Pod>();
      for (const change of changes) {
        const name = "gone" in change ? change.gone : (change.metadata.name ?? "");
        const now = "gone" in change ? undefined : change;
        const before = present.get(name);
        if (now === undefined) present.delete(name);
        else present.set(name, now);
        if (now !== undefined || before !== undefined) feed.tell(now, before);
        // Reading in between sorts; that must not change what is read later.
        for (const pool of pools) contents(kept, pool);
      }
      const anew = new PoolLedger();
      const fresh = new PodFeed();
      anew.follow(fresh);
      for (const pod of present.values()) fresh.tell(pod, undefined);
      for (const pool of pools) expect(contents(kept, pool)).toEqual(contents(anew, pool));
    }),
  );
});
