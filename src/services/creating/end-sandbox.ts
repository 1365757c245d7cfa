/** Ends a sandbox. One that has ended already is a success without a write (W1); another tenant's is as if there were none (I8). */
import { endSandbox } from "#life/end/write-end.ts";
import { keyOf } from "#kube/informer/indexed-store.ts";
import { byServer, recordEnd, writeStatus } from "#life/record/deep-pauses.ts";
import { isDeepPaused } from "#model/deep-pause.ts";
import type { Pod } from "#model/pod.ts";
import type { Caller } from "#services/caller.ts";
import type { ClaimContext } from "./claim-context.ts";
import { formatTime } from "#sandbox/annotation-values.ts";
import { findSandbox, noSuchSandbox } from "#services/reading/find-sandbox.ts";
import { ServiceError } from "#services/service-error.ts";
import { translated } from "#services/service-failure.ts";

type EndDeps = Pick<
  ClaimContext,
  "client" | "cache" | "history" | "digests" | "clock" | "log" | "publicKey" | "delivery" | "maxUses" | "resting"
>;

/** The end is completed even if its caller disconnects. */
const unending = new AbortController().signal;

/** Throws ServiceError. */
export async function endForCaller(deps: EndDeps, caller: Caller, sandboxId: string): Promise<void> {
  const { pod, record } = await findSandbox(deps, caller, sandboxId);
  if (pod !== undefined && isDeepPaused(pod)) return endDeepPaused(deps, caller, pod, sandboxId);
  if (pod !== undefined) return endOnPod(deps, caller, pod, sandboxId);
  if (record === undefined) throw noSuchSandbox(sandboxId);
}

/** In every case the sandbox has ended: if the pod is gone or carries another sandbox, this one ended before. */
async function endOnPod(deps: EndDeps, caller: Caller, pod: Pod, sandboxId: string): Promise<void> {
  const outcome = await translated(endSandbox(deps, pod, { sandboxId }, unending));
  deps.log.info({ sandboxId, pod: pod.metadata.name, keyId: caller.keyId, outcome: outcome.kind }, "sandbox ended by its owner");
}

/**
 * No pod carries it. One conditional write ends it: a resume that is under way finds the checkpoint changed, and gives back its pod. If this process dies before the
 * record is written, the checkpoint's controller writes it.
 */
async function endDeepPaused(deps: EndDeps, caller: Caller, pod: Pod, sandboxId: string): Promise<void> {
  const checkpoint = await translated(byServer(deps, keyOf(pod)));
  if (checkpoint?.status?.phase !== "Succeeded")
    throw new ServiceError("conflict", "the sandbox is being resumed", { retryAfterSeconds: 1 });
  const ended = { holdsSandbox: true, sandboxEnded: formatTime(deps.clock.now()) };
  await translated(recordEnd(deps, await translated(writeStatus(deps, checkpoint, ended))));
  deps.log.info({ sandboxId, checkpoint: pod.metadata.name, keyId: caller.keyId }, "a deeply paused sandbox was ended by its owner");
}
