/**
 * `agentbox up`: AgentBox on one machine in one process, in the foreground. It owns the data folder while it runs; the command line and other programs
 * reach its objects through the unix socket in it.
 *
 * - home-folder.ts     paths in the data folder   - server-file.ts     the running server
 * - serve-api.ts       the APIs at their address  - server-metrics.ts  metrics
 * - rotating-file.ts   log files                  - start-text.ts      the text at the start
 * - start-sandboxes.ts everything about sandboxes - control-plane.ts   controllers of pools and sandboxes
 * - embedded-node.ts   runs pods                  - node-settings.ts   settings of the node
 * - check-ports.ts     ports in use               - system-trust.ts    authorities that this system trusts
 * - control-plane-key.ts the key that signs orders to daemons
 * - first-objects.ts   objects of a new folder    - tracing.ts         spans for a collector
 * - admin-key-file.ts  its first API key          - first-commands.ts  commands to try first
 * - open-plugins.ts    built-in and own plugins   - take-down.ts       `agentbox down`
 * - await-end.ts       waiting for another server's end
 * - backup/            backups of all of it, and the copies that the server makes for them
 */
import { chmod, mkdir, rm } from "node:fs/promises";
import { createServer, type RequestListener, type Server } from "node:http";
import { join } from "node:path";
import type { RateLimit } from "#api/http/rate-limiter.ts";
import { CliError } from "#cli/failure.ts";
import type { ServeRequest, TextSink } from "#cli/context.ts";
import { embeddedKindRules } from "#engines/embedded/admission/all-rules.ts";
import { type ObjectFace, serveObjects } from "#engines/embedded/http/serve-objects.ts";
import { type ObjectStore, type ObjectStoreOptions, openObjectStore } from "#engines/embedded/store/object-store.ts";
import { type ApiAddress, apiAddressOf } from "#gateway/api-host.ts";
import { claimsOnPods } from "#engines/embedded/claims-on-pods.ts";
import { SandboxCache } from "#read-model/sandbox-cache.ts";
import { ensureFirstAdminKey } from "#services/keys/first-admin-key.ts";
import { endsWithin, type MonotonicClock } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import type { Metrics } from "#lib/metrics.ts";
import { adminKeyFile } from "./admin-key-file.ts";
import type { ResourceType } from "#model/resource.ts";
import { type HistorySource, historySource, stagingPrefix, withCopies } from "./backup/copy-face.ts";
import { removeLeftovers } from "./backup/staging.ts";
import { checkPorts, type WantedPort } from "./check-ports.ts";
import { firstCommands, type Surroundings } from "./first-commands.ts";
import { type HomeFolder, usualHomeFolder } from "#cmd/parts/home-folder.ts";
import { openServerLog } from "./rotating-file.ts";
import { type Access, accessOver, defaultRateLimit, serveApi, systemNamespace } from "#cmd/parts/serve-api.ts";
import { isListening, readServerFile, type ServerFacts, writeServerFile } from "./server-file.ts";
import { followStore, openServerMetrics, type ServerMetrics } from "#cmd/parts/server-metrics.ts";
import type { StartedSandboxes } from "./start-sandboxes.ts";
import { type Sandboxes, startText } from "./start-text.ts";
import type { ApiFace } from "#api/http/api-server.ts";
import { problemShape } from "#api/http/problem.ts";
import { ServiceError } from "#services/service-error.ts";

export interface AllInOneOptions extends ServeRequest {
  readonly home: HomeFolder;
  readonly version: string;
  /** For what is configured by variables that are not ours, such as OpenTelemetry's. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Where the history is kept; in the home folder when left out. */
  readonly databaseUrl?: string | undefined;
  readonly clock: MonotonicClock;
  /** Aborted when it is to end. */
  readonly signal: AbortSignal;
  readonly stdout: TextSink;
  readonly stderr: TextSink;
}

