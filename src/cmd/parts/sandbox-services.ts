/**
 * What hands out sandboxes and answers for them, in whichever process: the claims, the use cases, and the APIs over them. The
 * all-in-one server has one of these, and so has every API process on a cluster.
 */
import type { KeyObject } from "node:crypto";
import { hostname } from "node:os";
import type { ApiFace } from "#api/http/api-server.ts";
import { type ConsoleDeps, consoleFace } from "#api/console/console-face.ts";
import type { ConsoleFiles } from "#api/console/console-files.ts";
import { e2bFace, volumeContentFace } from "#api/e2b/e2b-face.ts";
import { mcpFace } from "#api/mcp/mcp-face.ts";
import { fleetFace, type FleetServices } from "#api/native/fleet-routes.ts";
import { liveFace } from "#api/native/live-routes.ts";
import { nativeFace } from "#api/native/native-routes.ts";
import type { DaemonClient } from "#daemon-client/daemon-client.ts";
import { dialPod } from "#daemon-client/dial-pod.ts";
import type { PodHttp } from "#daemon-client/pod-http.ts";
import { openPodStream } from "#daemon-client/pod-stream.ts";
import type { EngineAbilities } from "#engine-port/abilities.ts";
import { EventRecorder } from "#kube/events/event-recorder.ts";
import type { Volumes } from "#engine-port/volumes.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import type { PodAccess } from "#kube/pod-access.ts";
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import type { MonotonicClock } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import type { Metrics } from "#lib/metrics.ts";
import type { Tracer } from "#lib/tracing.ts";
import type { ImageCommands, ImageDigests } from "#pools/pool-images.ts";
import type { DaemonSettings } from "#sandbox/pods/daemon-delivery.ts";
import type { Pod } from "#model/pod.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import type { PluginChain } from "#plugins/plugin.ts";
import { type ClaimQueueOptions, defaultQueueLimits } from "#scheduling/claim-queue.ts";
import type { LocalCluster, EnvDeps } from "#services/envs/env-deps.ts";
import { type SandboxServiceDeps, openSandboxService } from "#services/open-sandbox-service.ts";
import { ExecTokens } from "#services/inside/exec-tokens.ts";
import type { JoinTerminal } from "#services/inside/kept-terminals.ts";
import { type CheckpointService, openCheckpointService } from "#services/checkpoints/checkpoint-service.ts";
import type { KeyService } from "#services/keys/key-service.ts";
import { countSandboxes, countTaken } from "#services/limits/count-use.ts";
import { createSources } from "#services/creating/create-sources.ts";
import { AdmissionPace } from "#services/limits/admission-pace.ts";
import { CreateRate } from "#services/limits/create-rate.ts";
import type { LimitGuard } from "#services/limits/limit-guard.ts";
import { openSandboxInside } from "#services/inside/sandbox-inside.ts";
import { ChangeFeed } from "#services/reading/change-feed.ts";
import { AuditTrail } from "#services/audit/audit-trail.ts";
import { auditReader } from "#services/audit/read-audit.ts";
import { ConsoleSessions } from "#services/keys/console-sessions.ts";
import type { OidcSignIn } from "#services/sign-in/oidc-sign-in.ts";
import { CreateLog } from "#services/usage/create-log.ts";
import { SizeLog } from "#services/pools/size-log.ts";
import { LiveSandboxes } from "#services/reading/live-sandboxes.ts";
import { DeepResumes } from "#services/changing/resume-deep-paused.ts";
import { openSandboxClaims } from "#services/creating/open-sandbox-claims.ts";
import { poolSize, type PoolSize } from "#services/pools/pool-size.ts";
import type { SandboxClaims } from "#services/creating/sandbox-claims.ts";
import type { ExecRequest, SandboxService } from "#services/sandbox-service.ts";
import { daemonVariables } from "#services/inside/sandbox-variables.ts";
import { type SandboxTokens, sandboxTokens, volumeTokens } from "#services/creating/sandbox-tokens.ts";
import { createLimits } from "#services/creating/check-create.ts";
import { daemonUse } from "#services/usage/daemon-use.ts";
import { tellOomKills } from "#services/usage/oom-events.ts";
import type { ReadPodUse } from "#services/usage/pod-use.ts";
import { sandboxUsage } from "#services/usage/sandbox-usage.ts";
import { usageOverTime } from "#services/usage/usage-over-time.ts";
import { UsageSampler } from "#services/usage/usage-sampler.ts";
import type { HistoryStore } from "#store/history-store.ts";
import { createOfBuilt } from "#services/builds/create-built.ts";
import type { BuildBook } from "#services/builds/build-book.ts";
import { isLoopback } from "./serve-api.ts";
import { bookOver, type BuildsOptions, type OpenedBuilds, openTemplateBuilds, type TemplateBuildParts } from "./template-builds.ts";
import { envService } from "#services/envs/env-service.ts";
import { poolService } from "#services/pools/pool-service.ts";
import { sandboxStatistics, type StatisticsDeps } from "#services/reading/sandbox-statistics.ts";
import type { CheckPodTemplate } from "#services/templates/check-pod-template.ts";
import { webhookService } from "#services/webhooks/webhook-service.ts";
import { type TemplateDeps, templateService } from "#services/templates/template-service.ts";
import { openVolume } from "#services/volumes/volume-contents.ts";
import { volumeService } from "#services/volumes/volume-service.ts";
import type { VolumeCache } from "#volumes/volume-cache.ts";
import type { PoolDeps } from "#services/pools/write-pool.ts";

