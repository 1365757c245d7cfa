/** Which sandbox a pod's container works for, by the word of the daemon in it: a pod's status may be of the container before. */
import { type DaemonAddress, type DaemonClient, DaemonError } from "#daemon-client/daemon-client.ts";
import { ChildAbort } from "#lib/abortable.ts";
import type { Clock } from "#lib/clock.ts";
import type { Pod } from "#model/pod.ts";
import { daemonPortOf } from "#sandbox/pods/runtimes.ts";

export interface AskDaemonDeps {
  readonly daemon: Pick<DaemonClient, "health">;
  readonly clock: Clock;
}

const answerWithinMs = 2_000;

/** The sandbox's id; an empty text for none; undefined when there is no answer, or one of another pod that has the address by now. */
export async function askServedSandbox({ daemon, clock }: AskDaemonDeps, pod: Pod, signal: AbortSignal): Promise<string | undefined> {
  const address = daemonAddress(pod);
  if (address.ip === "") return undefined;
  using limited = new ChildAbort(signal);
  const timer = clock.after(answerWithinMs, () => limited.abort(new Error(`no answer within ${answerWithinMs} ms`)));
  try {
    const { podUid, sandboxId = "" } = await daemon.health(address, { signal: limited.signal });
    return podUid === pod.metadata.uid ? sandboxId : undefined;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof DaemonError || limited.signal.aborted) return undefined;
    throw error;
  } finally {
    timer.cancel();
  }
}

/** Where the daemon of a pod that has an address is reached. */
export function daemonAddress(pod: Pod): DaemonAddress {
  return { ip: pod.status?.podIP ?? "", port: daemonPortOf(pod) };
}

/** Whether the pod's container works for this sandbox. One that does not answer does not. */
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