export async function runAllInOne(options: AllInOneOptions): Promise<number> {
  const { home, signal, stdout } = options;
  await mkdir(home.folder, { recursive: true, mode: 0o700 });
  await mkdir(home.runFolder, { recursive: true, mode: 0o700 });
  await refuseSecond(home);
  // Taken down in the opposite order of setting up, as far as that came.
  await using parts = new AsyncDisposableStack();
  const serverLog = parts.use(await openServerLog(options));
  await checkPorts(portsOf(options));
  const started = await startOrLeaveNothing(options, serverLog.log, parts);
  const { address } = started;
  const tries = firstCommands(surroundingsOf(home), started.sandboxes === "running");
  if (options.env["AGENTBOX_ALLOW_VULNERABLE_RUNC"] === "1") options.stderr.write(vulnerableText);
  stdout.write(startText({ ...options, ...started, logFile: serverLog.file, tries }));
  serverLog.log.info({ version: options.version, pid: process.pid, address, folder: home.folder }, "agentbox started");
  await aborted(signal);
  stdout.write("\nStopping AgentBox …\n");
  serverLog.log.info({ why: String(signal.reason) }, "agentbox stops");
  await disposeInTime(parts, options);
  stdout.write("AgentBox has stopped. Its data is kept, and is there again at the next start.\n");
  return 0;
}

function hasSandboxes({ sandboxes }: AllInOneOptions): boolean {
  return sandboxes && process.getuid?.() === 0;
}

function portsOf(options: AllInOneOptions): readonly WantedPort[] {
  const { host, port, gateway } = options;
  const api = {
    whose: "the API",
    host,
    port,
    remedy: `Choose another: AGENTBOX_PORT=${port + 1} make up, or agentbox up --port ${port + 1}`,
  };
  if (!hasSandboxes(options)) return [api];
  const at = (whose: string, wanted: number, flag: string): WantedPort => ({
    whose,
    host: gateway.host,
    port: wanted,
    remedy: `Choose another: agentbox up ${flag} ${wanted + 1}`,
  });
  return [api, at("the gateway", gateway.port, "--gateway-port"), at("the gateway with TLS", gateway.tlsPort, "--gateway-tls-port")];
}

/** A first start that fails leaves no network, group or mount; a later one leaves what was there, which are sandboxes that run. */
async function startOrLeaveNothing(options: AllInOneOptions, log: Logger, parts: AsyncDisposableStack): Promise<Started> {
  if (!hasSandboxes(options)) return start(options, log, parts);
  const { eraseEmbeddedNode, isOnMachine } = await import("./embedded-node.ts");
  const { folder } = options.home;
  if (isOnMachine(folder)) return start(options, log, parts);
  let isStarted = false;
  // Runs after all that is started: nothing of it holds the node any more.
  parts.defer(async () => {
    if (!isStarted && isOnMachine(folder)) await eraseEmbeddedNode({ home: folder, clock: options.clock, log });
  });
  const started = await start(options, log, parts);
  isStarted = true;
  return started;
}

const vulnerableText =
  "WARNING: AGENTBOX_ALLOW_VULNERABLE_RUNC=1 lets sandboxes run on a container runtime with known escapes. Run only code that you trust.\n";

/** Above all that the parts give to requests, streams and actions on pods when they end. */
const endingMs = 60_000;

/** Whatever hangs, the process ends: sandboxes go on without it, and the next start finds them. */
async function disposeInTime(parts: AsyncDisposableStack, { clock, stderr }: AllInOneOptions): Promise<void> {
  const disposed = parts.disposeAsync();
  if (await endsWithin(disposed, clock, endingMs)) return disposed;
  stderr.write(`agentbox: not everything ended within ${endingMs / 1000} s; it ends now, and the next start puts the rest in order\n`);
  process.exit(1);
}

interface Started {
  /** Of the APIs. */
  readonly address: string;
  readonly sandboxes: Sandboxes;
  readonly gateway: StartedSandboxes["gateway"] | undefined;
  readonly firstKey: string | undefined;
}