/** Where webhooks are. */
export const webhookNamespace = "default";

export interface SandboxServicesOptions extends DaemonSettings {
  readonly client: ObjectClient;
  /** Run and stopped by the caller. */
  readonly cache: SandboxCache;
  readonly history: HistoryStore;
  readonly digests: ImageDigests;
  readonly commands: ImageCommands;
  readonly pods: PodAccess;
  readonly daemons: DaemonClient;
  readonly http: PodHttp;
  readonly activity: SandboxServiceDeps["activity"];
  readonly privateKey: KeyObject;
  /** Of the API that serves these. */
  readonly keys: Pick<KeyService, "isLive" | "authenticate" | "callerOf">;
  readonly guard: LimitGuard;
  /** How many processes make sandboxes, this one included; 1 when left out. */
  readonly processes?: (() => number) | undefined;
  readonly maxUses: number;
  /** What every sandbox uses, for the only process that serves an API. Left out: daemons are asked, about those that are asked for. */
  readonly podUse?: ReadPodUse;
  /** Where pools are that are asked for without a namespace; `default` when left out. */
  readonly poolNamespace?: string | undefined;
  /** The cluster whose members of Envs are written here; left out: this machine. */
  readonly cluster?: LocalCluster | undefined;
  /** Asked before a member of an Env is added; none when left out. */
  readonly plugins?: Pick<PluginChain, "preCreatePool"> | undefined;
  /** Left out: the object server checks the pods inside templates itself. */
  readonly checkPodTemplate?: CheckPodTemplate | undefined;
  /** Whether events of sandboxes are noted, so that there are webhooks for them; they are not when left out. */
  readonly tellsEvents?: boolean;
  /** Where idempotency keys are kept; `default` when left out. */
  readonly keysNamespace?: string;
  readonly abilities: Pick<EngineAbilities, "pause" | "egress" | "objects" | "volumes" | "checkpoint" | "deepPause" | "memoryCheckpoint">;
  /** Where the engine has volumes: their objects, run and stopped by the caller, and their data. */
  readonly volumes?: VolumeCache | undefined;
  readonly volumeData?: Volumes | undefined;
  /** How many creates may wait at a time; as usual when left out. */
  readonly queueSize?: number | undefined;
  /** The longest that E2B's clients may ask for; as on the native API when left out. */
  readonly maxTimeoutMs?: number | undefined;
  /** Entries that the audit log keeps of each team; as usual when left out. */
  readonly auditEntries?: number | undefined;
  /** Where template builds keep their files; builds are not offered when left out. */
  readonly builds?: BuildsOptions | undefined;
  /** The web console, built; no console when left out. */
  readonly consoleFiles?: ConsoleFiles;
  /** Sign-in to the console for people without a key; left out: with API keys only. */
  readonly oidc?: OidcSignIn | undefined;
  /** Of AgentBox, for clients that ask; not told when left out. */
  readonly version?: string | undefined;
  readonly clock: MonotonicClock;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly tracer: Tracer;
}

export interface SandboxServices extends AsyncDisposable {
  readonly claims: SandboxClaims;
  readonly sandboxes: SandboxService;
  readonly checkpoints: CheckpointService;
  /** Of the console; the API accepts them. */
  readonly sessions: ConsoleSessions;
  /** Of the server; the API tells it. */
  readonly audit: AuditTrail;
  readonly tokens: SandboxTokens;
  /**
   * `sandboxUrl`: address for programs of this machine. `domain`: domain of the sandboxes' hosts, for E2B's clients. `apiHost`: where the API listens; left
   * out: anywhere.
   */
  readonly faces: (domain: string, apiHost?: string, sandboxUrl?: string) => readonly ApiFace[];
  /** Takes up template builds that an ended process has left, once the cache has everything. */
  readonly openBuilds: () => void;
  /** Ends creates that wait, so that their callers have an answer while there still is a server; everything else goes on. */
  readonly refuseCreates: () => Promise<void>;
}

