/** The plugins of a process: AgentBox's own, and those that a file names. */
import { existsSync, statfsSync } from "node:fs";
import { availableParallelism, totalmem } from "node:os";
import { join } from "node:path";
import { CliError } from "#cli/failure.ts";
import { keyOf } from "#kube/informer/indexed-store.ts";
import { poolsByTemplateName } from "#read-model/indexes.ts";
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import type { Clock } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import type { Metrics } from "#lib/metrics.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import { type CapacitySettings, clusterCapacity, type Machine, machineCapacity } from "#plugins/capacity.ts";
import { instanceTypesPlugin } from "#plugins/instance-types.ts";
import { loadPlugins, type PluginFile } from "#plugins/load-plugins.ts";
import { MachineUse } from "#plugins/machine-use.ts";
import type { Plugin, PluginChain } from "#plugins/plugin.ts";
import { openPluginChain, startPlugins } from "#plugins/plugin-chain.ts";
import { poolsIn } from "#plugins/pool-spec.ts";
import { PluginConfigurationError } from "#plugins/read-configuration.ts";
import { quotaPlugin } from "#plugins/quota.ts";
import { reservationPlugin } from "#plugins/reservation.ts";

export interface PluginsOptions {
  readonly cache: SandboxCache;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** The file that a user named; left out: plugins.json or plugins.yaml in the data folder, if there is one. */
  readonly plugins?: string | undefined;
  /** The data folder. */
  readonly folder: string;
  /** What the machine has, where pods run on it; left out: they run on a cluster. */
  readonly machine?: (() => Machine) | undefined;
  readonly signal: AbortSignal;
}

/** Throws CliError for what is wrong with the file or keeps a plugin from starting. */
export async function openPlugins(options: PluginsOptions): Promise<PluginChain> {
  const { clock, log, metrics, signal } = options;
  try {
    const file = pluginFile(options);
    const { plugins, configuration } = await loadPlugins(file, clock);
    const all = [...ownPlugins(options, configuration.capacity), ...plugins];
    await startPlugins(all, { clock }, signal);
    if (plugins.length > 0) log.info({ file: file.path, plugins: plugins.map(({ name }) => name) }, "plugins loaded");
    return openPluginChain(all, { clock, log, metrics, deadlineMs: configuration.deadlineMs });
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof PluginConfigurationError) throw new CliError(`the plugins cannot be loaded: ${error.message}`);
    throw new CliError(error instanceof Error ? error.message : String(error));
  }
}

function pluginFile({ plugins, folder }: PluginsOptions): PluginFile {
  if (plugins !== undefined) return { path: plugins, isNamed: true };
  const [json, yaml] = [join(folder, "plugins.json"), join(folder, "plugins.yaml")];
  return { path: !existsSync(json) && existsSync(yaml) ? yaml : json, isNamed: false };
}

/** Before those of users: what is refused anyway is not asked of others. */
function ownPlugins({ cache, clock, machine }: PluginsOptions, settings: CapacitySettings): readonly Plugin[] {
  const { amountsOf } = poolsIn(cache);
  const replicasNow = (pool: SandboxPool): number => cache.pools.get(keyOf(pool))?.spec.replicas ?? 0;
  const capacity =
    machine === undefined
      ? clusterCapacity({
          clock,
          settings,
          replicasNow,
          unschedulable: ({ metadata: { namespace = "", name = "" } }) => cache.unschedulablePods({ namespace, pool: name }),
        })
      : machineCapacity({ machine, settings, use: machineUse(cache, settings), replicasNow });
  return [
    instanceTypesPlugin(() => cache.instanceTypes()),
    reservationPlugin(),
    quotaPlugin({ table: () => cache.limitTable(), poolsOfTeam: (team) => cache.poolsOfTeam(team), amountsOf }),
    capacity,
  ];
}

/** For as long as the process runs, like the plugin that asks it. */
function machineUse(cache: SandboxCache, { limitDivisor }: CapacitySettings): MachineUse {
  const use = new MachineUse({ specOf: poolsIn(cache).specOf, limitDivisor });
  cache.pools.onChange((now, before) => use.observe(now, before));
  cache.templates.onChange((now, before) => {
    const name = (now ?? before)?.metadata.name ?? "";
    for (const pool of cache.pools.objects.lookup(poolsByTemplateName, name)) use.observe(pool, pool);
  });
  return use;
}

/** Read once: what pods write changes what is free. */
export function thisMachine(folder: string): () => Machine {
  const { bavail, bsize } = statfsSync(folder);
  const machine = { cpuMilli: availableParallelism() * 1000, memoryBytes: totalmem(), diskBytes: bavail * bsize };
  return () => machine;
}
