/** The APIs of a cluster, in one of any number of processes. */
import type { ServePartsRequest } from "#cli/context.ts";
import type { ClaimPressure } from "#controllers/pool/claim-pressure.ts";
import { type ApiAddress, apiAddressOf } from "#gateway/api-host.ts";
import { ensureFirstAdminKey } from "#services/keys/first-admin-key.ts";
import { publishDemand } from "#services/publish-demand.ts";
import type { SandboxService } from "#services/sandbox-service.ts";
import { pressureOf } from "../control-plane.ts";
import { serverRehearsals } from "../rehearsal/server-rehearsals.ts";
import { openSandboxServices } from "../sandbox-services.ts";
import { defaultRateLimit, keysOver, serveApi } from "../serve-api.ts";
import type { ApiMembers } from "./api-members.ts";
import { type ClusterParts, handOverMs } from "./cluster-parts.ts";
import { adminKeySecret } from "./cluster-secrets.ts";
import { untilAnswered } from "./connect-cluster.ts";
import { execTraffic } from "./exec-traffic.ts";
import type { NodeAgents } from "./node-agents.ts";

/** Others have no more pods than this one: whoever waits here is not better off there. */
const lastWaitMs = 10_000;

export interface OpenedApi extends AsyncDisposable {
  readonly pressure: ClaimPressure;
  readonly sandboxes: SandboxService;
  /** Where it listens, as this process reaches it; undefined as long as it does not. */
  readonly address: () => ApiAddress | undefined;
  /** Takes requests from now on. What it returns ends them, and only them. */
  serve(): Promise<AsyncDisposable>;
}

/** Whoever else is there. */
export interface ApiNeighbours {
  readonly members: ApiMembers;
  readonly agents: Pick<NodeAgents, "freezes">;
}

/** Follows the cache and the neighbours, who are started later. */
export async function openApi(parts: ClusterParts, request: ServePartsRequest, { members, agents }: ApiNeighbours): Promise<OpenedApi> {
  const { client, impatient, namespace, clock, log, cache, history, engine, reach, traffic, readiness } = parts;
  if (history === undefined) throw new Error("the API has no history");
  const keeper = adminKeySecret({ client, namespace });
  const firstKey = await untilAnswered(parts, () => ensureFirstAdminKey({ client, namespace, clock, keeper }));
  if (firstKey !== undefined) log.info({ namespace, keptIn: "agentbox-admin-key" }, "first admin key made");
  await using opened = new AsyncDisposableStack();
  const services = opened.use(
    openSandboxServices({
      ...parts,
      ...request,
      ...engine,
      client: impatient,
      history,
      metrics: parts.metrics.metrics,
      activity: execTraffic(cache, traffic),
      keysNamespace: namespace,
      // Kubelets know nothing of either; agents of ours can do the second.
      enforcesEgress: false,
      freezes: agents.freezes,
      isServerGone: () => reach.isGone,
    }),
  );
  const rehearsals = opened.use(serverRehearsals({ clock, log, metrics: parts.metrics.metrics, claims: services.claims }));
  const { rateLimit: perSecond = defaultRateLimit.perSecond } = request;
  const rateLimit = { perSecond, burst: request.rateBurst ?? 2 * perSecond, processes: members.count };
  let listening: ApiAddress | undefined;
  const serve = async (): Promise<AsyncDisposable> => {
    // Others serve meanwhile, and whoever is sent here is not to be the first.
    await rehearsals.first(parts.signal);
    await using serving = new AsyncDisposableStack();
    const lease = serving.adopt(members.join(), (member) => member.stop());
    serving.use(publishDemand({ claims: services.claims, tell: (demand) => lease.tell(demand), clock }));
    const { address } = serving.use(
      await serveApi({
        ...parts,
        host: request.host,
        port: request.port,
        keys: keysOver(impatient, cache, clock, namespace),
        faces: services.faces(request.domain),
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
  return {
    pressure: pressureOf(services.claims),
    sandboxes: services.sandboxes,
    address: () => listening,
    serve,
    [Symbol.asyncDispose]: () => ends.disposeAsync(),
  };
}
