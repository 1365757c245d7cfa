/** The APIs of a cluster, in one of any number of processes. */
import type { ServePartsRequest } from "#cli/context.ts";
import type { EngineAbilities } from "#engine-port/abilities.ts";
import type { ClaimPressure } from "#life/claim/claim-pressure.ts";
import { type ApiAddress, apiAddressOf } from "#gateway/api-host.ts";
import { ensureFirstAdminKey } from "#services/keys/first-admin-key.ts";
import { publishDemand } from "#services/creating/publish-demand.ts";
import type { SandboxService } from "#services/sandbox-service.ts";
import { dashboardFiles } from "#cmd/dashboard/dashboard-files.ts";
import { pressureOf } from "#cmd/parts/control-plane.ts";
import { openSandboxServices } from "#cmd/parts/sandbox-services.ts";
import { openSignIn } from "#cmd/parts/open-sign-in.ts";
import { accessOver, defaultRateLimit, serveApi } from "#cmd/parts/serve-api.ts";
import type { ApiMembers } from "./api-members.ts";
import { type ClusterParts, handOverMs } from "./cluster-parts.ts";
import { checkPodTemplate } from "./check-pod-template.ts";
import { adminKeySecret } from "./cluster-secrets.ts";
import { untilAnswered } from "./connect-cluster.ts";
import type { TrafficLog } from "#gateway/activity.ts";
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import { isClaimed } from "#model/claimed-pod.ts";
import type { SandboxServiceDeps } from "#services/open-sandbox-service.ts";

/** Other processes have the same pods, so a waiting request would not be better off there. */
const lastWaitMs = 10_000;

export interface OpenedApi extends AsyncDisposable {
  readonly pressure: ClaimPressure;
  readonly sandboxes: SandboxService;
  /** Where it listens, as this process reaches it; undefined as long as it does not. */
  readonly address: () => ApiAddress | undefined;
  /** Takes requests from now on. What it returns ends them, and only them. */
  serve(): Promise<AsyncDisposable>;
}

export interface ApiRequest extends ServePartsRequest {
  /** Of AgentBox. */
  readonly version?: string;
}

/** The other API processes, and what the engine can do. */
export interface ApiNeighbours {
  readonly members: ApiMembers;
  readonly abilities: EngineAbilities;
}

async function makeFirstKey(parts: ClusterParts): Promise<void> {
  const { client, namespace, clock, log } = parts;
  const keeper = adminKeySecret({ client, namespace });
  const firstKey = await untilAnswered(parts, () => ensureFirstAdminKey({ client, namespace, clock, keeper }));
  if (firstKey !== undefined) log.info({ namespace, keptIn: "agentbox-admin-key" }, "first admin key made");
}

function rateLimitOf({ rateLimit: perSecond = defaultRateLimit.perSecond, rateBurst }: ServePartsRequest, members: ApiMembers) {
  return { perSecond, burst: rateBurst ?? 2 * perSecond, processes: members.count };
}

/** Follows the cache and the other API processes; both are started later. */
export async function openApi(parts: ClusterParts, request: ApiRequest, { members, abilities }: ApiNeighbours): Promise<OpenedApi> {
  const { impatient, namespace, clock, log, cache, history, engine, traffic, readiness } = parts;
  if (history === undefined) throw new Error("the API has no history");
  await makeFirstKey(parts);
  await using opened = new AsyncDisposableStack();
  const rateLimit = rateLimitOf(request, members);
  const access = accessOver({ ...request, client: impatient, cache, clock, namespace, rateLimit });
  const services = opened.use(
    openSandboxServices({
      ...access,
      processes: members.count,
      ...parts,
      ...request,
      ...engine,
      oidc: await openSignIn({ ...parts, ...request }),
      plugins: parts.plugins,
      client: impatient,
      history,
      metrics: parts.metrics.metrics,
      activity: execTraffic(cache, traffic),
      keysNamespace: namespace,
      cluster: { engine: "kubernetes", id: request.clusterID },
      abilities,
      checkPodTemplate,
      consoleFiles: dashboardFiles(log),
    }),
  );
  let listening: ApiAddress | undefined;
  const serve = async (): Promise<AsyncDisposable> => {
    await using serving = new AsyncDisposableStack();
    const lease = serving.adopt(members.join(), (member) => member.stop());
    serving.use(publishDemand({ claims: services.claims, tell: (demand) => lease.tell(demand), clock }));
    const { address } = serving.use(
      await serveApi({
        ...parts,
        host: request.host,
        port: request.port,
        access,
        faces: services.faces(request.domain, request.host),
        sessions: services.sessions,
        audit: services.audit,
        rateLimit,
        handOverMs,
        lastWaitMs,
        onEnding: services.refuseCreates,
        ready: () => readiness.now(),
        // They are at the health port, which is not for clients.
        metricsHosts: [],
      }),
    );
    listening = apiAddressOf(address);
    log.info({ address, domain: request.domain }, "API listens");
    return serving.move();
  };
  const ends = opened.move();
  const { claims, sandboxes } = services;
  const end = (): Promise<void> => ends.disposeAsync();
  return { pressure: pressureOf(claims), sandboxes, address: () => listening, serve, [Symbol.asyncDispose]: end };
}

/**
 * Commands and terminals count as traffic and are written to the pod: idle sandboxes are ended by another process, which sees only the pod.
 */
function execTraffic(cache: Pick<SandboxCache, "podsOfSandbox">, traffic: TrafficLog): SandboxServiceDeps["activity"] {
  return {
    begin: (sandboxId) => {
      const pod = cache.podsOfSandbox(sandboxId).find(isClaimed);
      return pod === undefined ? () => {} : traffic.begin(sandboxId, pod);
    },
  };
}
