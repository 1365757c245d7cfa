/**
 * Samples the usage of running sandboxes every five seconds and keeps it for an hour (ADR 39). Paused sandboxes are skipped, and sampling does not count
 * as use of a sandbox.
 *
 * - `usage-sampler.ts`  the loop                     - `usage-log.ts`   stored samples
 * - `sandbox-usage.ts`  reads for a caller           - `oom-events.ts`  reports memory kills
 * - `pod-use.ts`        port to the usage of pods; `daemon-use.ts` asks the daemons
 */
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import type { Clock, Timer } from "#lib/clock.ts";
import { Limiter } from "#lib/limiter.ts";
import type { Counter, Metrics } from "#lib/metrics.ts";
import { isClaimed, sandboxIdOf, sandboxPhaseOf } from "#model/claimed-pod.ts";
import { isFrozen, pauseWish } from "#model/pause.ts";
import type { Pod } from "#model/pod.ts";
import type { LiveSandboxes } from "#services/reading/live-sandboxes.ts";
import type { Capacity, PodUse, ReadPodUse } from "./pod-use.ts";
import { UsageLog } from "./usage-log.ts";
import { quantityNumber } from "#model/quantity.ts";

export interface UsageSamplerDeps {
  readonly live: Pick<LiveSandboxes, "running">;
  readonly cache: Pick<SandboxCache, "podsOfSandbox">;
  readonly read: ReadPodUse;
  /**
   * `all`: every running sandbox, for the only API process. `asked`: those requested recently, for one of several processes, which would otherwise all
   * sample everything.
   */
  readonly sampled: "all" | "asked";
  readonly clock: Clock;
  readonly metrics: Metrics;
  /** Called when the kernel killed processes of a sandbox because its memory was full; `kills` is their number so far. */
  readonly onOomKills?: ((pod: Pod, kills: number) => void) | undefined;
}

export const sampleEveryMs = 5000;
/** A client that asked once probably asks again. */
const interestMs = 10 * 60_000;
const readsAtOnce = 8;

interface Seen {
  readonly atMs: number;
  readonly cpuMs: number;
  readonly limits: Capacity;
  readonly oomKills: number;
}

export class UsageSampler implements Disposable {
  readonly log = new UsageLog();
  readonly #deps: UsageSamplerDeps;
  readonly #limiter = new Limiter(readsAtOnce);
  /** The last reading of each sandbox. */
  readonly #seen = new Map<string, Seen>();
  readonly #askedAt = new Map<string, number>();
  readonly #samples: Counter<"result">;
  #timer: Timer | undefined;

