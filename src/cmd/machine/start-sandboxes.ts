/**
 * Everything about sandboxes in one process, started in layers: the node, the history, claims and recycling, the controllers, and the API.
 */
import type { ApiFace } from "#api/http/api-server.ts";
import { CliError } from "#cli/failure.ts";
import { httpDaemonClient } from "#daemon-client/http-daemon-client.ts";
import { openPodHttp } from "#daemon-client/pod-http.ts";
import type { TeamOfPool } from "#engines/embedded/node/agent/run/pod-places.ts";
import type { ObjectStore } from "#engines/embedded/store/object-store.ts";
import { publicKeyText } from "#envd-protocol/arming.ts";
import { embeddedAbilities } from "#engines/embedded/abilities.ts";
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import type { MonotonicClock } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import type { Metrics } from "#lib/metrics.ts";
import { ActivityWriter } from "#gateway/activity-writer.ts";
import { TrafficLog } from "#gateway/activity.ts";
import { labelKeys, localClusterID } from "#model/keys.ts";
import { teamLimit } from "#model/limits.ts";
import { joinedSources } from "#sandbox/last-active-source.ts";
import type { ConsoleSessions } from "#services/keys/console-sessions.ts";
import type { AuditTrail } from "#services/audit/audit-trail.ts";
import { ExecActivity } from "#services/inside/exec-activity.ts";
import { dashboardFiles } from "#cmd/dashboard/dashboard-files.ts";
import { defaultMaxUses, keptLogsOf, pressureOf, startControlPlane, startHistory } from "#cmd/parts/control-plane.ts";
import { controlPlaneKey } from "#cmd/parts/control-plane-key.ts";
import { readImageMap } from "#services/builds/base-images.ts";
import { createFirstObjects } from "./first-objects.ts";
import type { HomeFolder } from "#cmd/parts/home-folder.ts";
import { openPlugins, thisMachine } from "#cmd/parts/open-plugins.ts";
import { openSignIn } from "#cmd/parts/open-sign-in.ts";
import { openSandboxServices, webhookNamespace } from "#cmd/parts/sandbox-services.ts";
import type { Access } from "#cmd/parts/serve-api.ts";
import { type GatewayParts, type GatewaySettings, serveGateway, type ServedGateway } from "#cmd/parts/serve-gateway.ts";
import { defaultKeepLogsMs } from "#store/retention.ts";
import type { EmbeddedNode } from "./embedded-node.ts";
import type { BuildsOptions } from "#cmd/parts/template-builds.ts";
import { openTracing } from "#cmd/parts/tracing.ts";
import { statfsSync } from "node:fs";
import { availableParallelism, totalmem } from "node:os";
import { VolumeCache } from "#volumes/volume-cache.ts";
import type { PodRuntime } from "#engines/embedded/node/pod-runtime.ts";
import type { ReadPodUse } from "#services/usage/pod-use.ts";

export interface SandboxesOptions {
  readonly home: HomeFolder;
  readonly version: string;
  /** Where the API will listen. */
  readonly host: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly store: ObjectStore;
  /** Run here, and stopped with the rest. */
  readonly cache: SandboxCache;
  readonly access: Pick<Access, "keys" | "guard">;
  readonly clock: MonotonicClock;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly databaseUrl?: string | undefined;
  readonly retentionMs?: number | undefined;
  readonly auditRetentionMs?: number | undefined;
  readonly auditEntries?: number | undefined;
  readonly logRetentionMs?: number | undefined;
  readonly logSizeKib?: number | undefined;
  readonly maxUses?: number | undefined;
  readonly adoptPools?: boolean | undefined;
  readonly queueSize?: number | undefined;
  readonly maxTimeoutMs?: number | undefined;
  readonly gateway: GatewaySettings;
  readonly maxOpen?: number | undefined;
  readonly maxOpenOfSandbox?: number | undefined;
  /** The file that names plugins; left out: in the data folder, if there is one. */
  readonly plugins?: string | undefined;
  /** The file that describes the OpenID Connect provider by which people sign in to the console. */
  readonly oidc?: string | undefined;
  /** Hosts that webhooks may be at though their addresses are not public. */
  readonly webhookHosts?: readonly string[] | undefined;
  /** Aborted when it is to end. */
  readonly signal: AbortSignal;
  /** Where the API listens, when it does. */
  readonly api: NonNullable<GatewayParts["api"]>;
}

export interface StartedSandboxes extends AsyncDisposable {
  readonly faces: readonly ApiFace[];
  /** Of the console. */
  readonly sessions: ConsoleSessions;
  readonly audit: AuditTrail;
  readonly gateway: Pick<ServedGateway, "address" | "domain" | "authorityFile">;
  /** Ends creates that wait, so that their callers have an answer while there still is a server; everything else goes on. */
  readonly refuseCreates: () => Promise<void>;
}

const mib = 1024 ** 2;

/** What clients of E2B start from when they name nothing is what this machine has. */
const usualBaseImages = "e2bdev/base = host\ne2bdev/code-interpreter = host\n";

