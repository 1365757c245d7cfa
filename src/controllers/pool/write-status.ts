/** Writes a pool's status when it has changed, and not more often than the pace allows: a thousand claims a second are a few writes. */
import { isDeepStrictEqual } from "node:util";
import { kubernetesTime } from "#lib/clock.ts";
import { conditionIn } from "#model/conditions.ts";
import type { JsonObject } from "#model/meta.ts";
import { poolConditions } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import type { SandboxPool, SandboxPoolStatus } from "#model/sandbox-pool.ts";
import { deliveryName, deliveryOf } from "#sandbox/daemon-delivery.ts";
import { statusDetailFromPod } from "#sandbox/diagnosis.ts";
import { patchPoolStatus } from "./patch-pool.ts";
import { countPods } from "./pool-counts.ts";
import { keyOf, type PoolTools } from "./pool-deps.ts";
import { blueprintOf } from "./pool-blueprint.ts";
import { poolStatus } from "./pool-status.ts";
import { degradedHappening, phaseHappening, tellPool } from "./tell-pool.ts";

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
      trouble: memory.trouble,
      ailment: ailmentOf(tools, pool),
      outdated: outdatedOf(tools, pool),
      waiting: tools.pressure?.waiting(key),
      resolvedImages: memory.resolvedImages,
      imageForm: memory.imageForm,
      daemonDelivery: deliveryName(deliveryOf(tools)),
    },
    kubernetesTime(now),
  );
  const pendingMs = (status.pendingRequests ?? 0) > 0 && tools.pressure !== undefined ? tools.pace.pendingEveryMs : undefined;
  if (isDeepStrictEqual(status, pool.status)) return pendingMs;
  const waitMs = memory.statusAtMs === undefined ? 0 : memory.statusAtMs + tools.pace.statusEveryMs - now;
  if (waitMs > 0) return waitMs;
  memory.statusAtMs = now;
  if ((await patchPoolStatus(tools, pool, changedFields(pool.status ?? {}, status), signal)) !== undefined) tell(tools, pool, status);
  return pendingMs;
}

/** Only these: what others write beside them stays theirs. */
function changedFields(before: SandboxPoolStatus, now: SandboxPoolStatus): JsonObject {
  const changed = Object.entries(now).filter(([field, value]) => !isDeepStrictEqual(value, before[field as keyof SandboxPoolStatus]));
  return Object.fromEntries(changed);
}

/** Nothing is outdated while nobody knows what it should be. */
function outdatedOf(tools: PoolTools, pool: SandboxPool): number {
  const blueprint = blueprintOf(tools, pool);
  return blueprint.kind === "trouble" ? 0 : tools.ledger.of(keyOf(pool)).outdated(blueprint.hash);
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
