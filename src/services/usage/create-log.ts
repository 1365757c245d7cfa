/**
 * Recent creates in memory, for the console: how many, how long they took, and why some failed. Each caller sees only its own, unlike the metrics of the
 * server (`claim-metrics.ts`), which do not separate tenants.
 */
import type { Clock } from "#lib/clock.ts";
import type { Caller } from "#services/caller.ts";
import { isServiceError } from "#services/service-error.ts";
import type { SandboxService } from "#services/sandbox-service.ts";
import { TeamRings } from "./team-rings.ts";

export interface CreateReport {
  /** The span that is reported, in seconds. */
  readonly seconds: number;
  readonly created: number;
  readonly failed: number;
  /** Found no idle pod and waited for one. Absent for a single user: misses are counted by team. */
  readonly missed?: number;
  /** Times of the creates that succeeded, in milliseconds; absent when there were none. */
  readonly p50Ms?: number;
  readonly p99Ms?: number;
  readonly failures: readonly { readonly code: string; readonly count: number }[];
  /** Equal parts of the span, oldest first. */
  readonly parts: readonly { readonly start: string; readonly created: number; readonly failed: number }[];
}

interface Noted {
  readonly atMs: number;
  readonly team: string;
  readonly user: string | undefined;
  readonly tookMs: number;
  /** Undefined: it was created. */
  readonly code: string | undefined;
}

/** A team may create more than this in an hour; then its report covers a shorter time. */
const bounds = { ofTeam: 20_000, ofAll: 200_000 };
const partCount = 60;

export class CreateLog {
  readonly #clock: Clock;
  readonly #noted = new TeamRings<Noted>(bounds);
  readonly #missed = new TeamRings<{ readonly atMs: number; readonly team: string }>(bounds);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The same create, noted. */
  over(create: SandboxService["create"]): SandboxService["create"] {
    return async (caller, command, options) => {
      const began = this.#clock.now();
      try {
        const created = await create(caller, command, options);
        this.#note(caller, began, undefined);
        return created;
      } catch (error) {
        this.#note(caller, began, isServiceError(error) ? error.code : "internal");
        throw error;
      }
    };
  }

  /** Likewise; each sandbox of a batch counts. */
  overMany(createMany: SandboxService["createMany"]): SandboxService["createMany"] {
    return async (caller, command, options) => {
      const began = this.#clock.now();
      try {
        const batch = await createMany(caller, command, options);
        for (const _ of batch.sandboxes) this.#note(caller, began, undefined);
        for (const { code } of batch.failures) this.#note(caller, began, code);
        return batch;
      } catch (error) {
        this.#note(caller, began, isServiceError(error) ? error.code : "internal");
        throw error;
      }
    };
  }

  miss(team: string): void {
    this.#missed.add(team, { atMs: this.#clock.now(), team });
  }

  report(caller: Caller, seconds: number): CreateReport {
    const partMs = (seconds * 1000) / partCount;
    const since = this.#clock.now() - seconds * 1000;
    const own = ownSince(this.#noted, caller, since);
    const took = own.filter(({ code }) => code === undefined).map(({ tookMs }) => tookMs);
    took.sort((a, b) => a - b);
    const parts = Array.from({ length: partCount }, (_, index) => ({ created: 0, failed: 0, start: isoTime(since + index * partMs) }));
    const failures = new Map<string, number>();
    for (const { atMs, code } of own) {
      const part = parts[Math.min(partCount - 1, Math.floor((atMs - since) / partMs))];
      if (part !== undefined) part[code === undefined ? "created" : "failed"] += 1;
      if (code !== undefined) failures.set(code, (failures.get(code) ?? 0) + 1);
    }
    return {
      seconds,
      created: took.length,
      failed: own.length - took.length,
      ...(caller.user === undefined && { missed: ownSince(this.#missed, caller, since).length }),
      ...(took.length > 0 && { p50Ms: quantile(took, 0.5), p99Ms: quantile(took, 0.99) }),
      failures: [...failures].map(([code, count]) => ({ code, count })).sort((a, b) => b.count - a.count),
      parts,
    };
  }

  #note({ team, user }: Caller, began: number, code: string | undefined): void {
    const atMs = this.#clock.now();
    this.#noted.add(team, { atMs, team, user, tookMs: atMs - began, code });
  }
}

function ownSince<T extends Pick<Noted, "atMs" | "team">>(rings: TeamRings<T>, caller: Caller, since: number): readonly T[] {
  const known = caller.role === "admin" ? [...rings.all()] : rings.of(caller.team);
  return known.filter((one) => one.atMs >= since && isOf(caller, one));
}

function isOf({ role, team, user }: Caller, noted: { readonly team: string; readonly user?: string | undefined }): boolean {
  return role === "admin" || (team !== "" && noted.team === team && (user === undefined || noted.user === user));
}

/** The smallest value that at least this share of all values does not exceed. */
function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}
