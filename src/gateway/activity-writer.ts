/**
 * Writes the latest traffic that the gateway saw to the sandbox's pod, for controllers in other processes and for the time after a restart: the annotation
 * `last-active`, which only moves forward and is written rarely. Only sandboxes with an idle timeout need it.
 */
import { isLostRace } from "#kube/lost-race.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import type { Clock, Timer } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import type { Counter, Metrics } from "#lib/metrics.ts";
import { isClaimed, sandboxIdOf } from "#model/claimed-pod.ts";
import { annotationKeys } from "#model/keys.ts";
import { type Pod, Pods } from "#model/pod.ts";
import { formatTime, parseSeconds, parseTime } from "#sandbox/annotation-values.ts";
import { podPatch } from "#sandbox/pod-patch.ts";
import type { TrafficLog } from "./activity.ts";

export interface ActivityWriterDeps {
  readonly client: ObjectClient;
  readonly cache: Pick<SandboxCache, "pods" | "podsOfSandbox">;
  readonly traffic: TrafficLog;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly random: () => number;
}

/** Maximum delay of the write. Idle sandboxes live that much longer. */
export const activityRefreshMs = 120_000;
const shortestMs = 1000;

export class ActivityWriter {
  readonly #deps: ActivityWriterDeps;
  /** Sandboxes with a planned write. */
  readonly #due = new Map<string, Timer>();
  readonly #written: Counter<"result">;

  constructor(deps: ActivityWriterDeps) {
    this.#deps = deps;
    this.#written = deps.metrics.counter({
      name: "agentbox_gateway_activity_flush_total",
      help: "Writes of a sandbox's latest traffic to its pod",
      labels: ["result"],
    });
    deps.traffic.follow((sandboxId, pod) => this.#noticed(sandboxId, pod));
  }

  stop(): void {
    for (const timer of this.#due.values()) timer.cancel();
    this.#due.clear();
  }

  #noticed(sandboxId: string, pod: Pod): void {
    if (this.#due.has(sandboxId)) return;
    const timeout = parseSeconds(pod.metadata.annotations?.[annotationKeys.idleTimeout]) ?? 0;
    if (timeout === 0) return;
    // Spread the writes, so that sandboxes created together are not written together for ever.
    const interval = Math.max(shortestMs, Math.min(activityRefreshMs / 1.25, timeout / 3)) * (1 + this.#deps.random() / 4);
    this.#due.set(
      sandboxId,
      this.#deps.clock.after(interval, () => void this.#write(sandboxId)),
    );
  }

  async #write(sandboxId: string): Promise<void> {
    const { cache, traffic, clock } = this.#deps;
    this.#due.delete(sandboxId);
    const pod = cache.podsOfSandbox(sandboxId).find(isClaimed);
    const seen = traffic.of(sandboxId);
    if (pod === undefined || seen === undefined) {
      traffic.forget(sandboxId);
      return;
    }
    // An open request counts as traffic now.
    const latest = seen.open > 0 ? clock.now() : seen.lastMs;
    const isSaved = latest <= (parseTime(pod.metadata.annotations?.[annotationKeys.lastActive]) ?? 0) || (await this.#save(pod, latest));
    if (!isSaved || seen.open > 0) this.#noticed(sandboxId, pod);
    else if (clock.now() - seen.lastMs > activityRefreshMs) traffic.forget(sandboxId);
  }

  async #save(pod: Pod, latest: number): Promise<boolean> {
    const { client, cache, log } = this.#deps;
    const { namespace, name = "" } = pod.metadata;
    try {
      const patch = podPatch(pod, { annotations: { [annotationKeys.lastActive]: formatTime(latest) } });
      cache.pods.remember(await client.patch(Pods, { namespace, name }, patch));
      this.#written.add({ result: "written" });
      return true;
    } catch (error) {
      this.#written.add({ result: isLostRace(error) ? "changed" : "failed" });
      if (!isLostRace(error)) log.warn({ sandboxId: sandboxIdOf(pod), error }, "latest traffic could not be written");
      return false;
    }
  }
}
