/**
 * All that a create passes through in a server of a cluster, a second time and for nobody: an object server in memory, pods without containers, daemons that
 * agree to everything, and our own cache, services and API between them. It has a key, metrics and a log of its own, listens on loopback only, and what
 * it holds is worth nothing.
 */
import { generateKeyPairSync, randomUUID } from "node:crypto";
import type { RequestListener } from "node:http";
import { Registry } from "prom-client";
import { httpDaemonClient } from "#daemon-client/http-daemon-client.ts";
import { openPodHttp, type PodHttp } from "#daemon-client/pod-http.ts";
import { embeddedKindRules } from "#engines/embedded/admission/all-rules.ts";
import { serveObjects } from "#engines/embedded/http/serve-objects.ts";
import { type ObjectStore, openObjectStore } from "#engines/embedded/store/object-store.ts";
import { kubernetesClient, type KubernetesClient } from "#engines/kubernetes/client.ts";
import { publicKeyText } from "#envd-protocol/arming.ts";
import { SandboxCache } from "#kube/sandbox-cache/sandbox-cache.ts";
import type { Clock, MonotonicClock } from "#lib/clock.ts";
import { openLog } from "#lib/log.ts";
import { prometheusMetrics } from "#lib/metrics.ts";
import { noTracing } from "#lib/tracing.ts";
import type { PoolRef } from "#scheduling/pool-ref.ts";
import { ExecActivity } from "#services/exec-activity.ts";
import { openSqliteHistory } from "#store/sqlite/store.ts";
import { openSandboxServices } from "../sandbox-services.ts";
import { keysOver, serveApi, systemNamespace } from "../serve-api.ts";
import { createEmptyPool } from "./idle-pods.ts";
import { loopbackServer } from "./loopback-server.ts";

export interface Stage extends AsyncDisposable {
  readonly store: ObjectStore;
  readonly pool: PoolRef;
  /** For a sandbox from the pool, over HTTP. Throws when there is none. */
  readonly create: () => Promise<void>;
}

const pool: PoolRef = { namespace: "default", name: "rehearsal" };

export async function openStage(clock: MonotonicClock): Promise<Stage> {
  await using parts = new AsyncDisposableStack();
  const log = openLog({ clock, out: { write: () => true } });
  const { store, client } = await openObjects(clock, parts);
  await createEmptyPool(store, pool);
  const cache = new SandboxCache({ client, clock, log }, { systemNamespace, claimsOnLeases: true });
  const http = parts.adopt(openPodHttp(), (open) => open.close());
  const history = await openSqliteHistory({ file: ":memory:", clock, durability: "process-crash" });
  parts.defer(() => history.close());
  const registry = new Registry();
  const metrics = prometheusMetrics(registry);
  const { privateKey } = generateKeyPairSync("ed25519");
  const services = parts.use(
    openSandboxServices({
      client,
      cache,
      history,
      clock,
      log,
      metrics,
      http,
      privateKey,
      publicKey: publicKeyText(privateKey),
      daemons: httpDaemonClient({ http, privateKey }),
      // Images are named by their digests.
      digests: { resolve: async (image) => ({ digest: image.split("@")[1] ?? "" }) },
      commands: { commandOf: async () => ({ entrypoint: [], cmd: [] }) },
      pods: client.pods,
      activity: new ExecActivity(clock),
      tracer: noTracing,
      maxUses: 100,
    }),
  );
  parts.defer(() => cache.stop());
  await cache.run();
  const keys = keysOver(client, cache, clock);
  const { key } = await keys.create({ role: "admin", team: "", keyId: pool.name }, { role: "admin", name: pool.name });
  const faces = services.faces("rehearsal.invalid");
  const rateLimit = { perSecond: 1e9, burst: 1e9 };
  const common = { host: "127.0.0.1", port: 0, keys, faces, rateLimit, ready: () => true as const, clock, log };
  const api = parts.use(await serveApi({ ...common, metrics: { registry, metrics, onServed: () => {} } }));
  const opened = parts.move();
  return {
    store,
    pool,
    create: () => createOne(http, Number(new URL(api.address).port), key),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

interface Objects {
  readonly store: ObjectStore;
  /** The same, over HTTP as a cluster's. */
  readonly client: KubernetesClient;
}

async function openObjects(clock: Clock, parts: AsyncDisposableStack): Promise<Objects> {
  const rules = embeddedKindRules();
  const store = openObjectStore({ file: ":memory:", kinds: rules, clock });
  parts.defer(() => store.close());
  const face = serveObjects({ client: store, kinds: rules.map(({ resource }) => resource) });
  const token = randomUUID();
  const { port } = parts.use(await loopbackServer(onlyWith(token, face.listener)));
  parts.defer(() => face.stop());
  const client = await kubernetesClient({ url: `http://127.0.0.1:${port}`, token, clock, connections: 8 });
  parts.defer(() => client.close());
  return { store, client };
}

/** Others of this machine have no business here. */
function onlyWith(token: string, listener: RequestListener): RequestListener {
  return (request, response) => {
    if (request.headers.authorization === `Bearer ${token}`) listener(request, response);
    else response.writeHead(401).end();
  };
}

async function createOne(http: PodHttp, port: number, key: string): Promise<void> {
  const headers = { "content-type": "application/json", "agentbox-api-key": key };
  const request = { method: "POST", path: "/v1/sandboxes", headers, body: JSON.stringify({ poolName: pool.name }) } as const;
  const { status, text } = await http.send({ ip: "127.0.0.1", port }, request);
  if (status !== 201) throw new Error(`a rehearsed create was answered with ${status}: ${text}`);
}
