/**
 * Everything about sandboxes in one process, one part on the other: the node that runs them, the history, whoever hands them out and
 * takes them back, the controllers, and their API.
 */
import type { ApiFace } from "#api/http/api-server.ts";
import { fleetFace } from "#api/native/fleet-routes.ts";
import { e2bFace } from "#api/e2b/e2b-face.ts";
import { nativeFace } from "#api/native/native-routes.ts";
import { CliError } from "#cli/failure.ts";
import { httpDaemonClient } from "#daemon-client/http-daemon-client.ts";
import { openPodHttp } from "#daemon-client/pod-http.ts";
import type { ObjectStore } from "#engines/embedded/store/object-store.ts";
import { publicKeyText } from "#envd-protocol/arming.ts";
import type { SandboxCache } from "#kube/sandbox-cache/sandbox-cache.ts";
import type { MonotonicClock } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import type { Metrics } from "#lib/metrics.ts";
import type { ClaimQueueOptions } from "#scheduling/claim-queue.ts";
import { TrafficLog } from "#gateway/activity.ts";
import { joinedSources } from "#sandbox/last-active-source.ts";
import { sandboxTokens } from "#services/sandbox-tokens.ts";
import { ExecActivity } from "#services/exec-activity.ts";
import { LiveSandboxes } from "#services/live-sandboxes.ts";
import { openSandboxClaims } from "#services/open-sandbox-claims.ts";
import { openSandboxService } from "#services/open-sandbox-service.ts";
import type { SandboxClaims } from "#services/sandbox-claims.ts";
import { defaultMaxUses, startControlPlane, startHistory } from "./control-plane.ts";
import { controlPlaneKey } from "./control-plane-key.ts";
import { createFirstObjects } from "./first-objects.ts";
import { fleetServices } from "./fleet-services.ts";
import type { HomeFolder } from "./home-folder.ts";
import { type GatewaySettings, serveGateway, type ServedGateway } from "./serve-gateway.ts";
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
  readonly gateway: GatewaySettings;
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
  const limits = queueLimits(options.queueSize);
  const common = { client: store, cache, history, clock, log, metrics, publicKey, maxUses, digests: node.digests };
  const pods = node.agent;
  const claims = openSandboxClaims({ ...common, daemons, pods, http, tracer, privateKey, ...(limits && { limits }) });
  const stopClaims = once(claims);
  parts.defer(stopClaims);
  const activity = new ExecActivity(clock);
  const traffic = new TrafficLog(clock);
  const live = parts.use(new LiveSandboxes(cache.pods));
  parts.use(startControlPlane({ ...common, claims, daemon: daemons, lastActive: joinedSources([activity, traffic]) }));
  const sandboxes = openSandboxService({ ...common, pods, live, activity, claims });
  await cache.run();
  const tokens = sandboxTokens(privateKey);
  const certificateFolder = home.certificateFolder;
  const gateway = parts.use(await serveGateway({ ...common, settings: options.gateway, certificateFolder, sandboxes, tokens, traffic }));
  const fleet = fleetServices({ ...common, live });
  const started = parts.move();
  return {
    faces: [
      nativeFace({ sandboxes, clock, log }),
      fleetFace(fleet),
      e2bFace({ sandboxes, pools: fleet.pools, ...tokens, domain: gateway.domain, maxTimeoutSeconds }),
    ],
    gateway,
    refuseCreates: stopClaims,
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

/** The longest that E2B's clients may ask for: a month, as on the native API. */
const maxTimeoutSeconds = 30 * 24 * 3600;

/** One tenant alone may take a quarter of the places. */
function queueLimits(size: number | undefined): ClaimQueueOptions | undefined {
  return size === undefined ? undefined : { maxWaiting: size, maxWaitingOfTenant: Math.ceil(size / 4) };
}

function once(claims: SandboxClaims): () => Promise<void> {
  let stopped: Promise<void> | undefined;
  return () => (stopped ??= claims.stop());
}

/** What keeps the node from starting is something of the machine that its user can see to. */
function asNodeFailure(error: unknown): never {
  const why = error instanceof Error ? error.message : String(error);
  throw new CliError(`the node cannot start: ${why}\n(agentbox up --no-sandboxes starts without it)`);
}

function asHistoryFailure(error: unknown): never {
  throw new CliError(`the history cannot be opened: ${error instanceof Error ? error.message : String(error)}`);
}
