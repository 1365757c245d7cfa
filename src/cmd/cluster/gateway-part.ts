/** The gateway of a cluster, in one of any number of processes. Routes come with the cache of each. */
import type { ServePartsRequest } from "#cli/context.ts";
import { resumeSandbox } from "#services/changing/pause-sandbox.ts";
import { sandboxTokens } from "#services/creating/sandbox-tokens.ts";
import type { HistoryStore } from "#store/history-store.ts";
import { serveGateway } from "#cmd/parts/serve-gateway.ts";
import type { OpenedApi } from "./api-part.ts";
import { type ClusterParts, handOverMs } from "./cluster-parts.ts";

/** Streams cannot be handed over to another process; those that end by themselves soon may. */
const usualStreamGraceMs = 20_000;

export async function serveGatewayPart(
  parts: ClusterParts,
  request: ServePartsRequest,
  api: Pick<OpenedApi, "sandboxes" | "address"> | undefined,
): Promise<AsyncDisposable> {
  const { impatient: client, privateKey, log } = parts;
  const history = parts.history ?? noHistory;
  const sandboxes = api?.sandboxes ?? {
    resume: (...[caller, sandboxId, signal]) => resumeSandbox({ ...parts, client, history }, caller, sandboxId, signal),
  };
  const [domain = ""] = request.domain.split(":");
  const { host, gateway, maxOpen, maxOpenOfSandbox } = request;
  const { apiAddress } = request;
  const ofApi = apiAddress === undefined ? api?.address : () => apiAddress;
  const served = await serveGateway({
    ...parts,
    history,
    sandboxes,
    tokens: sandboxTokens(privateKey),
    metrics: parts.metrics.metrics,
    settings: { ...gateway, host, domain, maxOpen, maxOpenOfSandbox },
    ...(ofApi === undefined ? {} : { api: ofApi }),
    graceMs: request.streamGraceMs ?? usualStreamGraceMs,
    handOverMs,
    isApart: true,
  });
  log.info({ address: served.address, domain: request.domain, encrypted: gateway.certificate !== undefined }, "gateway listens");
  return served;
}

/** Without a history, this gateway cannot tell an ended sandbox from one that never existed. */
const noHistory: Pick<HistoryStore, "get"> = { get: async () => undefined };
