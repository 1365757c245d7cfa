/** Writes a pool's status when it has changed, and not more often than the pace allows: a thousand claims a second are a few writes. */
import { isDeepStrictEqual } from "node:util";
import { kubernetesTime } from "#lib/clock.ts";
import { conditionIn } from "#model/conditions.ts";
import type { JsonObject } from "#model/meta.ts";
import { poolConditionReasons, poolConditions } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import type { SandboxPool, SandboxPoolStatus } from "#model/sandbox-pool.ts";
import { deliveryName, deliveryOf } from "#sandbox/pods/daemon-delivery.ts";
import { statusDetailFromPod } from "#sandbox/health/diagnosis.ts";
import { crossesZero, isNotable } from "#controllers/pool/size/pace-pending.ts";
import { patchPoolStatus } from "#controllers/pool/patch-pool.ts";
import { countPods } from "./pool-counts.ts";
import { keyOf, type PoolTools } from "#controllers/pool/pool-deps.ts";
import { blueprintOf } from "#controllers/pool/pool-blueprint.ts";
import type { Trouble } from "#controllers/pool/size/pool-memory.ts";
import { poolStatus } from "./pool-status.ts";
import { degradedHappening, phaseHappening, tellPool } from "./tell-pool.ts";
import { servedNow, wantedPods } from "#controllers/pool/size/wanted-pods.ts";

const { degraded } = poolConditions;

/** Resolves with when to look again. */
export async function writeStatus(tools: PoolTools, pool: SandboxPool, signal: AbortSignal): Promise<number | undefined> {
  const key = keyOf(pool);
  const memory = tools.memories.of(key);
  const now = tools.clock.now();
  const status = poolStatus(
    pool,
    {
      counts: countPods(tools.cache, key),
      trouble: memory.trouble ?? startTrouble(tools, pool),
      wanted: wantedPods(tools, pool),
      serving: servedNow(tools, pool),
      ailment: ailmentOf(tools, pool),
      outdated: outdatedOf(tools, pool),
      waiting: tools.pressure?.waiting(key),
      resolvedImages: memory.resolvedImages,
      imageForm: memory.imageForm,
      daemonDelivery: deliveryName(deliveryOf(tools)),
    },
    kubernetesTime(now),
  );
  const pendingMs = countAgainMs(tools, status);
  const change = changeOf(pool.status ?? {}, status);
  if (change === "none") return pendingMs;
  const everyMs = change === "pending" ? tools.pace.pendingEveryMs : tools.pace.statusEveryMs;
  const waitMs = memory.statusAtMs === undefined ? 0 : memory.statusAtMs + everyMs - now;
  if (waitMs > 0) return waitMs;
  memory.statusAtMs = now;
  if ((await patchPoolStatus(tools, pool, changedFields(pool.status ?? {}, status), signal)) !== undefined) tell(tools, pool, status);
  return pendingMs;
}

/** Requests cease to wait without an event. */
function countAgainMs({ pressure, pace }: PoolTools, { pendingRequests = 0 }: SandboxPoolStatus): number | undefined {
  return pendingRequests > 0 && pressure !== undefined ? pace.pendingEveryMs : undefined;
}

/** `pending`: nothing but how many requests wait, not whether any do. Where that has changed too little for a write of its own, the next other one takes it along. */
function changeOf(before: SandboxPoolStatus, now: SandboxPoolStatus): "none" | "pending" | "any" {
  const [{ pendingRequests: told = 0, ...others }, { pendingRequests: waiting = 0, ...othersNow }] = [before, now];
  if (!isDeepStrictEqual(others, othersNow) || crossesZero(told, waiting)) return "any";
  return isNotable(told, waiting) ? "pending" : "none";
}

/** Only these: what others write beside them stays theirs. */
function changedFields(before: SandboxPoolStatus, now: SandboxPoolStatus): JsonObject {
  const changed = Object.entries(now).filter(([field, value]) => !isDeepStrictEqual(value, before[field as keyof SandboxPoolStatus]));
  return Object.fromEntries(changed);
}

/** Without a known target version, no pod counts as outdated. */
function outdatedOf(tools: PoolTools, pool: SandboxPool): number {
  const blueprint = blueprintOf(tools, pool);
  return blueprint.kind === "trouble" ? 0 : tools.ledger.of(keyOf(pool)).outdated(blueprint.hash);
}

/** What is made ends before it was ready: said for as long as none has become ready, also between two tries, when there is no pod at all. */
function startTrouble({ memories, ledger }: PoolTools, pool: SandboxPool): Trouble | undefined {
  const { losses, givenUp } = memories.of(keyOf(pool));
  if (!losses.isLosing) return undefined;
  const lost = ledger.of(keyOf(pool)).lastStillborn ?? givenUp;
  const detail = lost === undefined ? undefined : statusDetailFromPod(lost);
  const why = detail === undefined ? "" : `; the last one, ${detail.podName}: ${detail.reason}: ${detail.message}`;
  const message = `pods end before they are ready${why}; correct the template or its image`;
  return { reason: poolConditionReasons.podsNotStarting, message };
}

/** The one that has been unwell longest speaks for all. */
function ailmentOf({ ledger }: PoolTools, pool: SandboxPool): string | undefined {
  const sick = ledger.of(keyOf(pool)).unready.oldestFirst().next().value?.pod;
  const detail = sick === undefined ? undefined : statusDetailFromPod(sick);
  if (sick === undefined || detail === undefined) return undefined;
  return `pod ${detail.podName}: ${detail.reason}: ${detail.message} (image ${imageOf(sick)})`;
}

function imageOf({ spec, status }: Pod): string {
  const unready = status?.containerStatuses?.find(({ ready }) => !ready)?.name;
  return (spec.containers.find(({ name }) => name === unready) ?? spec.containers[0])?.image ?? "unknown";
}

function tell(tools: PoolTools, pool: SandboxPool, { phase, conditions }: SandboxPoolStatus): void {
  const memory = tools.memories.of(keyOf(pool));
  const [before, now] = [conditionIn(pool, degraded), conditions?.find(({ type }) => type === degraded)];
  const trouble = degradedHappening(now);
  if (before?.reason !== now?.reason) tellPool(tools, pool, trouble);
  if (trouble !== undefined) memory.isTroubleTold = true;
  if (phase === undefined) return;
  const change = { before: pool.status?.phase, now: phase, isRecovery: memory.isTroubleTold, wanted: pool.spec.replicas };
  tellPool(tools, pool, phaseHappening(change));
  // Between its trouble and its end a pool goes through other phases: pods that failed are missing first, then not ready.
  if (phase === "Ready") memory.isTroubleTold = false;
}
