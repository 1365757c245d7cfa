/**
 * Rules of a sandbox's life: pods and pools in, patches and verdicts out. Nothing here reads a clock, calls a server or stores anything; `now` is
 * milliseconds since the epoch. docs/adr/0012 lists the writers of each step.
 *
 * - `phase.ts` (this file) the order of phases, and since when a pod is in its phase
 * - `claimable.ts` may this idle pod be claimed
 * - `pod-patch.ts` the form of all patches: conditional on the state that was seen
 * - `end.ts` is it time to end a sandbox
 * - `hooks-mark.ts` the mark of post-start hooks that still have to run; `last-active-source.ts` sources of traffic
 * - `sandbox-base.ts` a sandbox as lists show it
 * - `user-metadata.ts` labels and annotations of callers; `annotation-values.ts` parses annotations
 * - `health/` why a pod ended or is stuck
 * - `images/` image references, and exchanging containers in place
 * - `pods/`, `pools/`, `envs/` rendering pods, pools and members of Envs
 *
 * The transitions themselves (claim, arm, end, record, recycle) are in `src/life`.
 */
import { sandboxPhaseOf } from "#model/claimed-pod.ts";
import type { SandboxPhase } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import { parseTime } from "./annotation-values.ts";
import { type InplaceUpdateState, readInplaceUpdateState } from "./images/inplace-state.ts";

/** idle → running is the claim of a pod that waits on the wanted image already. A failed pod is only ever deleted. */
const followers: Readonly<Record<SandboxPhase, readonly SandboxPhase[]>> = {
  idle: ["starting", "running", "failed"],
  starting: ["running", "stopping", "failed"],
  running: ["stopping", "failed"],
  stopping: ["idle", "failed"],
  failed: [],
};

export function mayFollow(from: SandboxPhase, to: SandboxPhase): boolean {
  return followers[from].includes(to);
}

export type PhaseSince =
  | { readonly kind: "in-phase"; readonly sinceMs: number }
  /** The pod is in another phase, or in none. */
  | { readonly kind: "other-phase" }
  | { readonly kind: "unreadable"; readonly why: string };

/**
 * Since when the pod is in `phase`, or in whatever phase it is in. The annotation of the exchange that led into the phase says so;
 * a pod without one, such as a new idle one, is in its phase since it was made.
 */
export function phaseSince(pod: Pod, phase?: SandboxPhase): PhaseSince {
  const current = sandboxPhaseOf(pod);
  if (current === undefined || (phase !== undefined && phase !== current)) return { kind: "other-phase" };
  const read = readInplaceUpdateState(pod);
  if (read.kind === "unreadable") return read;
  const entered = read.kind === "state" && ledInto(read.state, current) ? parseTime(read.state.updateTimestamp) : undefined;
  const sinceMs = entered ?? parseTime(pod.metadata.creationTimestamp);
  return sinceMs === undefined ? { kind: "unreadable", why: "the pod has no creation time" } : { kind: "in-phase", sinceMs };
}

export type PhaseDuration = { readonly kind: "in-phase"; readonly ms: number } | Exclude<PhaseSince, { kind: "in-phase" }>;

/** How long the pod has been in the phase. Never negative: the time may come from a machine whose clock is ahead. */
export function phaseDuration(pod: Pod, phase: SandboxPhase | undefined, now: number): PhaseDuration {
  const since = phaseSince(pod, phase);
  return since.kind === "in-phase" ? { kind: "in-phase", ms: Math.max(0, now - since.sinceMs) } : since;
}

function ledInto(state: InplaceUpdateState, phase: SandboxPhase): boolean {
  if (state.phase !== "completed") return state.phase === phase;
  if (phase !== "running" && phase !== "idle") return false;
  return state.targetPodPhase === undefined || state.targetPodPhase === phase;
}
