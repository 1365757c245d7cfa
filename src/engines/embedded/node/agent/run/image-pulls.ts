/** Brings images for containers that are about to start, in the background, and tells of it in the kubelet's words. */
import { isImageError } from "#images/image-error.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import type { Clock } from "#lib/clock.ts";
import { Secrets } from "#model/core-kinds.ts";
import type { Action } from "../plan/action.ts";
import type { PullFailureReason, PullState } from "../plan/observed.ts";
import type { StoredContainer } from "#engines/embedded/stored-pod.ts";
import type { NodePod } from "../node-pod.ts";
import type { NodeImages } from "../ports.ts";
import { teamOf, type TeamOfPool } from "./pod-places.ts";
import type { PodMemory } from "./pod-memory.ts";
import { messageOf, oneMore } from "./retry-delay.ts";
import type { Tell } from "./tell.ts";

export interface ImagePullDeps {
  readonly client: ObjectClient;
  readonly images: NodeImages;
  readonly clock: Clock;
  readonly teamOfPool?: TeamOfPool | undefined;
}

export interface PullRequest {
  readonly pod: NodePod;
  readonly memory: PodMemory;
  readonly tell: Tell;
  /** Called when there is something new to plan with. */
  readonly wake: () => void;
}

const pace = { firstMs: 10_000, maxMs: 300_000 };

/** Never rejects: how it went is in the pod's memory. */
export async function pullImage(deps: ImagePullDeps, request: PullRequest, action: Extract<Action, { kind: "pull" }>): Promise<void> {
  const { memory, wake } = request;
  const { container, id } = action;
  memory.pulls.set(container.name, { id, kind: "pulling" });
  const outcome = await ensured(deps, request, action);
  // Another image may be wanted by now.
  if (memory.signal.aborted || memory.pulls.get(container.name)?.id !== id) return;
  memory.pulls.set(container.name, outcome);
  wake();
}

async function ensured(
  deps: ImagePullDeps,
  { pod, memory, tell }: PullRequest,
  action: Extract<Action, { kind: "pull" }>,
): Promise<PullState> {
  const { container, id, failures } = action;
  const image = container.image ?? "";
  const pullPolicy = container.imagePullPolicy ?? "IfNotPresent";
  const began = deps.clock.now();
  let isPulling = false;
  const pulling = (): void => {
    if (!isPulling) tell({ type: "Normal", reason: "Pulling", message: `Pulling image "${image}"` }, container);
    isPulling = true;
  };
  if (pullPolicy === "Always") pulling();
  try {
    const pullSecrets = await readPullSecrets(deps.client, pod, memory.signal);
    const team = teamOf(pod, deps.teamOfPool);
    const resolved = await deps.images.ensure(image, { pullPolicy, pullSecrets, team, onProgress: pulling, signal: memory.signal });
    const message = isPulling
      ? `Successfully pulled image "${image}" in ${deps.clock.now() - began}ms`
      : `Container image "${image}" already present on machine`;
    tell({ type: "Normal", reason: "Pulled", message }, container);
    return { id, kind: "ready", image: resolved };
  } catch (error) {
    const now = deps.clock.now();
    const reason = failureReason(error);
    const message = messageOf(error);
    if (!memory.signal.aborted) tellFailure(tell, container, reason, message);
    return { id, kind: "failed", reason, failedAt: now, ...oneMore(pace, { failures }, message, now) };
  }
}

function failureReason(error: unknown): PullFailureReason {
  if (isImageError(error, "invalid_reference")) return "InvalidImageName";
  return isImageError(error, "not_present") ? "ErrImageNeverPull" : "ErrImagePull";
}

function tellFailure(tell: Tell, container: StoredContainer, reason: PullFailureReason, message: string): void {
  const image = container.image ?? "";
  const said = {
    ErrImagePull: { reason: "Failed", message: `Failed to pull image "${image}": ${message}` },
    ErrImageNeverPull: { reason: "ErrImageNeverPull", message: `Container image "${image}" is not present with pull policy of Never` },
    InvalidImageName: { reason: "InspectFailed", message },
  }[reason];
  tell({ type: "Warning", ...said }, container);
  tell({ type: "Warning", reason: "Failed", message: `Error: ${reason}` }, container);
}

/** Secrets that are missing or of another kind are left out: the image may well be public. */
async function readPullSecrets(client: ObjectClient, { metadata, spec }: NodePod, signal: AbortSignal): Promise<readonly string[]> {
  const texts: string[] = [];
  for (const { name } of spec.imagePullSecrets ?? []) {
    if (name === undefined) continue;
    const secret = await client.get(Secrets, { namespace: metadata.namespace, name }, { signal }).catch(() => undefined);
    const config = secret?.data?.[".dockerconfigjson"];
    if (config !== undefined) texts.push(Buffer.from(config, "base64").toString());
  }
  return texts;
}
