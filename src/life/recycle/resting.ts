/**
 * A pod whose sandbox has ended rests while its node is busy: nothing of the sandbox runs any more. The exchange of its containers, which costs a node
 * some twenty times as much as a create, waits (`life/recycle/recycle-loop.ts`).
 */
import { type DaemonClient, DaemonError } from "#daemon-client/daemon-client.ts";
import { podsByRecycling, type RecyclingStage, recyclingValue } from "#read-model/indexes.ts";
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import { ChildAbort } from "#lib/abortable.ts";
import type { Clock } from "#lib/clock.ts";
import { sandboxPhaseOf } from "#model/claimed-pod.ts";
import type { Pod } from "#model/pod.ts";
import { mayRest } from "./plan-recycle-start.ts";
import { daemonPortOf } from "#sandbox/pods/runtimes.ts";

export interface Resting {
  /** Whether this sandbox's pod rests if it ends now. To be disposed of when the end is written: until then it counts as a pod that is recycled. */
  decide(pod: Pod): RestDecision;
  /** Ends all that runs in it. False when that is not sure. */
  endProcesses(pod: Pod, sandboxId: string): Promise<boolean>;
}

export interface RestDecision extends Disposable {
  readonly rests: boolean;
}

export interface RestingDeps {
  readonly cache: Pick<SandboxCache, "pods">;
  readonly daemon: Pick<DaemonClient, "retire">;
  readonly clock: Clock;
}

/** A node that recycles fewer pods than this recycles one more at once, with the write that ends its sandbox. */
const enoughToDo = 2;
const answerWithinMs = 1_000;

export function restingPods({ cache, daemon, clock }: RestingDeps): Resting {
  /** Ends that are being written, by node: a hundred that come at once must not all find a node that has nothing to do. */
  const begun = new Map<string, number>();
  const begin = (node: string, by: number): void => {
    const count = (begun.get(node) ?? 0) + by;
    if (count > 0) begun.set(node, count);
    else begun.delete(node);
  };
  const count = (node: string, stage: RecyclingStage): number => cache.pods.objects.count(podsByRecycling, recyclingValue(node, stage));
  return {
    decide: (pod) => {
      const { nodeName = "" } = pod.spec;
      const isBusy = count(nodeName, "recycling") + count(nodeName, "resting") + (begun.get(nodeName) ?? 0) >= enoughToDo;
      const rests = isBusy && sandboxPhaseOf(pod) === "running" && mayRest(pod);
      begin(nodeName, 1);
      return { rests, [Symbol.dispose]: () => begin(nodeName, -1) };
    },
    endProcesses: async (pod, sandboxId) => {
      const limited = new ChildAbort(undefined);
      const timer = clock.after(answerWithinMs, () => limited.abort(new Error(`no answer within ${answerWithinMs} ms`)));
      const at = { ip: pod.status?.podIP ?? "", port: daemonPortOf(pod) };
      const order = () => daemon.retire(at, { podUid: pod.metadata.uid ?? "", sandboxId }, { signal: limited.signal });
      try {
        // A doorman that still waits steps aside for this order and closes the connection. An order whose answer is lost can be repeated in any case.
        await order().catch((error: unknown) => (isUnanswered(error) ? order() : Promise.reject(error)));
        return true;
      } catch (error) {
        if (error instanceof DaemonError || limited.signal.aborted) return false;
        throw error;
      } finally {
        timer.cancel();
      }
    },
  };
}

function isUnanswered(error: unknown): boolean {
  return error instanceof DaemonError && error.failure === "unreachable";
}
