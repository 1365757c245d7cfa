/**
 * Recycles resting pods, node by node: the second half of the end of a sandbox (`resting.ts` has the first).
 *
 * - `plan-recycle-starts.ts`  how many now (pure); `plan-recycle-start.ts` the write for one pod (pure)
 * - `rest-memory.ts`          when pods of a node were last claimed and recycled
 *
 * `finish-recycle.ts`, called by `life/reconcile-pod.ts`, does the rest until the pod is idle.
 */
import { type Controller, type ControllerDeps, type ControllerOptions, startController } from "#kube/controller/controller.ts";
import type { Key } from "#kube/controller/key.ts";
import { changesOf, type Source } from "#kube/controller/source.ts";
import type { Requeue } from "#kube/controller/work-queue.ts";
import { podsByPoolAndSlot, podsByRecycling, poolValue, readyIdlePods, recyclingValue, slotOf, slotValue } from "#read-model/indexes.ts";
import type { MonotonicClock } from "#lib/clock.ts";
import { deletePodAsSeen } from "#life/delete-pod.ts";
import { fateOfPod } from "./fate-of-pod.ts";
import { patchPodAsSeen } from "#life/patch-pod.ts";
import type { EndDeps } from "#life/end/write-end.ts";
import type { Resting } from "./resting.ts";
import { annotationKeys } from "#model/keys.ts";
import { isResting, poolOf, sandboxIdOf } from "#model/claimed-pod.ts";
import type { Pod } from "#model/pod.ts";
import { restAnswer } from "#model/rest.ts";
import { parseTime } from "#sandbox/annotation-values.ts";
import { planRecycleStart } from "./plan-recycle-start.ts";
import type { ClaimPressure } from "#life/claim/claim-pressure.ts";
import { planRecycleStarts, type RecyclePace, usualRecyclePace } from "./plan-recycle-starts.ts";
import { RestMemory } from "./rest-memory.ts";

export interface RecycleDeps extends EndDeps {
  readonly clock: MonotonicClock;
  readonly resting: Resting;
  readonly pressure?: ClaimPressure | undefined;
  readonly pace?: RecyclePace | undefined;
}

interface RecycleTools extends RecycleDeps {
  readonly memory: RestMemory;
}

/** By then the process that wrote the end has ended the processes of the sandbox, or has died. */
const trustMs = 5_000;
/** A pool with fewer of its pods idle than this share is short of them. */
const leastIdleShare = 0.1;

export async function reconcileNode(deps: RecycleTools, { name: node }: Key, signal: AbortSignal): Promise<Requeue> {
  const resting = deps.cache.pods.objects.lookup(podsByRecycling, recyclingValue(node, "resting")).toArray();
  if (resting.length === 0) return undefined;
  const doubtful = await recycleDoubtful(deps, resting, signal);
  const left = resting.filter((pod) => !doubtful.has(pod));
  const short = new Map<string, boolean>();
  const wanted = left.filter((pod) => {
    const pool = poolKeyOf(pod);
    const isShort = short.get(pool) ?? isPoolShort(deps, pod);
    short.set(pool, isShort);
    return isShort;
  });
  const pace = deps.pace ?? usualRecyclePace;
  const plan = planRecycleStarts(
    {
      resting: left.length,
      wanted: wanted.length,
      recycling: deps.cache.pods.objects.count(podsByRecycling, recyclingValue(node, "recycling")),
      isClaiming: deps.memory.sinceClaim(node) < pace.claimedLatelyMs,
      sinceLastMs: deps.memory.sinceRecycling(node),
    },
    pace,
  );
  const first = wanted.length > 0 ? wanted : left;
  await Promise.all(first.slice(0, plan.start).map((pod) => startRecycling(deps, pod, signal)));
  return { afterMs: plan.againInMs ?? trustMs };
}

/**
 * Pods whose end was not completed do not wait for their turn, because nothing of an ended sandbox may continue. The node's word that it froze the rest,
 * or could not, counts more than the daemon's, which cannot answer then.
 */
