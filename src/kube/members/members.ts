import { Informer, type InformerPace } from "#kube/informer/informer.ts";
import { isLostRace } from "#kube/lost-race.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import type { MonotonicClock, Timer } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import { type Lease, Leases } from "#model/core-kinds.ts";
import { annotationKeys, labelKeys } from "#model/keys.ts";

export interface MembersDeps {
  readonly client: ObjectClient;
  readonly clock: MonotonicClock;
  readonly log: Logger;
}

export interface MembersOptions {
  readonly namespace: string;
  readonly part: string;
  readonly pace?: Partial<InformerPace>;
}

export interface Member {
  readonly name: string;
  /** What it tells the others. */
  readonly told: string | undefined;
}

interface Seen {
  readonly renewTime: string | undefined;
  /** By our own clock: those of others may be wrong. */
  readonly atMs: number;
}

/** This long after its last renewal the lease of a dead process is removed by any process that sees it. */
const forgottenAfterMs = 10 * 60_000;
const lookEveryMs = 60_000;

/** The live members, from their leases. Start it; it follows the server until it is stopped. */
export class Members {
  readonly #deps: MembersDeps;
  readonly #leases: Informer<Lease>;
  readonly #seen = new Map<string, Seen>();
  #sweep: Timer | undefined;

  constructor(deps: MembersDeps, { namespace, part, pace = {} }: MembersOptions) {
    this.#deps = deps;
    this.#leases = new Informer<Lease>(deps, { type: Leases, namespace, labelSelector: `${labelKeys.processPart}=${part}`, pace });
    this.#leases.onChange((now, before) => this.#observe(now, before));
  }

  async run(signal?: AbortSignal): Promise<void> {
    this.#leases.start();
    this.#sweepLater();
    await this.#leases.whenSynced(signal);
  }

  async stop(): Promise<void> {
    this.#sweep?.cancel();
    await this.#leases.stop();
  }

  /** Members that have renewed their lease in time. */
  *live(): Generator<Member> {
    const now = this.#deps.clock.monotonic();
    for (const lease of this.#leases.objects.list()) {
      const { name = "", annotations } = lease.metadata;
      const seen = this.#seen.get(name);
      const lastsMs = (lease.spec?.leaseDurationSeconds ?? 0) * 1000;
      if (seen !== undefined && now - seen.atMs <= lastsMs) yield { name, told: annotations?.[annotationKeys.claimDemand] };
    }
  }

  /** Told of every member that says something else than before. Returns what ends it. */
  onTold(handler: (told: string | undefined) => void): () => void {
    const registration = this.#leases.onChange((now, before) => {
      const [told, toldBefore] = [now, before].map((lease) => lease?.metadata.annotations?.[annotationKeys.claimDemand]);
      if (told !== toldBefore) handler(told);
    });
    return () => registration.remove();
  }

  #observe(now: Lease | undefined, before: Lease | undefined): void {
    const name = (now ?? before)?.metadata.name ?? "";
    if (now === undefined) {
      this.#seen.delete(name);
      return;
    }
    const renewTime = now.spec?.renewTime;
    // A change of labels alone does not make a dead process count as alive.
    if (this.#seen.get(name)?.renewTime === renewTime && this.#seen.has(name)) return;
    this.#seen.set(name, { renewTime, atMs: this.#deps.clock.monotonic() });
  }

  #sweepLater(): void {
    this.#sweep = this.#deps.clock.after(lookEveryMs, () => {
      this.#sweepLater();
      void this.#removeForgotten();
    });
  }

  async #removeForgotten(): Promise<void> {
    const { client, clock, log } = this.#deps;
    const now = clock.monotonic();
    for (const { metadata } of this.#leases.objects.list().toArray()) {
      const { namespace, name = "", uid, resourceVersion } = metadata;
      if (now - (this.#seen.get(name)?.atMs ?? now) < forgottenAfterMs) continue;
      try {
        await client.delete(Leases, { namespace, name }, { preconditions: { uid, resourceVersion } });
        log.info({ lease: name }, "lease of a process that is gone removed");
      } catch (error) {
        if (!isLostRace(error)) log.warn({ lease: name, error }, "lease of a process that is gone not removed");
      }
    }
  }
}
