/**
 * `agentbox serve`: parts of AgentBox for a Kubernetes cluster, one or several in one process. Processes share only the cluster's objects and the
 * database, so any of them may be started, killed and multiplied (docs/processes.md).
 *
 * - connect-cluster.ts   the API server, and whether it is there    - health-port.ts      alive, ready, metrics
 * - cluster-secrets.ts   keys that the first process makes          - cluster-engine.ts   pods, images and the daemon on a cluster
 * - api-part.ts          the APIs                                   - api-members.ts      … and how many there are
 * - controllers-part.ts  the controllers of the leader              - gateway-part.ts     the proxy to sandboxes
 * - cluster-parts.ts     what the parts share                       - node-part.ts        the agent of one node
 * - node-agents.ts       nodes that have an agent                  - checkpoint-registry.ts  where checkpoints are kept
 */
import { mkdir } from "node:fs/promises";
import { hostname } from "node:os";
import { ActivityWriter } from "#gateway/activity-writer.ts";
import { TrafficLog } from "#gateway/activity.ts";
import { CliError } from "#cli/failure.ts";
import type { ServePart, ServePartsRequest, TextSink } from "#cli/context.ts";
import { httpDaemonClient } from "#daemon-client/http-daemon-client.ts";
import { openPodHttp } from "#daemon-client/pod-http.ts";
import { publicKeyText } from "#envd-protocol/arming.ts";
import { kubernetesAbilities } from "#engines/kubernetes/abilities.ts";
import { claimsOnLeases } from "#engines/kubernetes/claims/claims-on-leases.ts";
import { SandboxCache } from "#read-model/sandbox-cache.ts";
import type { MonotonicClock } from "#lib/clock.ts";
import { openLog } from "#lib/log.ts";
import type { HistoryStore } from "#store/history-store.ts";
import { openHistory } from "#store/open-history.ts";
import { defaultMaxUses } from "#cmd/parts/control-plane.ts";
import type { HomeFolder } from "#cmd/parts/home-folder.ts";
import { openPlugins } from "#cmd/parts/open-plugins.ts";
import { openServerMetrics } from "#cmd/parts/server-metrics.ts";
import { openTracing } from "#cmd/parts/tracing.ts";
import { openApiMembers } from "./api-members.ts";
import { openApi } from "./api-part.ts";
import { signingKey } from "./cluster-secrets.ts";
import { repositoryOf } from "./checkpoint-registry.ts";
import { openClusterEngine } from "./cluster-engine.ts";
import { clusterPace, connectCluster, untilAnswered } from "./connect-cluster.ts";
import { startLeading } from "./controllers-part.ts";
import { serveGatewayPart } from "./gateway-part.ts";
import { Readiness, serveHealth } from "./health-port.ts";
import { followNodeAgents } from "./node-agents.ts";
import { startNodePart } from "./node-part.ts";
import type { ClusterParts } from "./cluster-parts.ts";

export interface RunPartsOptions extends ServePartsRequest {
  readonly home: HomeFolder;
  readonly version: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: MonotonicClock;
  /** Aborted when it is to end. */
  readonly signal: AbortSignal;
  readonly stdout: TextSink;
}

export async function runParts(options: RunPartsOptions): Promise<number> {
  const { parts, version, clock, signal, stdout } = options;
  const log = openLog({ clock, out: stdout });
  const readiness = new Readiness();
  // Taken down in the opposite order of setting up, as far as that came.
  await using running = new AsyncDisposableStack();
  const metrics = openServerMetrics();
  const health = running.use(await serveHealth({ host: options.host, port: options.healthPort, readiness, metrics, log }));
  log.info({ version, parts, health: health.address, pid: process.pid }, "agentbox starts");
  try {
    const started = { ...options, log, metrics, readiness };
    await (parts.includes("node") ? startNodePart(started, running) : start(started, running));
    readiness.becomes("ready");
    log.info({ parts }, "agentbox is ready");
    await aborted(signal);
  } catch (error) {
    // A process that is told to stop during its start has not failed.
    if (!signal.aborted) throw error;
  }
  readiness.becomes("it ends");
  log.info({ why: String(signal.reason) }, "agentbox stops");
  await running.disposeAsync();
  return 0;
}

type StartOptions = RunPartsOptions & Pick<ClusterParts, "log" | "metrics" | "readiness">;

