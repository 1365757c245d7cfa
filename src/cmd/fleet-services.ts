import type { FleetServices } from "#api/native/fleet-routes.ts";
import { poolService } from "#services/pool-service.ts";
import { sandboxStatistics, type StatisticsDeps } from "#services/sandbox-statistics.ts";
import { templateService } from "#services/template-service.ts";
import type { PoolDeps } from "#services/write-pool.ts";

/** Where pools are when nobody says where; creates look for them here too. */
const namespace = "default";

/** What the API has beside sandboxes. */
export function fleetServices(deps: Omit<PoolDeps, "namespace"> & StatisticsDeps): FleetServices {
  return {
    pools: poolService({ ...deps, namespace }),
    templates: templateService(deps),
    statistics: (caller, wanted) => sandboxStatistics(deps, caller, wanted),
  };
}
