/** Events about Envs, for people. */
import type { EventRecorder, Happening } from "#kube/events/event-recorder.ts";
import { conditionIn } from "#model/conditions.ts";
import { envConditions, envOwnerKind, ownGroup, ownVersion } from "#model/keys.ts";
import type { SandboxEnv } from "#model/sandbox-env.ts";
import type { SandboxEnvStatus } from "#model/env-status.ts";

export function tellEnv({ events }: { readonly events: Pick<EventRecorder, "record"> }, env: SandboxEnv, happening: Happening): void {
  const { namespace, name = "", uid = "" } = env.metadata;
  events.record({ apiVersion: `${ownGroup}/${ownVersion}`, kind: envOwnerKind, namespace, name, uid }, happening);
}

/** Events for a new status: conditions whose reason has changed. */
export function happeningsOf(before: SandboxEnv, { conditions = [] }: SandboxEnvStatus): readonly Happening[] {
  return conditions.flatMap(({ type, status, reason, message }) => {
    if (conditionIn(before, type)?.reason === reason || type === envConditions.autoscalingActive) return [];
    const isNews = status === "False" || conditionIn(before, type) !== undefined;
    return isNews ? [{ type: status === "False" ? "Warning" : "Normal", reason, message }] : [];
  });
}
