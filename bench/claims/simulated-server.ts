/**
 * The API with all that a create passes through, over an object store on disk, and pods that are idle and ready although no container
 * runs: their daemons are in a process of their own (daemons.ts). What the control plane costs shows here without a machine's limits.
 */
import { embeddedAbilities } from "#engines/embedded/abilities.ts";
import { fork } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { nativeFace } from "#api/native/native-routes.ts";
import { dialPod } from "#daemon-client/dial-pod.ts";
import { httpDaemonClient } from "#daemon-client/http-daemon-client.ts";
import { openPodHttp } from "#daemon-client/pod-http.ts";
import { embeddedKindRules } from "#engines/embedded/admission/all-rules.ts";
import { type ObjectStore, openObjectStore } from "#engines/embedded/store/object-store.ts";
import { publicKeyText } from "#envd-protocol/arming.ts";
import { SandboxCache } from "#read-model/sandbox-cache.ts";
import { systemClock } from "#lib/clock.ts";
import { openLog } from "#lib/log.ts";
import { noTracing } from "#lib/tracing.ts";
import { type Pod, Pods } from "#model/pod.ts";
import { ExecActivity } from "#services/inside/exec-activity.ts";
import { ExecTokens } from "#services/inside/exec-tokens.ts";
import { LiveSandboxes } from "#services/reading/live-sandboxes.ts";
import { openCheckpointService } from "#services/checkpoints/checkpoint-service.ts";
import { openSandboxClaims } from "#services/creating/open-sandbox-claims.ts";
import { openSandboxService } from "#services/open-sandbox-service.ts";
import { openSqliteHistory } from "#store/sqlite/store.ts";
import { createEmptyPool, createPod, makeReady } from "./idle-pods.ts";
import { accessOver, serveApi, systemNamespace } from "../../src/cmd/parts/serve-api.ts";
import { openServerMetrics } from "../../src/cmd/parts/server-metrics.ts";
import { FakePodAccess } from "../../test/world/fake-pod-access.ts";
import { claimBook } from "../../test/world/claim-books.ts";

const namespace = "default";
const pool = { namespace, name: "bench" };

export interface SimulatedServer extends AsyncDisposable {
  readonly store: ObjectStore;
  readonly url: string;
  readonly apiKey: string;
  readonly daemonPort: number;
  /** So many more idle pods; resolves when a create could have them. */
  addIdle(count: number): Promise<readonly Pod[]>;
  removeAll(): Promise<void>;
}

export async function startSimulatedServer(): Promise<SimulatedServer> {
  const parts = new AsyncDisposableStack();
  const home = await mkdtemp(join(tmpdir(), "agentbox-claims-"));
  parts.defer(() => rm(home, { recursive: true, force: true }));
  const clock = systemClock;
  const log = openLog({ clock, out: { write: () => true } });
  const store = openObjectStore({ file: join(home, "objects.db"), kinds: embeddedKindRules(), clock });
  parts.defer(() => store.close());
  await createEmptyPool(store, pool);
  const cache = new SandboxCache({ client: store, clock, log }, { systemNamespace, claims: claimBook() });
  const { privateKey } = generateKeyPairSync("ed25519");
  const http = parts.adopt(openPodHttp(), (open) => open.close());
  const history = await openSqliteHistory({ file: join(home, "history.db"), clock, durability: "process-crash" });
  parts.defer(() => history.close());
  const metrics = openServerMetrics();
  const pods = new FakePodAccess();
  const common = { client: store, cache, history, clock, log, metrics: metrics.metrics, pods, abilities: embeddedAbilities };
  const digests = { resolve: (image: string) => Promise.resolve({ digest: image.split("@")[1] ?? "" }) };
  const commands = { commandOf: () => Promise.resolve({ entrypoint: [], cmd: [] }) };
  const daemons = httpDaemonClient({ http, privateKey });
  const key = { privateKey, publicKey: publicKeyText(privateKey) };
  const claims = openSandboxClaims({ ...common, ...key, daemons, http, dial: dialPod, digests, commands, tracer: noTracing, maxUses: 100 });
  parts.defer(() => claims.stop());
  const live = parts.use(new LiveSandboxes(cache.pods));
  await cache.run();
  parts.defer(() => cache.stop());
  const rateLimit = { perSecond: 0, burst: 0 };
  const access = accessOver({ client: store, cache, clock, rateLimit });
  const { keys } = access;
  const { key: apiKey } = await keys.create({ role: "admin", team: "", keyId: "bench" }, { role: "admin", name: "bench" });
  const sandboxes = openSandboxService({ ...common, live, activity: new ExecActivity(clock), claims });
  const checkpoints = openCheckpointService({ ...common, claims });
  const face = nativeFace({ sandboxes, checkpoints, execTokens: new ExecTokens({ clock, privateKey, keys }), clock, log });
  const options = { host: "127.0.0.1", port: 0, access, faces: [face], rateLimit, ready: () => true as const, clock, log, metrics };
  const api = parts.use(await serveApi(options));
  const child = fork(join(import.meta.dirname, "daemons.ts"));
  parts.defer(() => child.disconnect());
  const [daemonPort] = (await once(child, "message")) as [number];
  const idle = new IdlePods(store, cache, daemonPort);
  return {
    store,
    url: api.address,
    apiKey,
    daemonPort,
    addIdle: async (count) => {
      const made = await idle.add(count);
      child.send(made.map(({ metadata, status }) => [status?.podIP ?? "", metadata.uid ?? ""]));
      await once(child, "message");
      await idle.markReady(made);
      return made;
    },
    removeAll: () => idle.removeAll(),
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  };
}

class IdlePods {
  readonly #store: ObjectStore;
  readonly #cache: SandboxCache;
  readonly #daemonPort: number;
  #made = 0;

  constructor(store: ObjectStore, cache: SandboxCache, daemonPort: number) {
    this.#store = store;
    this.#cache = cache;
    this.#daemonPort = daemonPort;
  }

  async add(count: number): Promise<readonly Pod[]> {
    const made: Pod[] = [];
    for (let index = 0; index < count; index++) {
      const number = this.#made++;
      const pod = await createPod(this.#store, pool, `bench-${number}`, this.#daemonPort);
      made.push({ ...pod, status: { podIP: `127.${1 + (number >> 16)}.${(number >> 8) & 255}.${number & 255}` } });
    }
    return made;
  }

  async markReady(made: readonly Pod[]): Promise<void> {
    for (const pod of made) await makeReady(this.#store, pod, pod.status?.podIP ?? "");
    const last = made.at(-1)?.metadata ?? {};
    while (this.#cache.pods.get({ namespace, name: last.name ?? "" })?.status?.phase !== "Running") await turn(1);
    // The boot of each is asked for in the background; a pool that has just been filled is not what is measured.
    await turn(200 + made.length / 4);
  }

  async removeAll(): Promise<void> {
    for (const { metadata } of (await this.#store.list(Pods, { namespace })).items) {
      await this.#store.delete(Pods, { namespace, name: metadata.name ?? "" }, { gracePeriodSeconds: 0 });
    }
  }
}

function turn(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