/** Ends in the opposite order: controllers, the cache that they read, history, node. Throws CliError for what its user can see to. */
export async function startSandboxes(options: SandboxesOptions): Promise<StartedSandboxes> {
  const { home, store, cache, clock, log, metrics } = options;
  await using parts = new AsyncDisposableStack();
  const { tracer } = parts.use(await openTracing(options));
  const privateKey = await controlPlaneKey(home.controlPlaneKeyFile);
  const oidc = await openSignIn({ ...options, privateKey });
  const publicKey = publicKeyText(privateKey);
  const node = parts.use(await startNode(options, publicKey).catch(asNodeFailure));
  await createFirstObjects(store);
  const { history } = parts.use(await historyOf(options).catch(asHistoryFailure));
  parts.defer(() => cache.stop());

  const http = parts.adopt(openPodHttp(), (pods) => pods.close());
  const daemons = httpDaemonClient({ http, privateKey });
  const { maxUses = defaultMaxUses } = options;
  const abilities = embeddedAbilities;
  const basis = { client: store, cache, history, clock, log, metrics };
  const volumes = parts.adopt(new VolumeCache(basis), (followed) => followed.stop());
  const common = { ...basis, publicKey, maxUses, digests: node.digests, abilities, volumes, volumeData: node.runtime.volumes };
  const activity = new ExecActivity(clock);
  const traffic = new TrafficLog(clock);
  const { queueSize, maxTimeoutMs, adoptPools, version, auditEntries, logRetentionMs, logSizeKib } = options;
  const wanted = { queueSize, maxTimeoutMs, version, auditEntries };
  const podUse = nodeUse(node.runtime, home.folder);
  const access = { ...options.access, daemons, pods: node.agent, commands: node.commands, podUse, http, privateKey };
  const plugins = await openPlugins({ ...options, folder: home.folder, machine: thisMachine(home.folder) });
  const own = { plugins, activity, tracer, oidc, consoleFiles: dashboardFiles(log), builds: buildsIn(home) };
  const services = parts.use(openSandboxServices({ ...common, ...access, ...own, ...wanted, tellsEvents: true }));
  const pressure = pressureOf(services.claims);
  const webhooks = { namespace: webhookNamespace, hosts: options.webhookHosts ?? [] };
  const lastActive = joinedSources([activity, traffic]);
  const keptLogs = keptLogsOf(node.agent, { logRetentionMs, logSizeKib, usualMs: defaultKeepLogsMs });
  const kept = { keptLogs, clusterID: localClusterID, adoptPools, checkpoints: node.checkpoints, webhooks };
  parts.use(startControlPlane({ ...common, ...kept, plugins, pressure, daemon: daemons, lastActive }));
  await Promise.all([cache.run(), volumes.run()]);
  services.openBuilds();
  parts.adopt(new ActivityWriter({ ...common, traffic, random: Math.random }), (writer) => writer.stop());
  const { certificateFolder } = home;
  const { api, maxOpen, maxOpenOfSandbox } = options;
  const settings = { ...options.gateway, maxOpen, maxOpenOfSandbox };
  const gateway = parts.use(await serveGateway({ ...common, ...services, settings, certificateFolder, traffic, api }));
  const started = parts.move();
  return {
    faces: services.faces(gateway.domain, options.host, gateway.address),
    sessions: services.sessions,
    audit: services.audit,
    gateway,
    refuseCreates: services.refuseCreates,
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

/** Each team's images have a limit, and their bytes are told to the limits of teams. */
async function startNode(options: SandboxesOptions, publicKey: string): Promise<EmbeddedNode> {
  const { home, cache, access } = options;
  const { startEmbeddedNode } = await import("./embedded-node.ts");
  const node = await startEmbeddedNode({
    ...options,
    home: home.folder,
    publicKey,
    teamOfPool: teamIn(cache),
    imageLimitOf: (team) => teamLimit(cache.limitTable(), team, "imageMiB") * mib,
  });
  access.guard.countImages((team) => (team === undefined ? 0 : Math.ceil(node.imageBytesOf(team) / mib)));
  return node;
}

async function historyOf(options: SandboxesOptions): ReturnType<typeof startHistory> {
  const { home, clock, log, retentionMs: keepMs, auditRetentionMs: keepAuditMs, logRetentionMs: keepLogsMs } = options;
  return await startHistory({ location: options.databaseUrl ?? home.historyFile, clock, log, keepMs, keepAuditMs, keepLogsMs });
}

function buildsIn({ buildsFolder: folder }: HomeFolder): BuildsOptions {
  return { folder, usualImages: readImageMap({ data: { images: usualBaseImages } }), builderEnv: "base" };
}

/** A pool that the cache does not have, or not yet, is of no known team. */
function teamIn(cache: SandboxCache): TeamOfPool {
  return (key) => {
    try {
      return cache.pool(key).metadata.labels?.[labelKeys.team];
    } catch {
      return undefined;
    }
  };
}

/** What keeps the node from starting is something of the machine that its user can see to. */
function asNodeFailure(error: unknown): never {
  const why = error instanceof Error ? error.message : String(error);
  throw new CliError(
    `the node cannot start: ${why}\nagentbox doctor finds out what is wrong (agentbox up --no-sandboxes starts without it)`,
  );
}

function asHistoryFailure(error: unknown): never {
  throw new CliError(
    `the history cannot be opened: ${error instanceof Error ? error.message : String(error)} (agentbox doctor asks the database)`,
  );
}

/** What sandboxes use by the word of the node in this process: the kernel counts for it, and no sandbox is asked. */
function nodeUse(runtime: Pick<PodRuntime, "usage">, home: string): ReadPodUse {
  const { blocks, bsize } = statfsSync(home);
  const machine = { cpus: availableParallelism(), memoryBytes: totalmem(), diskBytes: blocks * bsize };
  return async (pod) => {
    const { cpuNanos, memoryBytes, cacheBytes, diskBytes, oomKills } = await runtime.usage(pod.metadata.uid ?? "");
    return { cpuMs: cpuNanos / 1e6, memoryBytes, cacheBytes, diskBytes, oomKills, machine };
  };
}
