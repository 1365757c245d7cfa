/**
 * When a lease may be taken, as one candidate sees it. Only the candidate's own clock counts: the lease is free when it has
 * not changed for its whole duration since *we* first saw it as it is. What time its holder believes it to be does not
 * matter. Seeing late only makes a candidate wait longer, which is safe.
 */
import type { Lease } from "#model/core-kinds.ts";

interface Seen {
  readonly version: string;
  readonly since: number;
  readonly holder: string;
  readonly durationMs: number;
}

const absent = "absent";

export class LeaseObserver {
  readonly #identity: string;
  readonly #defaultDurationMs: number;
  #seen: Seen | undefined;

  constructor(identity: string, defaultDurationMs: number) {
    this.#identity = identity;
    this.#defaultDurationMs = defaultDurationMs;
  }

  /** Call with what the server answered, and the monotonic time after the answer. */
  observe(lease: Lease | undefined, at: number): void {
    const version = lease === undefined ? absent : `${lease.metadata.uid}/${lease.metadata.resourceVersion}`;
    if (this.#seen?.version === version) return;
    // A held lease was deleted: its holder leads on until it notices, so a missing lease is waited for too.
    const holder = lease === undefined ? (this.#seen?.holder ?? "") : (lease.spec?.holderIdentity ?? "");
    this.#seen = { version, since: at, holder, durationMs: this.#durationOf(lease) };
  }

  /** How long the lease must still be left alone; 0 when it may be taken. */
  takeableInMs(at: number): number {
    const seen = this.#seen;
    if (seen === undefined) return Number.POSITIVE_INFINITY;
    if (seen.holder === "" || seen.holder === this.#identity) return 0;
    return Math.max(0, seen.since + seen.durationMs - at);
  }

  /** The holder's own duration: by that one it measures how long it may lead. */
  #durationOf(lease: Lease | undefined): number {
    if (lease === undefined) return this.#seen?.durationMs ?? this.#defaultDurationMs;
    const seconds = lease.spec?.leaseDurationSeconds;
    return seconds === undefined ? this.#defaultDurationMs : seconds * 1000;
  }
}
