/**
 * What pools have to do something about, kept at every change of a pod: so that a look at a pool costs what has changed and not what is
 * there. It holds nothing that the cache does not: all of it follows from the pods, and is built anew with them.
 */
import { formatKey, type Key } from "#kube/controller/key.ts";
import type { ChangeSource } from "#kube/controller/source.ts";
import { poolOf } from "#model/claimed-pod.ts";
import type { Pod } from "#model/pod.ts";
import { noteOf, type PodNote } from "#controllers/pool/pod-note.ts";
import { TimeOrder } from "#controllers/pool/roll-out/time-order.ts";

type Notes = ReadonlyMap<string, PodNote>;

/** The pods of one pool. */
export class PodBook {
  readonly #all = new Map<string, PodNote>();
  readonly #unprotected = new Map<string, PodNote>();
  readonly #strays = new Map<string, PodNote>();
  readonly #marked = new Map<string, PodNote>();
  readonly #hashes = new Map<string, number>();
  /** Idle pods, the longest idle first. */
  readonly ready = new TimeOrder<PodNote>();
  readonly unready = new TimeOrder<PodNote>();
  #newestReadyMs = 0;
  #stillborn = 0;
  #lastStillborn: Pod | undefined;
  readonly #provenHashes = new Set<string>();

  get size(): number {
    return this.#all.size;
  }

  get unprotected(): Notes {
    return this.#unprotected;
  }

  get strays(): Notes {
    return this.#strays;
  }

  /** Idle pods that are chosen for scale-down. */
  get marked(): Notes {
    return this.#marked;
  }

  /** When the youngest pod was made that has ever been ready. */
  get newestReadyMs(): number {
    return this.#newestReadyMs;
  }

  /** How many pods have ended without having been ready once. Only grows. */
  get stillborn(): number {
    return this.#stillborn;
  }

  /** The last of these. */
  get lastStillborn(): Pod | undefined {
    return this.#lastStillborn;
  }

  /** Whether a pod of this template has been ready. */
  isProven(templateHash: string): boolean {
    return this.#provenHashes.has(templateHash);
  }

  /** How many idle pods are of this template. */
  idleOf(templateHash: string): number {
    return this.#hashes.get(templateHash) ?? 0;
  }

  /** How many idle pods are of any other template than this. */
  outdated(templateHash: string): number {
    return this.ready.size + this.unready.size - this.idleOf(templateHash);
  }

  put(note: PodNote): void {
    const before = this.#all.get(note.name);
    if (before !== undefined) this.remove(note.name);
    this.#all.set(note.name, note);
    if (note.isUnprotected) this.#unprotected.set(note.name, note);
    if (note.isStray) this.#strays.set(note.name, note);
    if (note.isReady) this.#becameReady(note);
    if (note.hasEnded && before?.hasEnded !== true && this.#newestReadyMs < note.createdMs) {
      this.#stillborn += 1;
      this.#lastStillborn = note.pod;
    }
    if (note.slot === "idle") this.#putIdle(note);
  }

  remove(name: string): void {
    const note = this.#all.get(name);
    if (note === undefined) return;
    for (const notes of [this.#all, this.#unprotected, this.#strays, this.#marked]) notes.delete(name);
    for (const order of [this.ready, this.unready]) order.delete(name);
    if (note.slot === "idle") this.#countHash(note.templateHash, -1);
  }

  #becameReady({ createdMs, templateHash }: PodNote): void {
    this.#newestReadyMs = Math.max(this.#newestReadyMs, createdMs);
    this.#provenHashes.add(templateHash);
  }

  #putIdle(note: PodNote): void {
    if (note.marked !== undefined) this.#marked.set(note.name, note);
    if (note.isReady) this.ready.set(note.name, note.idleSinceMs, note);
    else this.unready.set(note.name, note.unreadySinceMs, note);
    this.#countHash(note.templateHash, 1);
  }

  #countHash(hash: string, by: 1 | -1): void {
    const count = (this.#hashes.get(hash) ?? 0) + by;
    if (count === 0) this.#hashes.delete(hash);
    else this.#hashes.set(hash, count);
  }
}

export class PoolLedger {
  readonly #books = new Map<string, PodBook>();

  /** Follows the pods. Returns what ends it. */
  follow(pods: ChangeSource<Pod>): () => void {
    const connection = pods.onChange((now, before) => this.#change(now, before));
    return () => connection.remove();
  }

  /** An empty one for a pool without pods. */
  of(pool: Key): PodBook {
    return this.#books.get(formatKey(pool)) ?? new PodBook();
  }

  /** The pool is gone. */
  forget(pool: Key): void {
    if (this.of(pool).size === 0) this.#books.delete(formatKey(pool));
  }

  #change(now: Pod | undefined, before: Pod | undefined): void {
    const [nowAt, beforeAt] = [bookKey(now), bookKey(before)];
    if (before !== undefined && beforeAt !== undefined && beforeAt !== nowAt) this.#books.get(beforeAt)?.remove(before.metadata.name ?? "");
    if (now === undefined || nowAt === undefined) return;
    let book = this.#books.get(nowAt);
    if (book === undefined) this.#books.set(nowAt, (book = new PodBook()));
    book.put(noteOf(now));
  }
}

function bookKey(pod: Pod | undefined): string | undefined {
  const pool = pod === undefined ? undefined : poolOf(pod);
  return pod === undefined || pool === undefined ? undefined : formatKey({ namespace: pod.metadata.namespace, name: pool });
}
