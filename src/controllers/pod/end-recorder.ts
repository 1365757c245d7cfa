/**
 * Puts the ends of sandboxes into the history, each once as long as this process lives: a pod is looked at several times while it
 * stops. After a restart it may be put again, which changes nothing.
 */
import { formatKey, type Key } from "#kube/controller/key.ts";
import type { Logger } from "#lib/log.ts";
import type { Counter, Metrics } from "#lib/metrics.ts";
import { type RecordDeps, recordEnd } from "#lifecycle/record-end.ts";
import { sandboxIdOf } from "#model/claimed-pod.ts";
import { annotationKeys } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import type { SandboxRecord } from "#model/sandbox-record.ts";

export interface EndRecorderDeps extends RecordDeps {
  readonly log: Logger;
  readonly metrics: Metrics;
}

interface Known {
  readonly life: string;
  readonly record: SandboxRecord;
}

export class EndRecorder {
  readonly #deps: EndRecorderDeps;
  readonly #known = new Map<string, Known>();
  readonly #failures: Counter<"result">;

  constructor(deps: EndRecorderDeps) {
    this.#deps = deps;
    this.#failures = deps.metrics.counter({
      name: "agentbox_history_write_failures_total",
      help: "Ends of sandboxes that the history did not take: later (tried again) or refused (logged and given up).",
      labels: ["result"],
    });
  }

  /**
   * Resolves with the record when it is stored; undefined when the pod carries no sandbox. Throws when the history cannot take it now:
   * the pod must keep its identity, and is looked at again.
   */
  async record(pod: Pod): Promise<SandboxRecord | undefined> {
    const sandboxId = sandboxIdOf(pod);
    if (sandboxId === undefined) return undefined;
    const key = keyOf(pod);
    const life = `${pod.metadata.uid ?? ""}/${sandboxId}/${pod.metadata.annotations?.[annotationKeys.claimedAt] ?? ""}`;
    const known = this.#known.get(key);
    if (known?.life === life) return known.record;
    const record = await this.#put(pod);
    if (record !== undefined) this.#known.set(key, { life, record });
    return record;
  }

  /** The pod is gone, or carries nobody any more. */
  forget(key: Key): void {
    this.#known.delete(formatKey(key));
  }

  async #put(pod: Pod): Promise<SandboxRecord | undefined> {
    const { log } = this.#deps;
    const sandboxId = sandboxIdOf(pod);
    try {
      const end = await recordEnd(this.#deps, pod);
      if (end.kind === "nobody") return undefined;
      if (end.kind === "refused") {
        this.#failures.add({ result: "refused" });
        const { poolName, podName, stopReason, failureReason, terminatedAt } = end.record;
        log.error(
          { sandboxId, pool: poolName, pod: podName, stopReason, failureReason, terminatedAt, why: end.why },
          "the history refuses a record",
        );
      }
      return end.record;
    } catch (error) {
      this.#failures.add({ result: "later" });
      log.warn({ sandboxId, pod: pod.metadata.name, error }, "a record could not be written; its pod waits");
      throw error;
    }
  }
}

function keyOf({ metadata: { namespace, name = "" } }: Pod): string {
  return formatKey({ namespace, name });
}