async function recycleDoubtful(deps: RecycleTools, resting: readonly Pod[], signal: AbortSignal): Promise<ReadonlySet<Pod>> {
  const now = deps.clock.now();
  const doubtful = resting.filter((pod) => {
    const answer = restAnswer(pod);
    if (answer !== undefined) return answer === "failed";
    const since = parseTime(pod.metadata.annotations?.[annotationKeys.restsSince]) ?? 0;
    return Math.abs(now - since) > trustMs && !deps.memory.haveProcessesEnded(pod);
  });
  const recycled = await Promise.all(
    doubtful.map(async (pod) => {
      if (restAnswer(pod) !== "failed" && (await deps.resting.endProcesses(pod, sandboxIdOf(pod) ?? ""))) {
        deps.memory.processesEnded(pod);
        return undefined;
      }
      await startRecycling(deps, pod, signal);
      return pod;
    }),
  );
  return new Set(recycled.filter((pod) => pod !== undefined));
}

/** Looks at the pool as it is now: a pod that became outdated while it rested is deleted. A lost race needs no retry: the change that won it starts the next look. */
async function startRecycling(deps: RecycleTools, pod: Pod, signal: AbortSignal): Promise<void> {
  const fate = await fateOfPod(deps, pod, signal);
  deps.memory.recycled(pod);
  if (fate.kind === "delete") {
    await deletePodAsSeen(deps, pod, signal);
    return;
  }
  const patch = planRecycleStart(pod, fate.images, deps.clock.now());
  if (patch !== undefined) await patchPodAsSeen(deps, pod, patch, signal);
}

function poolKeyOf(pod: Pod): string {
  return poolValue({ namespace: pod.metadata.namespace ?? "", pool: poolOf(pod) ?? "" });
}

function isPoolShort({ cache, pressure }: RecycleTools, pod: Pod): boolean {
  const { namespace = "" } = pod.metadata;
  const pool = poolOf(pod) ?? "";
  if ((pressure?.waiting({ namespace, name: pool }) ?? 0) > 0) return true;
  const idle = cache.pods.objects.count(readyIdlePods, poolKeyOf(pod));
  const used = (["running", "starting", "stopping"] as const).reduce(
    (sum, slot) => sum + cache.pods.objects.count(podsByPoolAndSlot, slotValue({ namespace, pool, slot })),
    0,
  );
  return idle < leastIdleShare * (idle + used);
}

/** A daemon that does not answer keeps a reconcile waiting; other nodes go on meanwhile. */
const concurrency = 16;

export function startRecycleController(deps: RecycleDeps & ControllerDeps, options: Pick<ControllerOptions, "signal"> = {}): Controller {
  const memory = new RestMemory(deps.clock);
  const tools: RecycleTools = { ...deps, memory };
  return startController(deps, {
    name: "recycle",
    reconcile: (key, signal) => reconcileNode(tools, key, signal),
    sources: [
      changesOf(deps.cache.pods, { keys: ownNode, when: (now, before) => isStopping(now) || isStopping(before) }),
      poolsInNeed(deps),
    ],
    following: [memory.follow(deps.cache.pods)],
    concurrency,
    ...options,
  });
}

/** A request waits for a pod: recycle resting pods on all nodes. */
function poolsInNeed({ cache, pressure }: RecycleDeps): Source {
  return {
    connect: (add) => {
      const remove = pressure?.onWaiting(({ namespace = "", name }) => {
        const stopping = cache.pods.objects.lookup(podsByPoolAndSlot, slotValue({ namespace, pool: name, slot: "stopping" }));
        const nodes = new Set(stopping.filter(isResting).map(({ spec }) => spec.nodeName ?? ""));
        for (const node of nodes) add({ namespace: undefined, name: node });
      });
      return { whenSynced: async () => {}, remove: remove ?? (() => {}) };
    },
  };
}

function isStopping(pod: Pod | undefined): boolean {
  return pod !== undefined && poolOf(pod) !== undefined && slotOf(pod) === "stopping";
}

function ownNode({ spec: { nodeName = "" } }: Pod): readonly Key[] {
  return [{ namespace: undefined, name: nodeName }];
}
