/** Waiting for what real pods do. */
import type { ObjectStore } from "#engines/embedded/store/object-store.ts";
import { type Container, type ContainerStatus, type Pod, Pods } from "#model/pod.ts";

export const namespace = "default";

export function key(name: string): { readonly namespace: string; readonly name: string } {
  return { namespace, name };
}

/** A container of the machine's own programs that runs a shell script. */
export function script(text: string, more: Partial<Container> = {}): Container {
  return { name: "main", image: "host", imagePullPolicy: "IfNotPresent", command: ["bash", "-c", text], ...more };
}

/** Resolves with the first version of the pod that `isSo`, and rejects with its status when that takes too long. */
export async function until(store: ObjectStore, name: string, isSo: (pod: Pod) => boolean, withinMs = 20_000): Promise<Pod> {
  const signal = AbortSignal.timeout(withinMs);
  let last: Pod | undefined;
  try {
    for await (const event of store.watch(Pods, { namespace, fieldSelector: `metadata.name=${name}`, signal })) {
      if (event.type === "BOOKMARK") continue;
      last = event.object;
      if (event.type !== "DELETED" && isSo(last)) return last;
    }
  } catch (error) {
    throw new Error(`the pod ${name} did not come so far within ${withinMs} ms: ${JSON.stringify(last?.status)}`, { cause: error });
  }
  throw new Error(`the watch of ${name} ended`);
}

export function statusOf(pod: Pod, container = "main"): ContainerStatus | undefined {
  return [...(pod.status?.containerStatuses ?? []), ...(pod.status?.initContainerStatuses ?? [])].find(({ name }) => name === container);
}

export function isRunning(pod: Pod): boolean {
  return pod.status?.phase === "Running" && pod.status.containerStatuses?.every(({ ready }) => ready) === true;
}

export function isOver(pod: Pod): boolean {
  return pod.status?.phase === "Succeeded" || pod.status?.phase === "Failed";
}
