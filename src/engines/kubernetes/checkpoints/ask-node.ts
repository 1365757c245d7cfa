/** Asks the agent of a pod's node for a layer of it, and waits for the answer (model/layer-wish.ts). */
import { CheckpointRefused } from "#engine-port/checkpoint-images.ts";
import { isApiError } from "#kube/api-error.ts";
import { type Clock, sleep } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import { sandboxPhaseOf } from "#model/claimed-pod.ts";
import { isRefusal, layerAnswer, type LayerWish, layerWishText, type PushedLayer } from "#model/layer-wish.ts";
import type { Pod } from "#model/pod.ts";

export interface PodRef {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
}

/** Pods with their claims, which stand elsewhere until a pod is written: an agent sees the pod alone. Both throw ApiError. */
export interface WishedPods {
  /** By the server's word. */
  read(pod: PodRef, signal?: AbortSignal): Promise<Pod>;
  /** Writes the annotation of the wish, or takes it away, and the pod's claim with it. NotFound if it is another pod by now. */
  annotate(pod: PodRef, wish: string | null): Promise<void>;
}

export interface AskNodeDeps {
  readonly pods: WishedPods;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The pod as it is now; refused when it is another one, or runs no sandbox. */
export async function readRunning({ pods }: Pick<AskNodeDeps, "pods">, ref: PodRef, signal: AbortSignal): Promise<Pod> {
  try {
    const pod = await pods.read(ref, signal);
    if (pod.metadata.uid === ref.uid && pod.metadata.deletionTimestamp === undefined && sandboxPhaseOf(pod) === "running") return pod;
  } catch (error) {
    if (!isApiError(error, "NotFound")) throw error;
  }
  throw sandboxGone();
}

export function sandboxGone(): CheckpointRefused {
  return new CheckpointRefused("SandboxGone", "the sandbox does not run any more");
}

/** A copy may take two minutes, and the registry a while. */
const patienceMs = 15 * 60_000;
const firstLookMs = 25;
const mostLookMs = 500;

/** Whatever comes of it, nothing of the wish is left on the pod. */
export async function askNode(deps: AskNodeDeps, pod: PodRef, wish: LayerWish, signal: AbortSignal): Promise<PushedLayer> {
  try {
    await deps.pods.annotate(pod, layerWishText(wish));
    return await untilAnswered(deps, pod, wish, signal);
  } catch (error) {
    throw isApiError(error, "NotFound") ? sandboxGone() : error;
  } finally {
    await deps.pods.annotate(pod, null).catch((error: unknown) => {
      // The end of the sandbox takes it away, too, and the agent does nothing twice.
      if (!isApiError(error, "NotFound")) deps.log.warn({ pod: pod.name, error }, "a wish for a layer was left on its pod");
    });
  }
}

async function untilAnswered(deps: AskNodeDeps, pod: PodRef, wish: LayerWish, signal: AbortSignal): Promise<PushedLayer> {
  const { clock } = deps;
  const until = clock.now() + patienceMs;
  for (let lookMs = firstLookMs; clock.now() < until; lookMs = Math.min(lookMs * 2, mostLookMs)) {
    await sleep(clock, lookMs, signal);
    const answer = layerAnswer(await readRunning(deps, pod, signal), wish);
    if (answer === undefined) continue;
    if (isRefusal(answer)) throw new CheckpointRefused(answer.reason, answer.why);
    return answer;
  }
  throw new CheckpointRefused("NotPossible", `the agent of the sandbox's node has not answered within ${patienceMs / 60_000} minutes`);
}
