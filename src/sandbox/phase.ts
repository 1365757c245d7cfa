/**
 * The life of a sandbox, as rules: pods and pools in, patches and verdicts out. Nothing here reads a clock, asks a server or
 * keeps anything; `now` is milliseconds since the epoch. Who writes what, and when, is in docs/adr/0012.
 *
 * - `phase.ts` (this file) which phase may follow which, and since when a pod is in its phase
 * - `claimable.ts` may this idle pod be handed out; `claim-patch.ts` hands it out; `finish-start-patch.ts` running, after a swap
 * - `release-patch.ts` ends a sandbox; `recycle-patch.ts` wipes its traces and makes the pod idle again
 * - `renewal-patch.ts` exchanges the containers of a pod that rested in between
 * - `recycling.ts` whether a used pod is used again or replaced
 * - `pod-patch.ts` the form of all these patches: conditional on the very state that was looked at
 * - `image-pin.ts` how images are written; `images.ts` which image a container waits on and runs
 * - `inplace-state.ts` the annotation that says how far an exchange of images is; `inplace-update.ts` begins one,
 *   `inplace-completion.ts` sees its end, `restart.ts` sees a container that was replaced by nobody's wish
 * - `resolve-template.ts` what a pool's pods are made from; `render-pod.ts` makes one, with `pod-blueprint.ts`, `runtimes.ts`
 *   and `template-hash.ts`; `sync-from-template.ts` what a pool takes over from its template's metadata
 * - `end.ts` is it time to end a sandbox; `death.ts` why a pod took its sandbox with it
 * - `sandbox-base.ts` a sandbox as lists show it; `stop-record.ts` as history keeps it; `pod-resources.ts` how big it is
 * - `diagnosis.ts` why a pod is stuck, for people, with `diagnosis-events.ts`
 * - `user-metadata.ts` what callers may put on their sandbox; `annotation-values.ts` reading text that anybody may have written
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

/** How long the pod has been in the phase. Never negative: the time may have been written by a machine whose clock is ahead. */
export function phaseDuration(pod: Pod, phase: SandboxPhase | undefined, now: number): PhaseDuration {
  const since = phaseSince(pod, phase);
  return since.kind === "in-phase" ? { kind: "in-phase", ms: Math.max(0, now - since.sinceMs) } : since;
}

function ledInto(state: InplaceUpdateState, phase: SandboxPhase): boolean {
  if (state.phase !== "completed") return state.phase === phase;
  if (phase !== "running" && phase !== "idle") return false;
  return state.targetPodPhase === undefined || state.targetPodPhase === phase;
}