async function start(options: StartOptions, running: AsyncDisposableStack): Promise<void> {
  const common = await openCommon(options, running);
  const { cache, readiness, signal } = common;
  const has = (part: ServePart): boolean => options.parts.includes(part);
  const members = has("gateway") && options.parts.length === 1 ? undefined : running.use(openApiMembers(common));
  const agents = members && running.use(followNodeAgents(common));
  const repository = repositoryOf(options.checkpoints);
  const abilities = kubernetesAbilities({
    freezes: (nodeName) => agents?.freezes(nodeName) ?? false,
    hasCheckpointRegistry: repository !== undefined,
    userNamespaces: common.engine.userNamespaces,
    isServerGone: () => common.reach.isGone,
  });
  const api = has("api") && members ? running.use(await openApi(common, options, { members, abilities })) : undefined;
  readiness.becomes("the objects of the cluster are not known yet", () => healthOf(cache));
  running.defer(() => cache.stop());
  await Promise.all([cache.run(signal), members?.run(signal), agents?.run(signal)]);
  if (has("controllers") && members !== undefined) running.use(startLeading(common, { ...options, members, abilities, api, repository }));
  const faces: AsyncDisposable[] = [];
  // At the same time: each has its own time for what is under way.
  running.defer(async () => void (await Promise.all(faces.map(async (face) => face[Symbol.asyncDispose]()))));
  if (has("gateway")) faces.push(await serveGatewayPart(common, options, api));
  if (api !== undefined) faces.push(await api.serve());
}

/** What all parts stand on. */
async function openCommon(options: StartOptions, running: AsyncDisposableStack): Promise<ClusterParts> {
  const { clock, log, metrics, readiness, signal, parts } = options;
  const cluster = running.use(await connectCluster(options));
  const { client, namespace } = cluster;
  readiness.becomes("the API server was not reached yet");
  const privateKey = await untilAnswered(options, () => signingKey({ client, namespace }));
  const { tracer } = running.use(await openTracing(options));
  const history = await openParts(options, running);
  const systemNamespace = parts.includes("api") ? namespace : undefined;
  const cache = new SandboxCache(
    { client, clock, log },
    { namespace: options.onlyNamespace, systemNamespace, limitsNamespace: namespace, claims: claimsOnLeases, pace: clusterPace },
  );
  const http = running.adopt(openPodHttp(), (pods) => pods.close());
  const traffic = new TrafficLog(clock);
  const written = { client, cache, traffic, clock, log, metrics: metrics.metrics, random: Math.random };
  running.adopt(new ActivityWriter(written), (writer) => writer.stop());
  const engine = running.use(await openClusterEngine({ ...options, ...cluster, cache }));
  const folder = options.home.folder;
  const isGateway = parts.every((part) => part === "gateway");
  const plugins = isGateway ? undefined : await openPlugins({ ...options, cache, folder, metrics: metrics.metrics });
  return {
    ...cluster,
    identity: identityOf(options.env),
    cache,
    history,
    privateKey,
    publicKey: publicKeyText(privateKey),
    daemons: httpDaemonClient({ http, privateKey }),
    http,
    traffic,
    engine,
    plugins,
    maxUses: options.maxUses ?? defaultMaxUses,
    clock,
    log,
    metrics,
    tracer,
    readiness,
    signal,
  };
}

/** A gateway reads the history only to tell ended sandboxes from unknown ones, and works without it. */
async function openParts(options: StartOptions, running: AsyncDisposableStack): Promise<HistoryStore | undefined> {
  const { parts, databaseUrl, home, clock, log } = options;
  if (databaseUrl === undefined && parts.length === 1 && parts[0] === "gateway") return undefined;
  try {
    if (databaseUrl === undefined) await mkdir(home.folder, { recursive: true, mode: 0o700 });
    const history = await openHistory({ location: databaseUrl ?? home.historyFile, clock, log });
    running.defer(() => history.close());
    return history;
  } catch (error) {
    throw new CliError(`the history cannot be opened: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function healthOf(cache: SandboxCache): string | undefined {
  const health = cache.health();
  return health.healthy ? undefined : health.reason;
}

/** A pod's host is called as the pod. Elsewhere several may run on one. */
function identityOf(env: RunPartsOptions["env"]): string {
  const name = hostname()
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]+/g, "-");
  return env["KUBERNETES_SERVICE_HOST"] === undefined ? `${name}-${process.pid}` : name;
}

function aborted(signal: AbortSignal): Promise<void> {
  // The listeners' handles keep the process alive meanwhile.
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