  constructor(deps: UsageSamplerDeps) {
    this.#deps = deps;
    this.#samples = deps.metrics.counter({
      name: "agentbox_usage_samples_total",
      help: "Looks at what a sandbox uses",
      labels: ["result"],
    });
    this.#later();
  }

  [Symbol.dispose](): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  /** Resolves when there is a sample, if one is possible: a caller does not wait five seconds for the first. */
  async ask(sandboxId: string): Promise<void> {
    this.#askedAt.set(sandboxId, this.#deps.clock.now());
    if (this.log.last(sandboxId) !== undefined) return;
    const pod = this.#runningPod(sandboxId);
    if (pod !== undefined) await this.#limiter.run(() => this.#sample(sandboxId, pod));
  }

  /** Undefined before the first sample. */
  limitsOf(sandboxId: string): Capacity | undefined {
    return this.#seen.get(sandboxId)?.limits;
  }

  #later(ms = sampleEveryMs): void {
    const { clock } = this.#deps;
    this.#timer = clock.after(ms, () => {
      const began = clock.now();
      // One round at a time, however long it takes.
      void this.#round().finally(() => {
        if (this.#timer !== undefined) this.#later(Math.max(0, began + sampleEveryMs - clock.now()));
      });
    });
  }

  async #round(): Promise<void> {
    this.#forgetGone();
    await Promise.all(this.#wanted().map((pod) => this.#limiter.run(() => this.#sample(sandboxIdOf(pod) ?? "", pod))));
  }

  #wanted(): readonly Pod[] {
    if (this.#deps.sampled === "all") return [...this.#deps.live.running()].filter(canBeAsked);
    return [...this.#askedAt.keys()].flatMap((sandboxId) => this.#runningPod(sandboxId) ?? []);
  }

  #runningPod(sandboxId: string): Pod | undefined {
    return this.#deps.cache.podsOfSandbox(sandboxId).find((pod) => isClaimed(pod) && canBeAsked(pod));
  }

  async #sample(sandboxId: string, pod: Pod): Promise<void> {
    // The sandbox may have been frozen, or sampling stopped, while this read waited for its turn.
    if (!canBeAsked(pod) || this.#timer === undefined) return;
    let use;
    try {
      use = await this.#deps.read(pod);
    } catch {
      // Usually because the sandbox ends. Otherwise its samples have a gap here, which is harmless.
      this.#samples.add({ result: "failed" });
      return;
    }
    // By now the pod may carry another sandbox.
    if (this.#runningPod(sandboxId)?.metadata.uid !== pod.metadata.uid) return;
    this.#tellOomKills(sandboxId, pod, use);
    this.#keep(sandboxId, pod, use);
    this.#samples.add({ result: "kept" });
  }

  #tellOomKills(sandboxId: string, pod: Pod, { oomKills = 0 }: PodUse): void {
    if (oomKills > (this.#seen.get(sandboxId)?.oomKills ?? 0)) this.#deps.onOomKills?.(pod, oomKills);
  }

  #keep(sandboxId: string, pod: Pod, { cpuMs, memoryBytes, cacheBytes, diskBytes, machine, oomKills = 0 }: PodUse): void {
    const atMs = this.#deps.clock.now();
    const before = this.#seen.get(sandboxId);
    // Two reads at the same time: the second adds nothing.
    if (before !== undefined && before.atMs >= atMs) return;
    const limits = limitsOf(pod, machine);
    const share = before === undefined ? 0 : (cpuMs - before.cpuMs) / (atMs - before.atMs) / limits.cpus;
    this.#seen.set(sandboxId, { atMs, cpuMs, limits, oomKills });
    this.log.add(sandboxId, { atMs, cpuPercent: 100 * Math.min(1, Math.max(0, share)), memoryBytes, cacheBytes, diskBytes });
  }

  #forgetGone(): void {
    const { cache, clock } = this.#deps;
    for (const [sandboxId, atMs] of this.#askedAt) if (clock.now() - atMs > interestMs) this.#askedAt.delete(sandboxId);
    for (const sandboxId of new Set([...this.log.ids(), ...this.#seen.keys(), ...this.#askedAt.keys()])) {
      if (cache.podsOfSandbox(sandboxId).some(isClaimed)) continue;
      this.log.forget(sandboxId);
      this.#seen.delete(sandboxId);
      this.#askedAt.delete(sandboxId);
    }
  }
}

/** A frozen sandbox would not answer, and a sandbox that is about to be frozen may stop answering. */
function canBeAsked(pod: Pod): boolean {
  return sandboxPhaseOf(pod) === "running" && !isFrozen(pod) && pauseWish(pod) === undefined;
}

/** What a sandbox may use at most: the sum of the limits of its containers, or the whole machine if one of them has no limit. */
function limitsOf(pod: Pod, machine: Capacity): Capacity {
  return {
    cpus: limitOf(pod, "cpu") ?? machine.cpus,
    memoryBytes: limitOf(pod, "memory") ?? machine.memoryBytes,
    diskBytes: limitOf(pod, "ephemeral-storage") ?? machine.diskBytes,
  };
}

function limitOf({ spec }: Pod, resource: "cpu" | "memory" | "ephemeral-storage"): number | undefined {
  let total = 0;
  for (const { resources } of spec.containers) {
    const limit = quantityNumber(resources?.limits?.[resource]);
    if (limit === undefined || limit <= 0) return undefined;
    total += limit;
  }
  return total === 0 ? undefined : total;
}
