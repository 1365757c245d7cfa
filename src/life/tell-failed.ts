import type { Pod } from "#model/pod.ts";
import type { PodEvents } from "./pod-deps.ts";

/** An event on the pod of a failed sandbox, because users look there first. */
export function tellFailed(
  events: PodEvents,
  { metadata: { namespace, name = "", uid = "" } }: Pod,
  { failureReason, failureMessage }: { readonly failureReason?: string; readonly failureMessage?: string },
): void {
  const message = `${failureReason ?? "Failed"}: ${failureMessage ?? "the sandbox failed"}`;
  events.record({ apiVersion: "v1", kind: "Pod", namespace, name, uid }, { type: "Warning", reason: "SandboxFailed", message });
}
