/** Whom a pod's container works for, by the word of the daemon in it: a pod's status may be of the container before. */
import { type DaemonClient, DaemonError } from "#daemon-client/daemon-client.ts";
import { ChildAbort } from "#lib/abortable.ts";
import type { Clock } from "#lib/clock.ts";
import type { Pod } from "#model/pod.ts";
import { daemonPortOf } from "#sandbox/runtimes.ts";

export interface AskDaemonDeps {
  readonly daemon: Pick<DaemonClient, "health">;
  readonly clock: Clock;
}

const answerWithinMs = 2_000;

/** The sandbox's id; an empty text for nobody; undefined when there is no answer, or one of another pod that has the address by now. */
export async function askWhomItServes({ daemon, clock }: AskDaemonDeps, pod: Pod, signal: AbortSignal): Promise<string | undefined> {
  const ip = pod.status?.podIP ?? "";
  if (ip === "") return undefined;
  using limited = new ChildAbort(signal);
  const timer = clock.after(answerWithinMs, () => limited.abort(new Error(`no answer within ${answerWithinMs} ms`)));
  try {
    const { podUid, sandboxId = "" } = await daemon.health({ ip, port: daemonPortOf(pod) }, { signal: limited.signal });
    return podUid === pod.metadata.uid ? sandboxId : undefined;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof DaemonError || limited.signal.aborted) return undefined;
    throw error;
  } finally {
    timer.cancel();
  }
}
