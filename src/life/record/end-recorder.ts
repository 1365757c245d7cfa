/**
 * Puts the ends of sandboxes into the history, each once as long as this process lives: a pod is looked at several times while it
 * stops. After a restart it may be put again, which changes nothing.
 */
import { formatKey, type Key } from "#kube/controller/key.ts";
import type { Logger } from "#lib/log.ts";
import type { Counter, Metrics } from "#lib/metrics.ts";
import { sandboxIdOf } from "#model/claimed-pod.ts";
import { annotationKeys } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import type { SandboxRecord } from "#model/sandbox-record.ts";
import type { Clock } from "#lib/clock.ts";
import { checkpointLost, type DeepPauseDeps, type EndOfPaused, settleDeepPause } from "./deep-pauses.ts";
import { captureStopRecord } from "./plan-record.ts";
import { HistoryError } from "#store/history-error.ts";
import type { HistoryStore } from "#store/history-store.ts";

export interface EndRecorderDeps extends RecordDeps, DeepPauseDeps {
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
   * Resolves with the record when it is stored; undefined when the pod carries no sandbox, or one that a checkpoint has now. Throws when that cannot be
   * written now: the pod must keep its identity, and is looked at again.
   */
  async record(pod: Pod): Promise<SandboxRecord | undefined> {
    const sandboxId = sandboxIdOf(pod);
    if (sandboxId === undefined) return undefined;
    const key = keyOf(pod);
    const life = `${pod.metadata.uid ?? ""}/${sandboxId}/${pod.metadata.annotations?.[annotationKeys.claimedAt] ?? ""}`;
    const known = this.#known.get(key);
    if (known?.life === life) return known.record;
    const left = await settleDeepPause(this.#deps, pod);
    if (left === "kept") return undefined;
    const record = await this.#put(pod, left === "lost" ? checkpointLost : {});
    if (record !== undefined) this.#known.set(key, { life, record });
    return record;
  }

  /** The pod is gone, or carries no sandbox any more. */
  forget(key: Key): void {
    this.#known.delete(formatKey(key));
  }

  async #put(pod: Pod, more: Partial<EndOfPaused>): Promise<SandboxRecord | undefined> {
    const { log } = this.#deps;
    const sandboxId = sandboxIdOf(pod);
    try {
      const end = await recordEnd(this.#deps, pod, more);
      if (end.kind === "no-sandbox") return undefined;
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

/**
 * Writes the end of a sandbox to the history, from its pod. Every step that wipes a pod's identity or removes its finalizer does this first (I3, W9).
 * Repeating it is safe: the record is the same, and the first stored end stays (store/merge-records.ts).
 */
interface RecordDeps {
  readonly history: Pick<HistoryStore, "put">;
  readonly clock: Clock;
}

type RecordedEnd =
  | { readonly kind: "recorded"; readonly record: SandboxRecord }
  /** The pod carries no sandbox. */
  | { readonly kind: "no-sandbox" }
  /** The history will never take it, however often it is asked. Waiting would only hold the pod for ever. */
  | { readonly kind: "refused"; readonly record: SandboxRecord; readonly why: string };

/** Throws HistoryError for what may be different later; the pod must then stay as it is. */
async function recordEnd({ history, clock }: RecordDeps, pod: Pod, more: Partial<EndOfPaused>): Promise<RecordedEnd> {
  const captured = captureStopRecord(pod, clock.now());
  if (captured === undefined) return { kind: "no-sandbox" };
  const record = { ...captured, ...more, status: more.stopReason ?? captured.status };
  try {
    await history.put(record);
    return { kind: "recorded", record };
  } catch (error) {
    if (isForGood(error)) return { kind: "refused", record, why: error.message };
    throw error;
  }
}

function isForGood(error: unknown): error is HistoryError {
  return error instanceof HistoryError && (error.code === "invalid" || error.code === "conflict");
}
