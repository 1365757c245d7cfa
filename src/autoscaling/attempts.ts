/** What a try to grow leaves behind: the member's new number, its bookkeeping and its event. */
import { kubernetesTime } from "#lib/clock.ts";
import type { PoolScaleUpAttemptResult } from "#model/sandbox-pool.ts";
import type { GroupEvent } from "./group.ts";

/** What the plugins, or what is known of the pool, say to a wanted number. */
export interface Grant {
  /** The wanted number, or less; never below the present one. */
  readonly admitted: number;
  readonly refusal?: { readonly kind: "InsufficientResources" | "InvalidSpec" | "Internal"; readonly message: string } | undefined;
}

export interface Attempt {
  readonly member: string;
  readonly present: number;
  readonly wanted: number;
  readonly decision: string;
  readonly saturationMs: number;
  readonly nowMs: number;
}

export interface AttemptOutcome {
  readonly replicas: number;
  readonly result: PoolScaleUpAttemptResult;
  /** Takes the place of the same fields; undefined ones go. */
  readonly status: {
    readonly lastScaleUpAttemptTime: string;
    readonly lastScaleUpAttemptResult: PoolScaleUpAttemptResult;
    readonly scaleUpErrorMessage: string | undefined;
    readonly saturatedUntil: string | undefined;
  };
  readonly event: GroupEvent;
}

/** All but Enough make the member count as full for a while. */
export function concludeAttempt(attempt: Attempt, { admitted, refusal }: Grant): AttemptOutcome {
  const { member, present, wanted, decision, saturationMs, nowMs } = attempt;
  const replicas = Math.min(wanted, Math.max(present, admitted));
  const result = resultOf(attempt, replicas, refusal);
  const isFull = result !== "Enough";
  const why = oneLine(refusal?.message ?? "");
  return {
    replicas,
    result,
    status: {
      lastScaleUpAttemptTime: kubernetesTime(nowMs),
      lastScaleUpAttemptResult: result,
      scaleUpErrorMessage: isFull ? why : undefined,
      // Whole seconds are written: rounded up, so that it is not over before it is.
      saturatedUntil: isFull ? kubernetesTime(nowMs + saturationMs + 999) : undefined,
    },
    event: { member, ...told({ replicas, present, wanted, decision, why }) },
  };
}

function resultOf({ present, wanted }: Attempt, replicas: number, refusal: Grant["refusal"]): PoolScaleUpAttemptResult {
  if (replicas >= wanted) return "Enough";
  if (refusal?.kind === "InvalidSpec" || refusal?.kind === "Internal") return "Failed";
  return replicas > present ? "JustRight" : "Insufficient";
}

interface Told {
  readonly replicas: number;
  readonly present: number;
  readonly wanted: number;
  readonly decision: string;
  readonly why: string;
}

function told({ replicas, present, wanted, decision, why }: Told): Omit<GroupEvent, "member"> {
  if (replicas >= wanted)
    return { type: "Normal", reason: "AutoscalerScaleUp", message: `from ${present} to ${replicas} pods: ${decision}` };
  if (replicas > present) {
    return {
      type: "Warning",
      reason: "AutoscalerScaleUpPartial",
      message: `from ${present} to ${replicas} pods, ${wanted} were wanted: ${why}`,
    };
  }
  return { type: "Warning", reason: "AutoscalerScaleUpRejected", message: `stays at ${present} pods, ${wanted} were wanted: ${why}` };
}

const maxMessage = 512;

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim().slice(0, maxMessage);
}
