/**
 * What we have asked the server for and our cache has not shown yet. A count of pods taken while such a request is open is
 * wrong, and acting on it creates or deletes pods twice. So scaling waits for `satisfied` (I6).
 *
 * The rules are those of the original's PoolExpectations: expectations are raised before the calls are made; each kind has
 * its own pending set and raising one leaves the other; raising renews the entry's age; what is observed lowers by one and
 * never below zero; an entry is satisfied when nothing is pending, or when it is older than five minutes (a safety valve,
 * upon which it is dropped); a deleted owner is forgotten.
 *
 * What differs: the original counts, we remember names of pods to come and uids of pods to go, for three reasons.
 * - A doubled event, or one that a relist repeats, lowers a count twice, and foreign pods lower it too. A name is taken
 *   off once and by its own event only (I10).
 * - The original replaces the pending count when it is raised. While the first batch is still unseen, that forgets it: the
 *   first batch's events satisfy the second. Here the pending set becomes all that is unseen of both. In the original's own
 *   use (raise only when satisfied) nothing is unseen then, and this is the same as replacing.
 * - A call that failed takes back just its own expectation, instead of leaving the count stuck until the safety valve.
 */
import type { Clock } from "#lib/clock.ts";
import { formatKey, type Key } from "./key.ts";

/** After so long something was lost for good; better to count again than to stand still. */
export const expectationsTtlMs = 5 * 60_000;

interface Entry {
  raisedAt: number;
  /** Name or uid, and when it was raised. */
  readonly creations: Map<string, number>;
  readonly deletions: Map<string, number>;
}

export class Expectations {
  readonly #clock: Clock;
  readonly #entries = new Map<string, Entry>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Call before creating: pods of these names are on their way. Names are chosen by us, or there is nothing to wait for. */
  expectCreations(owner: Key, names: readonly string[]): void {
    this.#raise(owner, (entry) => entry.creations, names);
  }

  /** Call before deleting: pods of these uids are on their way out. */
  expectDeletions(owner: Key, uids: readonly string[]): void {
    this.#raise(owner, (entry) => entry.deletions, uids);
  }

  /** Call for every pod that the cache shows as new. */
  creationObserved(owner: Key, name: string): void {
    this.#entries.get(formatKey(owner))?.creations.delete(name);
  }

  /** Call for every pod that the cache shows as terminating or gone; both may come, either is enough. */
  deletionObserved(owner: Key, uid: string): void {
    this.#entries.get(formatKey(owner))?.deletions.delete(uid);
  }

  /**
   * The create was refused: no event will come. After an answer that leaves the outcome open (Unreachable, Timeout) create
   * the same name again instead; AlreadyExists is then success.
   */
  creationFailed(owner: Key, name: string): void {
    this.creationObserved(owner, name);
  }

  /** The delete was refused, or there was nothing to delete: no event will come. */
  deletionFailed(owner: Key, uid: string): void {
    this.deletionObserved(owner, uid);
  }

  /** Pods that were asked for and that the cache does not show yet. */
  pendingCreations(owner: Key): number {
    return this.#entries.get(formatKey(owner))?.creations.size ?? 0;
  }

  /** True when the cache has shown all that we asked for; also for an unknown owner, as after a restart. */
  satisfied(owner: Key): boolean {
    const entry = this.#entries.get(formatKey(owner));
    if (entry === undefined) return true;
    if (this.#clock.now() - entry.raisedAt > expectationsTtlMs) {
      this.forget(owner);
      return true;
    }
    return entry.creations.size === 0 && entry.deletions.size === 0;
  }

  /** Call when the owner is gone. */
  forget(owner: Key): void {
    this.#entries.delete(formatKey(owner));
  }

  #raise(owner: Key, pendingOf: (entry: Entry) => Map<string, number>, wanted: readonly string[]): void {
    const now = this.#clock.now();
    const key = formatKey(owner);
    const entry = this.#entries.get(key) ?? { raisedAt: now, creations: new Map(), deletions: new Map() };
    entry.raisedAt = now;
    dropLost(entry.creations, now);
    dropLost(entry.deletions, now);
    for (const one of wanted) pendingOf(entry).set(one, now);
    this.#entries.set(key, entry);
  }
}

/** Raising renews the entry's age. Without this, an owner that raises again and again would wait for one lost event for ever. */
function dropLost(pending: Map<string, number>, now: number): void {
  for (const [one, raisedAt] of pending) {
    if (now - raisedAt > expectationsTtlMs) pending.delete(one);
  }
}
