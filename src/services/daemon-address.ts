import type { DaemonAddress } from "#daemon-client/daemon-client.ts";
import type { Pod } from "#model/pod.ts";
import { daemonPortOf } from "#sandbox/runtimes.ts";

/** Where the daemon of a pod that has an address is reached. */
export function daemonAddress(pod: Pod): DaemonAddress {
  return { ip: pod.status?.podIP ?? "", port: daemonPortOf(pod) };
}
