/** The controllers, in whichever of the processes leads. The others have their caches ready and take over. */
import type { ServePartsRequest } from "#cli/context.ts";
import { summedPressure } from "#controllers/pool/size/summed-pressure.ts";
import type { EngineAbilities } from "#engine-port/abilities.ts";
import type { CheckpointRepository } from "#engines/kubernetes/checkpoints/checkpoint-repository.ts";
import { fencedClient } from "#kube/fenced-client.ts";
import { type LeaderElection, startLeaderElection } from "#kube/leader/leader-election.ts";
import { keptLogsOf, startControlPlane, startRetention } from "#cmd/parts/control-plane.ts";
import { VolumeCache } from "#volumes/volume-cache.ts";
import type { ApiMembers } from "./api-members.ts";
import type { OpenedApi } from "./api-part.ts";
import { openClusterCheckpoints } from "./checkpoint-registry.ts";
import type { ClusterParts } from "./cluster-parts.ts";
import { leaderLease } from "./connect-cluster.ts";

export interface LeadOptions extends Pick<
  ServePartsRequest,
  "retentionMs" | "auditRetentionMs" | "logRetentionMs" | "logSizeKib" | "onlyNamespace" | "clusterID" | "adoptPools"
> {
  readonly members: ApiMembers;
  readonly abilities: EngineAbilities;
  /** That of this process, if it has one. */
  readonly api: Pick<OpenedApi, "pressure"> | undefined;
  /** Of the images of checkpoints, where there is one. */
  readonly repository: CheckpointRepository | undefined;
}

/** Runs for leadership; the cache is already synced, so an elected process works at once. */
export function startLeading(parts: ClusterParts, options: LeadOptions): AsyncDisposable & Pick<LeaderElection, "leading"> {
  const { client, namespace, identity, clock, log } = parts;
  const deps = { client, clock, log, metrics: parts.metrics.metrics };
  const lead = (signal: AbortSignal): Promise<void> => leadUntil(parts, options, signal);
  const election = startLeaderElection(deps, { namespace, name: leaderLease, identity, lead });
  return {
    get leading() {
      return election.leading;
    },
    [Symbol.asyncDispose]: () => election.stop(),
  };
}

/** From its end on nothing is written any more, whatever was being decided. */
async function leadUntil(
  parts: ClusterParts,
  { members, abilities, api, repository, onlyNamespace, clusterID, adoptPools, ...keep }: LeadOptions,
  signal: AbortSignal,
): Promise<void> {
  const { history, engine, log } = parts;
  const client = fencedClient(parts.client, signal);
  if (history === undefined) throw new Error("the controllers have no history");
  await using leading = new AsyncDisposableStack();
  const volumes = new VolumeCache(parts, { namespace: onlyNamespace });
  leading.defer(() => volumes.stop());
  const own = api && { member: members.ownName, pressure: api.pressure };
  leading.use(
    startControlPlane({
      ...parts,
      ...engine,
      abilities,
      volumes,
      history,
      client,
      checkpoints: repository && openClusterCheckpoints({ ...parts, client, registries: engine.registries, repository }),
      metrics: parts.metrics.metrics,
      pressure: summedPressure({ members: members.members, own }),
      daemon: parts.daemons,
      lastActive: parts.traffic,
      // Their status covers all pools that use them; two processes that see different pools would overwrite each other's status.
      templateStatus: onlyNamespace === undefined,
      clusterID,
      adoptPools,
      // Clusters usually collect logs of pods themselves, and each one that is kept is a request to a kubelet.
      keptLogs: keptLogsOf(engine.pods, { ...keep, usualMs: 0 }),
    }),
  );
  // Not waited for: a cluster may not know the kind yet.
  volumes.objects.start();
  leading.use(
    startRetention({ ...parts, history, keepMs: keep.retentionMs, keepAuditMs: keep.auditRetentionMs, keepLogsMs: keep.logRetentionMs }),
  );
  log.info({}, "controllers run");
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
  await leading.disposeAsync();
  log.info({}, "controllers have stopped");
}
