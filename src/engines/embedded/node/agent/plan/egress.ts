/** Where a pod may connect to: what it wishes, what is in force, and the step between them (model/egress-policy.ts). */
import { isDeepStrictEqual } from "node:util";
import { closedEgress, type EgressPolicy, egressWish, invalidEgressMessage, parseEgressPolicy } from "#model/egress-policy.ts";
import { podConditionReasons, podConditions } from "#model/keys.ts";
import type { NodePod } from "../node-pod.ts";
import type { PlannedEvent } from "./action.ts";
import type { Move, Scene } from "./move.ts";
import type { Finding } from "./pod-conditions.ts";

/** Undefined for a pod without a wish. One that cannot be read lets the pod connect nowhere. */
export function wantedEgress(pod: NodePod): EgressPolicy | undefined {
  const wish = egressWish(pod);
  if (wish === undefined) return undefined;
  const parsed = parseEgressPolicy(wish);
  return parsed.kind === "policy" ? parsed.policy : closedEgress;
}

/** True when the machine does what the pod wishes; a pod that is not on it has nothing that could connect. */
export function isEgressInForce({ pod, observed: { runtime } }: Pick<Scene, "pod" | "observed">): boolean {
  return runtime === undefined || isDeepStrictEqual(wantedEgress(pod), runtime.egress);
}

/** Comes before all other steps: no container is made while the wish does not hold. */
export function egressMove(scene: Scene): Move {
  const { observed, now } = scene;
  if (isEgressInForce(scene)) return { actions: [] };
  const failed = observed.memory.slotFailure;
  if (failed !== undefined && now < failed.retryAt) return { actions: [], recheckAt: failed.retryAt };
  return { actions: [{ kind: "ensure-pod" }] };
}

/** What is told of it; nothing of a pod that wishes nothing. */
export function egressFinding(scene: Pick<Scene, "pod" | "observed">): Finding | undefined {
  const wish = egressWish(scene.pod);
  if (wish === undefined) return undefined;
  const parsed = parseEgressPolicy(wish);
  if (parsed.kind === "invalid") {
    return { status: "False", reason: podConditionReasons.invalidPolicy, message: invalidEgressMessage(wish, parsed.why) };
  }
  const isSo = scene.observed.runtime !== undefined && isEgressInForce(scene);
  return { status: isSo ? "True" : "False", reason: isSo ? "InForce" : "Pending", message: wish };
}

/** Told once for each wish that cannot be read. */
export function egressEvents(scene: Scene): readonly PlannedEvent[] {
  const finding = egressFinding(scene);
  if (finding?.reason !== podConditionReasons.invalidPolicy) return [];
  const stored = scene.pod.status.conditions?.find(({ type }) => type === podConditions.egressPolicy);
  if (stored?.message === finding.message) return [];
  const message = `The egress policy cannot be read, nothing outside can be reached: ${finding.message ?? ""}`;
  return [{ type: "Warning", reason: "InvalidEgressPolicy", message }];
}
