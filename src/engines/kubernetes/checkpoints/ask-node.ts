/** Asks the agent of a pod's node for a layer of it, and waits for the answer (model/layer-wish.ts). */
import { CheckpointRefused } from "#engine-port/checkpoint-images.ts";
import { isApiError } from "#kube/api-error.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import { type Clock, sleep } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import { sandboxPhaseOf } from "#model/claimed-pod.ts";
import { annotationKeys } from "#model/keys.ts";
import { isRefusal, layerAnswer, type LayerWish, layerWishText, type PushedLayer } from "#model/layer-wish.ts";
import { type Pod, Pods } from "#model/pod.ts";

export interface AskNodeDeps {
  readonly client: Pick<ObjectClient, "get" | "patch">;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface PodRef {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
}

/** The pod as it is now; refused when it is another one, or runs no sandbox. */
export async function readRunning(
  { client }: Pick<AskNodeDeps, "client">,
  { uid, namespace, name }: PodRef,
  signal: AbortSignal,
): Promise<Pod> {
  try {
    const pod = await client.get(Pods, { namespace, name }, { signal });
    if (pod.metadata.uid === uid && pod.metadata.deletionTimestamp === undefined && sandboxPhaseOf(pod) === "running") return pod;
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
  await annotate(deps, pod, layerWishText(wish));
  try {
    return await untilAnswered(deps, pod, wish, signal);
  } finally {
    await annotate(deps, pod, null).catch((error: unknown) => {
      // The end of the sandbox takes it away, too, and the agent does nothing twice.
      if (!isApiError(error, "NotFound", "Conflict")) deps.log.warn({ pod: pod.name, error }, "a wish for a layer was left on its pod");
    });
  }
}

async function annotate({ client }: AskNodeDeps, { uid, namespace, name }: PodRef, text: string | null): Promise<void> {
  const body = { metadata: { uid, annotations: { [annotationKeys.layerWish]: text } } };
  try {
    await client.patch(Pods, { namespace, name }, { type: "merge", body });
  } catch (error) {
    if (text !== null && isApiError(error, "NotFound", "Conflict")) throw sandboxGone();
    throw error;
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
