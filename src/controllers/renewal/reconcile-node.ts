/**
 * Renews the pods that rest, node by node: the second half of the end of a sandbox (`lifecycle/resting.ts` has the first).
 *
 * - `plan-renewals.ts`  how many now; pure
 * - `rest-memory.ts`    when something of a node was last claimed and renewed
 *
 * What comes after, the pod's way back to idle, is `controllers/pod`.
 */
import { type Controller, type ControllerDeps, type ControllerOptions, startController } from "#kube/controller/controller.ts";
import type { Key } from "#kube/controller/key.ts";
import { changesOf, type Source } from "#kube/controller/source.ts";
import type { Requeue } from "#kube/controller/work-queue.ts";
import {
  podsByPoolAndSlot,
  podsByRenewal,
  poolValue,
  readyIdlePods,
  renewalValue,
  slotOf,
  slotValue,
} from "#kube/sandbox-cache/indexes.ts";
import type { MonotonicClock } from "#lib/clock.ts";
import { deletePodAsSeen } from "#lifecycle/delete-pod.ts";
import { fateOfPod } from "#lifecycle/fate-of-pod.ts";
import { patchPodAsSeen } from "#lifecycle/patch-pod.ts";
import type { ReleaseDeps } from "#lifecycle/release-sandbox.ts";
import type { Resting } from "#lifecycle/resting.ts";
import { annotationKeys } from "#model/keys.ts";
import { isResting, poolOf, sandboxIdOf } from "#model/claimed-pod.ts";
import type { Pod } from "#model/pod.ts";
import { parseTime } from "#sandbox/annotation-values.ts";
import { planRenewal } from "#sandbox/renewal-patch.ts";
import type { ClaimPressure } from "#controllers/pool/claim-pressure.ts";
import { planRenewals, type RenewalPace, usualRenewalPace } from "./plan-renewals.ts";
import { RestMemory } from "./rest-memory.ts";

export interface RenewalDeps extends ReleaseDeps {
  readonly clock: MonotonicClock;
  readonly resting: Resting;
  readonly pressure?: ClaimPressure | undefined;
  readonly pace?: RenewalPace | undefined;
}

interface RenewalTools extends RenewalDeps {
  readonly memory: RestMemory;
}

/** Who released it has retired it by then, or has died. */
const trustMs = 5_000;
/** A pool with fewer of its pods idle than this share is short of them. */
const leastIdleShare = 0.1;

export async function reconcileNode(deps: RenewalTools, { name: node }: Key, signal: AbortSignal): Promise<Requeue> {
  const resting = deps.cache.pods.objects.lookup(podsByRenewal, renewalValue(node, "resting")).toArray();
  if (resting.length === 0) return undefined;
  const doubtful = await renewDoubtful(deps, resting, signal);
  const left = resting.filter((pod) => !doubtful.has(pod));
  const short = new Map<string, boolean>();
  const wanted = left.filter((pod) => {
    const pool = poolKeyOf(pod);
    const isShort = short.get(pool) ?? isPoolShort(deps, pod);
    short.set(pool, isShort);
    return isShort;
  });
  const pace = deps.pace ?? usualRenewalPace;
  const plan = planRenewals(
    {
      resting: left.length,
      wanted: wanted.length,
      renewing: deps.cache.pods.objects.count(podsByRenewal, renewalValue(node, "renewing")),
      isClaiming: deps.memory.sinceClaim(node) < pace.claimedLatelyMs,
      sinceLastMs: deps.memory.sinceRenewal(node),
    },
    pace,
  );
  const first = wanted.length > 0 ? wanted : left;
  await Promise.all(first.slice(0, plan.renew).map((pod) => renew(deps, pod, signal)));
  return { afterMs: plan.againInMs ?? trustMs };
}

/** Whose end was not completed: nobody may go on running for a sandbox that has ended, so these do not wait for their turn. */
async function renewDoubtful(deps: RenewalTools, resting: readonly Pod[], signal: AbortSignal): Promise<ReadonlySet<Pod>> {
  const now = deps.clock.now();
  const doubtful = resting.filter((pod) => {
    const since = parseTime(pod.metadata.annotations?.[annotationKeys.restsSince]) ?? 0;
    return Math.abs(now - since) > trustMs && !deps.memory.isRetired(pod);
  });
  const renewed = await Promise.all(
    doubtful.map(async (pod) => {
      if (await deps.resting.retire(pod, sandboxIdOf(pod) ?? "")) {
        deps.memory.retired(pod);
        return undefined;
      }
      await renew(deps, pod, signal);
      return pod;
    }),
  );
  return new Set(renewed.filter((pod) => pod !== undefined));
}

/** As its pool is now: a pod that has become outdated while it rested is replaced. A race that is lost is told by the change that won it. */
async function renew(deps: RenewalTools, pod: Pod, signal: AbortSignal): Promise<void> {
  const fate = await fateOfPod(deps, pod, signal);
  deps.memory.renewed(pod);
  if (fate.kind === "replace") {
    await deletePodAsSeen(deps, pod, signal);
    return;
  }
  const patch = planRenewal(pod, fate.images, deps.clock.now());
  if (patch !== undefined) await patchPodAsSeen(deps, pod, patch, signal);
}

function poolKeyOf(pod: Pod): string {
  return poolValue({ namespace: pod.metadata.namespace ?? "", pool: poolOf(pod) ?? "" });
}

function isPoolShort({ cache, pressure }: RenewalTools, pod: Pod): boolean {
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

export function startRenewalController(deps: RenewalDeps & ControllerDeps, options: Pick<ControllerOptions, "signal"> = {}): Controller {
  const memory = new RestMemory(deps.clock);
  const tools: RenewalTools = { ...deps, memory };
  return startController(deps, {
    name: "renewal",
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

/** Somebody waits for a pod: those that rest are looked at, wherever they are. */
function poolsInNeed({ cache, pressure }: RenewalDeps): Source {
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
