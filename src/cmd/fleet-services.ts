import type { FleetServices } from "#api/native/fleet-routes.ts";
import { poolService } from "#services/pool-service.ts";
import { sandboxStatistics, type StatisticsDeps } from "#services/sandbox-statistics.ts";
import { templateService } from "#services/template-service.ts";
import type { PoolDeps } from "#services/write-pool.ts";

export interface FleetDeps extends Omit<PoolDeps, "namespace">, StatisticsDeps {
  /** Where pools are when nobody says where; creates look for them there too. */
  readonly poolNamespace?: string | undefined;
}

/** What the API has beside sandboxes. */
export function fleetServices({ poolNamespace: namespace = "default", ...deps }: FleetDeps): FleetServices {
  return {
    pools: poolService({ ...deps, namespace }),
    templates: templateService(deps),
    statistics: (caller, wanted) => sandboxStatistics(deps, caller, wanted),
  };
}
