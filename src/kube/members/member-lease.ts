/**
 * Processes of one sort that know of each other: each keeps a Lease of its own and says in it what the others should know.
 *
 * - `member-lease.ts`  says that we are here
 * - `members.ts`       sees which processes are there
 *
 * Only the member itself writes its lease, so writes carry no version. A member that ends deletes its lease; one that died
 * stops being a member when its lease has not changed for as long as the lease says.
 */
import { isApiError } from "#kube/api-error.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import { abortable, ChildAbort } from "#lib/abortable.ts";
import { type Random, spread } from "#lib/backoff.ts";
import { type Clock, kubernetesMicroTime, sleep } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import { type Lease, Leases } from "#model/core-kinds.ts";
import { annotationKeys, labelKeys } from "#model/keys.ts";

export interface MemberDeps {
  readonly client: ObjectClient;
  readonly clock: Clock;
  readonly log: Logger;
  readonly random?: Random | undefined;
}

export interface MemberName {
  readonly namespace: string;
  /** Of the lease: not two processes have the same. */
  readonly name: string;
  /** What sort of process it is. */
  readonly part: string;
}

export interface MemberTiming {
  /** For how long a lease counts without being renewed. */
  readonly leaseMs: number;
  readonly renewMs: number;
  /** Between two writes, whatever there is to say. */
  readonly leastMs: number;
  /** For a process that is restarted at once: it leaves its lease, which runs out if the process does not return. */
  readonly staysOnStop?: boolean;
}

export const memberTiming: MemberTiming = { leaseMs: 15_000, renewMs: 4_000, leastMs: 1_000 };

/** Give or take, so that processes that were started together do not write together. */
const renewSpread = 0.2;
const callMs = 3_000;

export class MemberLease {
  readonly #deps: MemberDeps;
  readonly #member: MemberName;
  readonly #timing: MemberTiming;
  readonly #stopped = new AbortController();
  readonly #running: Promise<void>;
  #told: string | undefined;
  #written: string | undefined;
  #wake: () => void = () => {};
  #isFailing = false;

  /** Is a member from now on. */
  constructor(deps: MemberDeps, member: MemberName, timing: MemberTiming = memberTiming) {
    this.#deps = deps;
    this.#member = member;
    this.#timing = timing;
    this.#running = this.#keep();
  }

  get name(): string {
    return this.#member.name;
  }

  /** What the others are to know from now on. */
  tell(text: string | undefined): void {
    this.#told = text;
    if (text !== this.#written) this.#wake();
  }

  async stop(): Promise<void> {
    this.#stopped.abort(new Error("the process is no member any more"));
    this.#wake();
    await this.#running;
  }

  async #keep(): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      const isWritten = await this.#write(this.#told);
      await this.#pause(this.#timing.leastMs);
      if (isWritten && this.#told === this.#written) await this.#pause(this.#untilRenewal(), { orWoken: true });
    }
    if (this.#timing.staysOnStop !== true) await this.#remove();
  }

  #untilRenewal(): number {
    const { renewMs, leastMs } = this.#timing;
    return Math.max(0, spread(renewMs, renewSpread, this.#deps.random ?? Math.random) - leastMs);
  }

  async #pause(ms: number, { orWoken = false } = {}): Promise<void> {
    using woken = new ChildAbort(this.#stopped.signal);
    if (orWoken) this.#wake = () => woken.abort(new Error("there is something to say"));
    await sleep(this.#deps.clock, ms, woken.signal).catch(() => {});
    this.#wake = () => {};
  }

  async #write(told: string | undefined): Promise<boolean> {
    try {
      await this.#call((signal) => this.#put(told, signal));
      this.#written = told;
      this.#isFailing = false;
      return true;
    } catch (error) {
      if (!this.#isFailing) this.#deps.log.warn({ lease: this.#member.name, error }, "membership not renewed; tried again");
      this.#isFailing = true;
      return false;
    }
  }

  async #put(told: string | undefined, signal: AbortSignal): Promise<void> {
    const { client, clock } = this.#deps;
    const { namespace, name, part } = this.#member;
    const labels = { [labelKeys.processPart]: part };
    const spec = {
      holderIdentity: name,
      leaseDurationSeconds: Math.ceil(this.#timing.leaseMs / 1000),
      renewTime: kubernetesMicroTime(clock.now()),
    };
    try {
      const metadata = { labels, annotations: { [annotationKeys.claimDemand]: told ?? null } };
      await client.patch(Leases, { namespace, name }, { type: "merge", body: { metadata, spec } }, { signal });
    } catch (error) {
      if (!isApiError(error, "NotFound")) throw error;
      const annotations = told === undefined ? {} : { [annotationKeys.claimDemand]: told };
      const lease: Lease = { metadata: { namespace, name, labels, annotations }, spec };
      await client.create(Leases, lease, { signal });
    }
  }

  async #remove(): Promise<void> {
    const { client, log } = this.#deps;
    const { namespace, name } = this.#member;
    try {
      await this.#call((signal) => client.delete(Leases, { namespace, name }, { signal }));
    } catch (error) {
      if (!isApiError(error, "NotFound")) log.warn({ lease: name, error }, "membership not ended; it will run out");
    }
  }

  async #call<T>(call: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const late = new AbortController();
    const timer = this.#deps.clock.after(callMs, () => late.abort(new Error(`no answer within ${callMs} ms`)));
    try {
      return await abortable(call(late.signal), late.signal);
    } finally {
      timer.cancel();
    }
  }
}
