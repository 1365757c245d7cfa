import type { DaemonClient } from "#daemon-client/daemon-client.ts";
import type { Pod } from "#model/pod.ts";
import { daemonAddress } from "./daemon-address.ts";

/** Whether the pod's container works for this sandbox, by its daemon's own word. One that does not answer does not. */
export async function isArmed(
  daemons: Pick<DaemonClient, "health">,
  pod: Pod,
  sandboxId: string,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  try {
    const health = await daemons.health(daemonAddress(pod), signal === undefined ? {} : { signal });
    return health.podUid === pod.metadata.uid && health.sandboxId === sandboxId;
  } catch {
    signal?.throwIfAborted();
    return false;
  }
}
