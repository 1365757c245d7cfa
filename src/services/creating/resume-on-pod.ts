/** A deeply paused sandbox on a pod again: a create from its checkpoint, under the id that it has, and with all that it was asked for. */
import { withoutUndefined } from "#lib/without-undefined.ts";
import type { Checkpoint } from "#model/checkpoint.ts";
import { annotationKeys } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import { formatTime, parseStringList } from "#sandbox/annotation-values.ts";
import type { Caller } from "#services/caller.ts";
import { meantCreate } from "#services/checkpoints/meant-checkpoint.ts";
import type { CreatedSandbox, CreateSandbox } from "#services/sandbox-service.ts";
import { ServiceError } from "#services/service-error.ts";
import { resolveMounts } from "#services/volumes/resolve-mounts.ts";
import type { ClaimContext } from "./claim-context.ts";
import { createSandbox } from "./create-sandbox.ts";
import { CreateTime } from "./create-time.ts";
import { resolveCreate } from "./resolve-create.ts";
import { sameAgain } from "./same-again.ts";

export interface ResumeOrder {
  readonly sandboxId: string;
  /** What has the sandbox, and the sandbox as it is shown. */
  readonly checkpoint: Checkpoint;
  readonly paused: Pod;
  /** Left out: it has no end. */
  readonly lifetimeMs: number | undefined;
  /** Called when a pod is claimed, before anything runs in it. Throws when the sandbox is not this process's to resume any more. */
  readonly confirm: (pod: Pod) => Promise<void>;
}

/** Throws ServiceError. */
export async function resumeOnPod(context: ClaimContext, owner: Caller, order: ResumeOrder): Promise<CreatedSandbox> {
  const { clock, stopped } = context;
  const { sandboxId, confirm } = order;
  const command = commandOf(context, order);
  const volumeMounts = resolveMounts(context, owner, command.volumeMounts ?? []);
  const wanted = await meantCreate(context, owner, command);
  const meant = resolveCreate(context, owner, wanted);
  using time = new CreateTime({ clock, timeoutMs: meant.startupTimeoutMs, stopped });
  const resume = { restored: restoredOf(order, clock.now()), confirm };
  const nextId = async (): Promise<string> => sandboxId;
  return await createSandbox(context, { wait: true, time, caller: owner, command: wanted, volumeMounts, meant, sandboxId, nextId, resume });
}

function commandOf({ startOrders }: ClaimContext, { sandboxId, checkpoint, paused, lifetimeMs }: ResumeOrder): CreateSandbox {
  const { labels = {}, annotations = {} } = paused.metadata;
  const order = startOrders.orderIn(sandboxId, annotations[annotationKeys.startOrder]);
  if (order === undefined) {
    throw new ServiceError("conflict", `the variables that sandbox ${sandboxId} was made with cannot be read: this server has another key`);
  }
  return {
    ...sameAgain(paused),
    ...order,
    from: checkpoint.metadata.name ?? "",
    labels: own(labels, annotations[annotationKeys.managedLabelKeys]),
    annotations: own(annotations, annotations[annotationKeys.managedAnnotationKeys]),
    ...withoutUndefined({ lifetimeMs }),
  };
}

/** What its creator gave, and nothing of the pod's. */
function own(map: Readonly<Record<string, string>>, keys: string | undefined): Readonly<Record<string, string>> {
  return Object.fromEntries((parseStringList(keys) ?? []).flatMap((key) => (map[key] === undefined ? [] : [[key, map[key]]])));
}

/** It was made when it was made, and a resume is use. */
function restoredOf({ checkpoint, paused }: ResumeOrder, now: number): Readonly<Record<string, string>> {
  const { [annotationKeys.claimedAt]: claimedAt, [annotationKeys.lifetime]: lifetime } = paused.metadata.annotations ?? {};
  return {
    [annotationKeys.resumedFrom]: checkpoint.metadata.name ?? "",
    [annotationKeys.lastActive]: formatTime(now),
    ...(claimedAt === undefined ? {} : { [annotationKeys.claimedAt]: claimedAt }),
    ...(lifetime === undefined ? {} : { [annotationKeys.lifetime]: lifetime }),
  };
}
