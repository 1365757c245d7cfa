/**
 * Everything about sandboxes in one process, one part on the other: the node that runs them, the history, whoever hands them out and
 * takes them back, the controllers, and their API.
 */
import type { ApiFace } from "#api/http/api-server.ts";
import { CliError } from "#cli/failure.ts";
import { httpDaemonClient } from "#daemon-client/http-daemon-client.ts";
import { openPodHttp } from "#daemon-client/pod-http.ts";
import type { ObjectStore } from "#engines/embedded/store/object-store.ts";
import { publicKeyText } from "#envd-protocol/arming.ts";
import type { SandboxCache } from "#kube/sandbox-cache/sandbox-cache.ts";
import type { MonotonicClock } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import type { Metrics } from "#lib/metrics.ts";
import { ActivityWriter } from "#gateway/activity-writer.ts";
import { TrafficLog } from "#gateway/activity.ts";
import { joinedSources } from "#sandbox/last-active-source.ts";
import { ExecActivity } from "#services/exec-activity.ts";
import { defaultMaxUses, pressureOf, startControlPlane, startHistory } from "./control-plane.ts";
import { controlPlaneKey } from "./control-plane-key.ts";
import { createFirstObjects } from "./first-objects.ts";
import type { HomeFolder } from "./home-folder.ts";
import { nodeUse } from "./node-use.ts";
import { openSandboxServices } from "./sandbox-services.ts";
import { type GatewayParts, type GatewaySettings, serveGateway, type ServedGateway } from "./serve-gateway.ts";
import { openTracing } from "./tracing.ts";

export interface SandboxesOptions {
  readonly home: HomeFolder;
  readonly version: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly store: ObjectStore;
  /** Run here, and stopped with the rest. */
  readonly cache: SandboxCache;
  readonly clock: MonotonicClock;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly databaseUrl?: string | undefined;
  readonly retentionMs?: number | undefined;
  readonly maxUses?: number | undefined;
  readonly queueSize?: number | undefined;
  readonly maxTimeoutMs?: number | undefined;
  readonly gateway: GatewaySettings;
  readonly maxOpen?: number | undefined;
  readonly maxOpenOfSandbox?: number | undefined;
  /** Where the API listens, when it does. */
  readonly api: NonNullable<GatewayParts["api"]>;
}

export interface StartedSandboxes extends AsyncDisposable {
  readonly faces: readonly ApiFace[];
  readonly gateway: Pick<ServedGateway, "address" | "domain" | "authorityFile">;
  /** Ends creates that wait, so that their callers have an answer while there still is a server; everything else goes on. */
  readonly refuseCreates: () => Promise<void>;
}

/** Ends in the opposite order: controllers, the cache that they read, history, node. Throws CliError for what its user can see to. */
export async function startSandboxes(options: SandboxesOptions): Promise<StartedSandboxes> {
  const { home, store, cache, clock, log, metrics } = options;
  await using parts = new AsyncDisposableStack();
  const { tracer } = parts.use(await openTracing(options));
  const privateKey = await controlPlaneKey(home.controlPlaneKeyFile);
  const publicKey = publicKeyText(privateKey);
  const { startEmbeddedNode } = await import("./embedded-node.ts");
  const node = parts.use(await startEmbeddedNode({ ...options, home: home.folder, publicKey }).catch(asNodeFailure));
  await createFirstObjects(store);
  const location = options.databaseUrl ?? home.historyFile;
  const { history } = parts.use(await startHistory({ location, clock, log, keepMs: options.retentionMs }).catch(asHistoryFailure));
  parts.defer(() => cache.stop());

  const http = parts.adopt(openPodHttp(), (pods) => pods.close());
  const daemons = httpDaemonClient({ http, privateKey });
  const { maxUses = defaultMaxUses } = options;
  const common = { client: store, cache, history, clock, log, metrics, publicKey, maxUses, digests: node.digests };
  const activity = new ExecActivity(clock);
  const traffic = new TrafficLog(clock);
  const { queueSize, maxTimeoutMs } = options;
  const podUse = nodeUse(node.runtime, home.folder);
  const access = { daemons, pods: node.agent, commands: node.commands, podUse, http, privateKey };
  const services = parts.use(openSandboxServices({ ...common, ...access, activity, tracer, queueSize, maxTimeoutMs }));
  const pressure = pressureOf(services.claims);
  parts.use(startControlPlane({ ...common, pressure, daemon: daemons, lastActive: joinedSources([activity, traffic]) }));
  await cache.run();
  parts.adopt(new ActivityWriter({ ...common, traffic, random: Math.random }), (writer) => writer.stop());
  const { certificateFolder } = home;
  const { api, maxOpen, maxOpenOfSandbox } = options;
  const settings = { ...options.gateway, maxOpen, maxOpenOfSandbox };
  const gateway = parts.use(await serveGateway({ ...common, ...services, settings, certificateFolder, traffic, api }));
  const started = parts.move();
  return {
    faces: services.faces(gateway.domain),
    gateway,
    refuseCreates: services.refuseCreates,
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

/** What keeps the node from starting is something of the machine that its user can see to. */
function asNodeFailure(error: unknown): never {
  const why = error instanceof Error ? error.message : String(error);
  throw new CliError(`the node cannot start: ${why}\n(agentbox up --no-sandboxes starts without it)`);
}

function asHistoryFailure(error: unknown): never {
  throw new CliError(`the history cannot be opened: ${error instanceof Error ? error.message : String(error)}`);
}