/** Starts the parts one on the other. Ending goes the other way round: no new requests, sandboxes (start-sandboxes.ts), objects. */
async function start(options: AllInOneOptions, log: Logger, parts: AsyncDisposableStack): Promise<Started> {
  const { home, version, clock } = options;
  const metrics = openServerMetrics();
  const kinds = embeddedKindRules({ podTemplates: true });
  const store = openStore({ file: home.dataFile, kinds, clock, log });
  parts.defer(() => store.close());
  followStore(metrics.metrics, store);
  const face = faceOver(store, { kinds: kinds.map((rules) => rules.resource), version, metrics, log });
  await removeLeftovers(home.runFolder, stagingPrefix);
  const history = historySourceOf(options);
  const listener = withCopies({ store, runFolder: home.runFolder, history, clock, log }, face.listener);
  parts.adopt(await listenOnSocket(listener, home), closeServer);
  // Before the socket is closed: that waits for the last answer, and a watch is one that never ends by itself.
  parts.defer(() => face.stop());
  const keeper = adminKeyFile(home.adminKeyFile);
  const firstKey = await ensureFirstAdminKey({ client: store, namespace: systemNamespace, clock, keeper });
  const cache = new SandboxCache({ client: store, clock, log }, { systemNamespace, claims: claimsOnPods });
  // The gateway is there before the API that it leads to.
  let api: ApiAddress | undefined;
  const rateLimit = rateLimitOf(options);
  const access = accessOver({ client: store, cache, clock, rateLimit, queueSize: options.queueSize });
  const running = { store, log, metrics: metrics.metrics, cache, access, rateLimit, api: () => api };
  const started = await startParts(options, running, parts);
  const { address } = parts.use(await startApi(options, { ...running, ...started, metrics }));
  api = apiAddressOf(address);
  await writeServerFile(home.serverFile, {
    pid: process.pid,
    version,
    httpAddress: address,
    ...gatewayFacts(started.gateway),
    startedAt: new Date(clock.now()).toISOString(),
  });
  parts.defer(() => rm(home.serverFile, { force: true }));
  return { address, sandboxes: started.sandboxes, gateway: started.gateway, firstKey };
}

interface RunningParts {
  readonly store: ObjectStore;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** Not started yet. */
  readonly cache: SandboxCache;
  readonly access: Access;
  readonly rateLimit: RateLimit;
  readonly api: () => ApiAddress | undefined;
}

/** Depends on the user's rights and on the options. */
interface ChosenParts extends Pick<StartedSandboxes, "faces" | "refuseCreates">, Partial<Pick<StartedSandboxes, "sessions" | "audit">> {
  readonly sandboxes: Sandboxes;
  readonly gateway: StartedSandboxes["gateway"] | undefined;
}

/** The cache, and all about sandboxes where this user may have them: containers need root. */
async function startParts(options: AllInOneOptions, running: RunningParts, parts: AsyncDisposableStack): Promise<ChosenParts> {
  if (hasSandboxes(options)) {
    const { startSandboxes } = await import("./start-sandboxes.ts");
    const { faces, sessions, audit, gateway, refuseCreates } = parts.use(await startSandboxes({ ...options, ...running }));
    return { sandboxes: "running", faces, sessions, audit, gateway, refuseCreates };
  }
  parts.defer(() => running.cache.stop());
  await running.cache.run();
  const [sandboxes, why] = options.sandboxes
    ? (["not root", "was not started as root, which containers need"] as const)
    : (["switched off", "was started with --no-sandboxes"] as const);
  return { sandboxes, faces: [noSandboxesFace(why)], gateway: undefined, refuseCreates: async () => {} };
}

interface ApiParts extends Omit<RunningParts, "metrics">, ChosenParts {
  readonly metrics: ServerMetrics;
}

function startApi(
  options: AllInOneOptions,
  { cache, refuseCreates, ...running }: ApiParts,
): Promise<AsyncDisposable & { readonly address: string }> {
  const { signal } = options;
  return serveApi({
    ...options,
    ...running,
    onEnding: refuseCreates,
    ready: () => {
      const health = cache.health();
      if (signal.aborted) return "it ends";
      return health.healthy || health.reason;
    },
  });
}

