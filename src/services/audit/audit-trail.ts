/**
 * Writes the audit log. Entries are written in groups: while one group is written, the next one gathers. The answer to a request waits for its entry, so every
 * answered request is in the log, even if this process is killed right after. If the database does not answer, a request waits no longer than `patienceMs`;
 * its entry then waits in memory, up to a bound. Entries beyond that are dropped and counted. The line `change` of the server's log has all of them.
 */
import { randomUUID } from "node:crypto";
import { backoffMs, type Random } from "#lib/backoff.ts";
import { type Clock, endsWithin, sleep } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import type { Counter, Metrics } from "#lib/metrics.ts";
import type { AuditEntry, AuditStore } from "#store/audit/audit-store.ts";

export interface AuditTrailDeps {
  readonly store: Pick<AuditStore, "add" | "trim">;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** How many entries of each team are kept; `defaultEntriesPerTeam` when left out. */
  readonly entriesPerTeam?: number | undefined;
  readonly random?: Random;
}

export type NewEntry = Omit<AuditEntry, "id" | "at">;

export const defaultEntriesPerTeam = 100_000;

const maxWaiting = 10_000;
/** The bound for one team while the database is away, so that there is room for entries of the others. */
const maxWaitingOfTeam = maxWaiting / 4;
const groupSize = 500;
const patienceMs = 1000;
const retry = { baseMs: 200, maxMs: 10_000, jitter: "equal" } as const;
/** How long the last entries may take when the process ends. */
const lastMs = 5000;

interface Waiting {
  readonly entry: AuditEntry;
  readonly done: () => void;
}

export class AuditTrail implements AsyncDisposable {
  readonly #deps: AuditTrailDeps;
  readonly #keep: number;
  readonly #dropped: Counter<never>;
  readonly #waiting: Waiting[] = [];
  readonly #waitingOf = new Map<string, number>();
  readonly #added = new Map<string, number>();
  readonly #stop = new AbortController();
  #writing: Promise<void> | undefined;

  constructor(deps: AuditTrailDeps) {
    this.#deps = deps;
    this.#keep = deps.entriesPerTeam ?? defaultEntriesPerTeam;
    this.#dropped = deps.metrics.counter({
      name: "agentbox_audit_entries_dropped_total",
      help: "Entries of the audit log that could not be stored",
      labels: [],
    });
  }

  /** Resolves when the entry is stored, or after a second. Never rejects. */
  async note(noted: NewEntry): Promise<void> {
    if (this.#keep === 0) return;
    if (this.#isFullFor(noted.team) || this.#stop.signal.aborted) return this.#drop(1);
    const { clock } = this.#deps;
    const entry: AuditEntry = { ...noted, id: randomUUID(), at: new Date(clock.now()).toISOString() };
    const stored = new Promise<void>((done) => this.#waiting.push({ entry, done }));
    this.#waitingOf.set(entry.team, (this.#waitingOf.get(entry.team) ?? 0) + 1);
    this.#writing ??= this.#writeAll();
    await endsWithin(stored, clock, patienceMs);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#writing !== undefined) await endsWithin(this.#writing, this.#deps.clock, lastMs);
    this.#stop.abort(new Error("the audit log is closed"));
    await this.#writing;
  }

  async #writeAll(): Promise<void> {
    for (let failures = 0; this.#waiting.length > 0;) {
      const group = this.#waiting.slice(0, groupSize);
      try {
        await this.#deps.store.add(group.map(({ entry }) => entry));
        this.#take(group.length);
        failures = 0;
        for (const { done } of group) done();
        await this.#trim(group);
      } catch (error) {
        if (failures++ === 0) this.#deps.log.warn({ error }, "the audit log cannot be written; entries wait");
        await this.#pause(failures);
        if (this.#stop.signal.aborted) return this.#giveUp();
      }
    }
    // In the same step as the last look, so that an entry that comes right after starts a new writer.
    this.#writing = undefined;
  }

  #isFullFor(team: string): boolean {
    return this.#waiting.length >= maxWaiting || (this.#waitingOf.get(team) ?? 0) >= maxWaitingOfTeam;
  }

  #take(count: number): readonly Waiting[] {
    const taken = this.#waiting.splice(0, count);
    for (const { entry } of taken) {
      const left = (this.#waitingOf.get(entry.team) ?? 1) - 1;
      if (left > 0) this.#waitingOf.set(entry.team, left);
      else this.#waitingOf.delete(entry.team);
    }
    return taken;
  }

  async #pause(failures: number): Promise<void> {
    const { clock, random = Math.random } = this.#deps;
    await sleep(clock, backoffMs(retry, failures, random), this.#stop.signal).catch(() => {});
  }

  #giveUp(): void {
    const rest = this.#take(this.#waiting.length);
    for (const { done } of rest) done();
    this.#drop(rest.length);
  }

  #drop(count: number): void {
    if (count > 0) this.#dropped.add({}, count);
  }

  /** Now and then: looking for the oldest entry to keep costs more than adding some. */
  async #trim(group: readonly Waiting[]): Promise<void> {
    for (const { entry } of group) {
      const { team } = entry;
      const added = (this.#added.get(team) ?? 0) + 1;
      const isDue = added > this.#keep / 100;
      this.#added.set(team, isDue ? 0 : added);
      if (isDue) await this.#trimTeam(team);
    }
  }

  /** One step removes a bounded number. */
  async #trimTeam(team: string): Promise<void> {
    let removed: number;
    do removed = await this.#deps.store.trim(team, this.#keep);
    while (removed > 0);
  }
}
