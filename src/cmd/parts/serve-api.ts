/** The APIs at their address, with their keys. */
import { e2bErrors } from "#api/e2b/error-shape.ts";
import { keyRoutes as e2bKeyRoutes } from "#api/e2b/key-routes.ts";
import { apiServer, type ApiFace } from "#api/http/api-server.ts";
import { drainServer, handOver, listenAt } from "#api/http/listen.ts";
import type { RateLimit } from "#api/http/rate-limiter.ts";
import { problemShape } from "#api/http/problem.ts";
import { instanceTypeRoutes } from "#api/native/instance-type-routes.ts";
import { keyRoutes } from "#api/native/key-routes.ts";
import { limitRoutes } from "#api/native/limit-routes.ts";
import { CliError } from "#cli/failure.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import { type Clock, sleep } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import { defaultQueueLimits } from "#scheduling/claim-queue.ts";
import type { AuditTrail } from "#services/audit/audit-trail.ts";
import type { ConsoleSessions } from "#services/keys/console-sessions.ts";
import { type InstanceTypeService, instanceTypeService } from "#services/templates/instance-type-service.ts";
import { type KeyService, openKeyService } from "#services/keys/key-service.ts";
import { countUse } from "#services/limits/count-use.ts";
import { LimitGuard } from "#services/limits/limit-guard.ts";
import { type LimitService, limitService } from "#services/limits/limit-service.ts";
import type { ServerMetrics } from "./server-metrics.ts";

/** Where the all-in-one server keeps API keys and other things of AgentBox itself. */
export const systemNamespace = "kube-system";

export const defaultRateLimit: RateLimit = { perSecond: 1000, burst: 2000 };

export interface AccessParts {
  readonly client: ObjectClient;
  /** With a system namespace. */
  readonly cache: SandboxCache;
  readonly clock: Clock;
  /** The system namespace; that of the all-in-one server when left out. */
  readonly namespace?: string;
  readonly rateLimit: RateLimit;
  readonly queueSize?: number | undefined;
  /** The cluster whose members of Envs count as pools; left out: that of the embedded engine. */
  readonly clusterID?: string | undefined;
}

/** Authentication and limits. */
export interface Access {
  readonly keys: KeyService;
  readonly guard: LimitGuard;
  readonly limitService: LimitService;
  readonly instanceTypes: InstanceTypeService;
}

export function accessOver(parts: AccessParts): Access {
  const { client, cache, clock, namespace = systemNamespace, rateLimit, queueSize, clusterID } = parts;
  const { system, limits } = cache;
  if (system === undefined || limits === undefined) throw new Error("the cache has no system namespace");
  const { perSecond } = rateLimit;
  const waitingCreates = queueSize === undefined ? defaultQueueLimits.maxWaitingOfTenant : Math.ceil(queueSize / 4);
  const usual = { requestsPerSecond: perSecond > 0 ? 2 * perSecond : undefined, waitingCreates };
  const guard = new LimitGuard({ cache, use: countUse(cache, clusterID), usual });
  return {
    guard,
    keys: openKeyService({ client, secrets: system.secrets, namespace, clock, limits: guard }),
    limitService: limitService({ client, guard, limits, table: () => cache.limitTable(), namespace }),
    instanceTypes: instanceTypeService({ cache }),
  };
}

export interface ApiOptions {
  readonly host: string;
  readonly port: number;
  readonly access: Access;
  /** Of the console; none where there is no console. */
  readonly sessions?: ConsoleSessions | undefined;
  /** The audit log; none where there is no database. */
  readonly audit?: AuditTrail | undefined;
  /** Beside the routes of keys, limits and instance types, which are always there. */
  readonly faces: readonly ApiFace[];
  readonly rateLimit: RateLimit;
  /** For how long before its end clients are told with every answer to go elsewhere; not at all when left out. */
  readonly handOverMs?: number;
  /** For how long after that creates may go on waiting for a pod; not at all when left out. */
  readonly lastWaitMs?: number;
  /** Called when no new connections are taken any more, to end what requests wait for. */
  readonly onEnding?: () => Promise<void>;
  /** True, or why not. */
  readonly ready: () => true | string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: ServerMetrics;
  /** By which names of the server its metrics are given out; left out: by all, or those of this machine when it serves no other. */
  readonly metricsHosts?: readonly string[];
}

export interface ServedApi extends AsyncDisposable {
  /** As a client of this machine reaches it. */
  readonly address: string;
}

/** How long answers under way may take when the server ends. */
const lastAnswersMs = 5000;

export async function serveApi(options: ApiOptions): Promise<ServedApi> {
  const { host, port, metrics } = options;
  const { keys, guard, limitService: limits, instanceTypes } = options.access;
  const app = await apiServer({
    ...options,
    keys,
    limits: guard,
    faces: [
      { errors: problemShape, acceptsSessions: true, routes: (face) => keyRoutes(face, keys) },
      { errors: problemShape, acceptsSessions: true, routes: (face) => limitRoutes(face, limits) },
      { errors: problemShape, acceptsSessions: true, routes: (face) => instanceTypeRoutes(face, instanceTypes) },
      { errors: e2bErrors, routes: (face) => e2bKeyRoutes(face, keys) },
      ...options.faces,
    ],
    metrics: metrics.metrics,
    metricsText: async () => ({ contentType: metrics.registry.contentType, text: await metrics.registry.metrics() }),
    // An operator that opens the server to a network restricts access by other means.
    ...(isLoopback(host) && options.metricsHosts === undefined && { metricsHosts: ["127.0.0.1", "localhost", "[::1]"] }),
  });
  try {
    const address = await listenAt(app, { host, port });
    const end = async (): Promise<void> => {
      handOver(app);
      if (options.handOverMs !== undefined) await sleep(options.clock, options.handOverMs);
      const { lastWaitMs = 0 } = options;
      const drained = drainServer(app, lastWaitMs + lastAnswersMs);
      const rest = new AbortController();
      void drained.finally(() => rest.abort());
      await sleep(options.clock, lastWaitMs, rest.signal).catch(() => {});
      await Promise.all([drained, options.onEnding?.()]);
    };
    return { address: reachable(address), [Symbol.asyncDispose]: end };
  } catch (error) {
    await app.close();
    throw explain(error as NodeJS.ErrnoException, host, port);
  }
}

export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || host.startsWith("127.");
}

/** "Everywhere" is no address that one can connect to on every machine. */
function reachable(address: string): string {
  return address.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:");
}

function explain(error: NodeJS.ErrnoException, host: string, port: number): Error {
  const other = `Choose another: AGENTBOX_PORT=${port + 1} make up, or agentbox up --port ${port + 1}`;
  if (error.code === "EADDRINUSE") return new CliError(`port ${port} on ${host} is in use by another program. ${other}`);
  if (error.code === "EACCES") return new CliError(`port ${port} needs more rights than this user has. ${other}`);
  if (error.code === "EADDRNOTAVAIL" || error.code === "ENOTFOUND") {
    return new CliError(`${host} is no address of this machine. Use --listen 127.0.0.1, or --listen 0.0.0.0 for all of its networks`);
  }
  return error;
}