function rateLimitOf({ rateLimit: perSecond = defaultRateLimit.perSecond, rateBurst }: AllInOneOptions): RateLimit {
  return { perSecond, burst: rateBurst ?? 2 * perSecond };
}

function gatewayFacts(gateway: ChosenParts["gateway"]): Partial<ServerFacts> {
  if (gateway === undefined) return {};
  const { address, domain, authorityFile } = gateway;
  return { gatewayAddress: address, domain, ...(authorityFile === undefined ? {} : { authorityFile }) };
}

function surroundingsOf({ folder }: HomeFolder): Surroundings {
  const root = join(import.meta.dirname, "../../..");
  return { root, cwd: process.cwd(), homeFolder: folder === usualHomeFolder() ? undefined : folder };
}

async function refuseSecond(home: HomeFolder): Promise<void> {
  if (!(await isListening(home.socketPath))) return;
  const facts = await readServerFile(home.serverFile);
  const server = facts === undefined ? "" : ` (process ${facts.pid}, ${facts.httpAddress})`;
  const end = facts === undefined ? "" : `, or end it with: kill ${facts.pid}`;
  throw new CliError(`AgentBox is already running on ${home.folder}${server}. Use that one${end}`);
}

function openStore(options: ObjectStoreOptions): ObjectStore {
  try {
    return openObjectStore(options);
  } catch (error) {
    throw new CliError((error as Error).message);
  }
}

function historySourceOf({ databaseUrl, home }: AllInOneOptions): HistorySource {
  try {
    return historySource(databaseUrl ?? home.historyFile);
  } catch (error) {
    throw new CliError(`the history cannot be opened: ${error instanceof Error ? error.message : String(error)}`);
  }
}

interface FaceParts {
  readonly kinds: readonly ResourceType[];
  readonly version: string;
  readonly metrics: ServerMetrics;
  readonly log: Logger;
}

function faceOver(store: ObjectStore, { kinds, version, metrics, log }: FaceParts): ObjectFace {
  return serveObjects({
    client: store,
    kinds,
    version: `v${version}`,
    onServed: metrics.onServed,
    onDefect: (error, request) => log.error({ error, ...request }, "request failed"),
  });
}

/** Replaces the socket of a killed server: we hold the lock of the data folder, so no other server can listen there. */
async function listenOnSocket(listener: RequestListener, home: HomeFolder): Promise<Server> {
  await rm(home.socketPath, { force: true });
  // Clients keep connections for later; one that we close first fails their next request.
  const server = createServer({ keepAliveTimeout: 10 * 60_000 }, listener);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(home.socketPath, resolve);
  });
  await chmod(home.socketPath, 0o600);
  return server;
}

/** How long answers under way may take when the server ends. */
const lastAnswersMs = 2000;

/** Lets answers under way end, and drops connections that wait for a next request. */
async function closeServer(server: Server): Promise<void> {
  const sweep = setInterval(() => server.closeIdleConnections(), 10);
  const cut = setTimeout(() => server.closeAllConnections(), lastAnswersMs);
  await new Promise((resolve) => server.close(resolve));
  clearInterval(sweep);
  clearTimeout(cut);
}

function aborted(signal: AbortSignal): Promise<void> {
  // The listeners' handles keep the process alive meanwhile.
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/**
 * The API of sandboxes where none are run: it says so, in place of a path that is not there.
 *
 * `why` goes on from "this server runs no sandboxes: it …".
 */
function noSandboxesFace(why: string): ApiFace {
  const refuse = async (): Promise<never> => {
    throw new ServiceError("unavailable", `this server runs no sandboxes: it ${why}`);
  };
  return {
    errors: problemShape,
    routes: (app) => {
      for (const path of ["/v1/sandboxes", "/v1/sandboxes/*", "/v1/audit", "/v1/audit/csv", "/v1/usage", "/v1/usage/csv", "/mcp"])
        app.all(path, refuse);
    },
  };
}