export function openSandboxServices(options: SandboxServicesOptions): SandboxServices {
  const parts = openParts(options);
  const { claims, sandboxes, checkpoints, sessions, audit, tokens, built, changes, sizes, sampler, live } = parts;
  const refuseCreates = once(claims);
  return {
    claims,
    sandboxes,
    checkpoints,
    sessions,
    audit,
    tokens,
    faces: (...at) => facesOf(options, parts, at),
    openBuilds: () => built?.open(),
    refuseCreates,
    [Symbol.asyncDispose]: async () => {
      await built?.[Symbol.asyncDispose]();
      changes[Symbol.dispose]();
      sizes[Symbol.dispose]();
      sampler[Symbol.dispose]();
      live[Symbol.dispose]();
      await refuseCreates();
      await audit[Symbol.asyncDispose]();
    },
  };
}

function openParts(options: SandboxServicesOptions) {
  const { cache, clock, privateKey, guard, history } = options;
  const creates = new CreateLog(clock);
  const book = options.builds && bookOver(options);
  const claims = loggedClaims(options, book, creates);
  const live = new LiveSandboxes(cache.shown);
  guard.countSandboxes(countSandboxes(live), countTaken(live));
  const tokens = sandboxTokens(privateKey);
  const variables = daemonVariables({ http: options.http, tokens });
  const deepResumes = new DeepResumes({ ...options, claims });
  const sandboxes = openSandboxService({ ...options, live, claims, variables, deepResumes });
  const checkpoints = openCheckpointService({ ...options, claims, variables });
  const ofVolumes = volumeParts(options);
  const volumes = volumeService({ ...options, ...ofVolumes, namespace: options.poolNamespace ?? "default" });
  const pace = new AdmissionPace({ limits: guard, clock: options.clock });
  const fleet = { ...fleetServices({ ...options, live, limits: guard, pace }), volumes };
  const sampler = usageSampler(options, live, tokens);
  const sources = createSources(options);
  const inside = openSandboxInside({ ...options, tokens, openStream: openPodStream });
  return {
    claims,
    sandboxes,
    checkpoints,
    live,
    tokens,
    ofVolumes,
    volumes,
    fleet,
    sampler,
    usage: sandboxUsage({ cache, sampler }),
    creates,
    sources,
    inside,
    changes: new ChangeFeed({ cache, clock }),
    sizes: new SizeLog({ cache, clock }),
    sessions: new ConsoleSessions({ clock, privateKey, keys: options.keys, rules: options.oidc?.rules }),
    audit: new AuditTrail({ ...options, store: history.audit, entriesPerTeam: options.auditEntries }),
    webhooks: options.tellsEvents === true ? webhookService({ ...options, namespace: webhookNamespace }) : undefined,
    built: openBuilds(options, book, { sandboxes, checkpoints, inside, sources, envs: fleet.envs }),
  };
}

type Parts = ReturnType<typeof openParts>;

/** What the process serves: each face is one API, or the console. */
function facesOf(
  options: SandboxServicesOptions,
  parts: Parts,
  [domain, apiHost, sandboxUrl]: Parameters<SandboxServices["faces"]>,
): readonly ApiFace[] {
  const { clock, log, privateKey, keys, history, cache, version = "0.0.0", maxTimeoutMs = usualMaxTimeoutMs } = options;
  const { sandboxes, checkpoints, inside, fleet, sessions, live } = parts;
  const builds = parts.built?.builds;
  const execTokens = new ExecTokens<ExecRequest>({ clock, privateKey, keys });
  const joinTokens = new ExecTokens<JoinTerminal>({ clock, privateKey, purpose: "join", keys });
  const reports = { audit: auditReader(history.audit), usageOverTime: usageOverTime({ live, store: history.usage, clock }) };
  const sizeOf = (pool: SandboxPool): PoolSize => poolSize(cache, pool);
  const maxTimeoutSeconds = Math.floor(maxTimeoutMs / 1000);
  return [
    nativeFace({ sandboxes, checkpoints, execTokens, clock, log }),
    fleetFace({ ...fleet, builds, webhooks: parts.webhooks }),
    liveFace({ ...parts, pools: fleet.pools, clock, log, joinTokens, ...reports }),
    ...consoleFaces(options, { sessions, domain, sandboxUrl }),
    e2bFace({ ...parts, ...parts.tokens, builds, statistics: fleet.statistics, sizeOf, domain, maxTimeoutSeconds }),
    volumeContentFace({ openVolume: (id, token) => openVolume(parts.ofVolumes, id, token) }),
    mcpFace({ sandboxes, inside, domain, hosts: namesOf(apiHost, domain), version, clock, log }),
  ];
}

