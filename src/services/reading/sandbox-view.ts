/** A live sandbox as replies show it: its record, and what only its pod knows. */
import { withoutUndefined } from "#lib/without-undefined.ts";
import { closedEgress, type EgressPolicy, egressWish, parseEgressPolicy } from "#model/egress-policy.ts";
import { annotationKeys, timeoutActions } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import { formatTime, parseSeconds, parseTime } from "#sandbox/annotation-values.ts";
import { areHooksPending } from "#sandbox/hooks-mark.ts";
import { podDisk } from "#sandbox/pods/pod-resources.ts";
import { liveRecordFromPod } from "#sandbox/sandbox-base.ts";
import type { SandboxView } from "#services/sandbox-service.ts";

/** Undefined for a pod that carries no sandbox. */
export function viewOf(pod: Pod): SandboxView | undefined {
  const record = liveRecordFromPod(pod);
  if (record === undefined) return undefined;
  const { annotations = {} } = pod.metadata;
  // Before its hooks have run it is not ready for its user.
  const isStarting = record.status === "Running" && areHooksPending(pod);
  return {
    ...record,
    ...(isStarting ? { status: "Starting" as const } : {}),
    ...withoutUndefined({
      disk: podDisk(pod),
      startupTimeoutMs: parseSeconds(annotations[annotationKeys.startupTimeout]),
      idleTimeoutMs: parseSeconds(annotations[annotationKeys.idleTimeout]),
      endTime: timeOf(annotations[annotationKeys.endTime]),
      onTimeout: timeoutActions.find((action) => action === annotations[annotationKeys.onTimeout]),
      autoResume: isTrue(annotations[annotationKeys.autoResume]),
      privateTraffic: isTrue(annotations[annotationKeys.privateTraffic]),
      openDaemon: isTrue(annotations[annotationKeys.openDaemon]),
      maskHost: annotations[annotationKeys.maskHost],
      egress: egressOf(pod),
      lastActiveAt: timeOf(annotations[annotationKeys.lastActive]),
    }),
  };
}

/** What is in force when a wish cannot be read. */
function egressOf(pod: Pod): EgressPolicy | undefined {
  const wish = egressWish(pod);
  if (wish === undefined) return undefined;
  const parsed = parseEgressPolicy(wish);
  return parsed.kind === "policy" ? parsed.policy : closedEgress;
}

function isTrue(text: string | undefined): true | undefined {
  return text === "true" ? true : undefined;
}

function timeOf(text: string | undefined): string | undefined {
  const ms = parseTime(text);
  return ms === undefined ? undefined : formatTime(ms);
}
