/** The Warning event on the pod of a sandbox whose processes were killed because its memory was full, while the sandbox itself goes on. */
import type { EventRecorder } from "#kube/events/event-recorder.ts";
import { outOfMemoryEvent } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";

export function tellOomKills(
  events: Pick<EventRecorder, "record">,
  { metadata: { namespace, name = "", uid = "" } }: Pod,
  kills: number,
): void {
  const killed = kills === 1 ? "1 process of the sandbox was killed" : `${kills} processes of the sandbox were killed`;
  const message = `${killed} for want of memory since it began: raise resources.limits.memory of its template, or use less`;
  events.record({ apiVersion: "v1", kind: "Pod", namespace, name, uid }, { type: "Warning", reason: outOfMemoryEvent, message });
}