/** Creates and ends of sandboxes. Each create is counted, and so is one that found no idle pod. */
function loggedClaims(options: SandboxServicesOptions, book: BuildBook | undefined, creates: CreateLog): SandboxClaims {
  const rate = new CreateRate({ limits: options.guard, clock: options.clock, processes: options.processes });
  const onMiss = (team: string): void => creates.miss(team);
  const opened = withBuilt(book, openSandboxClaims({ ...options, dial: dialPod, limits: queueLimits(options), rate, onMiss }));
  return { ...opened, create: creates.over(opened.create), createMany: creates.overMany(opened.createMany) };
}

/** Where the node is in another process, daemons are asked, and only when a caller wants to know. */
function usageSampler(options: SandboxServicesOptions, live: LiveSandboxes, tokens: SandboxTokens): UsageSampler {
  const { podUse } = options;
  const read = podUse ?? daemonUse({ http: options.http, tokens });
  return new UsageSampler({ ...options, live, read, onOomKills: oomTeller(options), sampled: podUse === undefined ? "asked" : "all" });
}

/** What the uses of volumes and their content share. Limits count the volumes that there are. */
function volumeParts({ guard, volumes, volumeData: engine, privateKey, clock }: SandboxServicesOptions) {
  if (volumes !== undefined)
    guard.countVolumes(
      (...of) => volumes.count(...of),
      (...of) => volumes.sizeMiB(...of),
    );
  return { tokenOf: volumeTokens(privateKey), volumes, engine, clock };
}

/** A create may name a template that was built. */
function withBuilt(book: BuildBook | undefined, claims: SandboxClaims): SandboxClaims {
  if (book === undefined) return claims;
  return {
    ...claims,
    create: async (caller, command, options) => await claims.create(caller, createOfBuilt(book, caller, command), options),
    createMany: async (caller, command, options) => await claims.createMany(caller, createOfBuilt(book, caller, command), options),
  };
}

type BuildServices = Pick<TemplateBuildParts, "sandboxes" | "checkpoints" | "inside" | "sources" | "envs">;

function openBuilds(options: SandboxServicesOptions, book: BuildBook | undefined, services: BuildServices): OpenedBuilds | undefined {
  const { builds } = options;
  if (builds === undefined || book === undefined) return undefined;
  return openTemplateBuilds({ ...options, ...services, options: builds, book });
}

function consoleFaces(
  { keys, consoleFiles: files, oidc, version = "0.0.0" }: SandboxServicesOptions,
  of: Pick<ConsoleDeps, "sessions" | "domain" | "sandboxUrl">,
): readonly ApiFace[] {
  return files === undefined ? [] : [consoleFace({ ...of, keys, files, oidc, version })];
}

/** By which names a server of this machine alone is asked; one that is open to a network may have any. */
function namesOf(apiHost: string | undefined, domain: string): readonly string[] | undefined {
  if (apiHost === undefined || !isLoopback(apiHost)) return undefined;
  return ["127.0.0.1", "localhost", "[::1]", `api.${domain.replace(/:\d+$/, "")}`];
}

const usualMaxTimeoutMs = createLimits.lifetime.max;

/** One tenant alone may take a quarter of the places, or as many as an admin says. */
function queueLimits({ guard, queueSize: maxWaiting = defaultQueueLimits.maxWaiting }: SandboxServicesOptions): ClaimQueueOptions {
  return { maxWaiting, maxWaitingOfTenant: (team) => guard.ofTeam(team, "waitingCreates") ?? maxWaiting };
}

function once(claims: SandboxClaims): () => Promise<void> {
  let stopped: Promise<void> | undefined;
  return () => (stopped ??= claims.stop());
}

function oomTeller(options: SandboxServicesOptions): (pod: Pod, kills: number) => void {
  const events = new EventRecorder({ ...options, component: "agentbox-usage", host: hostname() });
  return (pod, kills) => tellOomKills(events, pod, kills);
}

interface FleetDeps extends Omit<PoolDeps & EnvDeps & TemplateDeps, "namespace" | "cluster">, StatisticsDeps {
  /** Where pools and Envs are when a request does not say where; creates look for them there too. */
  readonly poolNamespace?: string | undefined;
  /** The machine itself when left out. */
  readonly cluster?: LocalCluster | undefined;
}

/** What the embedded engine is called in Envs. */
const thisMachine: LocalCluster = { engine: "embedded", id: "local" };

/** What the API has beside sandboxes. */
function fleetServices({
  poolNamespace: namespace = "default",
  cluster = thisMachine,
  ...deps
}: FleetDeps): Omit<FleetServices, "volumes"> {
  return {
    pools: poolService({ ...deps, namespace }),
    envs: envService({ ...deps, namespace, cluster }),
    templates: templateService(deps),
    statistics: (caller, wanted) => sandboxStatistics(deps, caller, wanted),
  };
}
