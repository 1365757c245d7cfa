/** Pools over a real object store with the controllers of pools and pods, for tests that watch them being kept. The node is the test. */
import { embeddedAbilities } from "#engines/embedded/abilities.ts";
import { Registry } from "prom-client";
import { EndRecorder } from "#life/record/end-recorder.ts";
import { defaultRecycleTimeoutMs } from "#life/pod-deps.ts";
import { podMetrics } from "#life/pod-metrics.ts";
import { startPodController } from "#life/reconcile-pod.ts";
import type { PoolDeps } from "#controllers/pool/pool-deps.ts";
import { startPoolController } from "#controllers/pool/reconcile-pool.ts";
import type { Controller } from "#kube/controller/controller.ts";
import { Expectations } from "#kube/controller/expectations.ts";
import { EventRecorder } from "#kube/events/event-recorder.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import { SandboxCache } from "#read-model/sandbox-cache.ts";
import type { MonotonicClock } from "#lib/clock.ts";
import { prometheusMetrics } from "#lib/metrics.ts";
import { bringToPod, writeClaim } from "#life/claim/write-claim.ts";
import { isClaimElsewhere } from "#model/shown-pod.ts";
import { Events } from "#model/core-kinds.ts";
import type { JsonObject } from "#model/meta.ts";
import { type Pod, Pods, type PodStatus } from "#model/pod.ts";
import { type SandboxPool, SandboxPools } from "#model/sandbox-pool.ts";
import { type Claim, planClaim } from "#life/claim/plan-claim.ts";
import type { HistoryStore } from "#store/history-store.ts";
import { openSqliteHistory } from "#store/sqlite/store.ts";
import { digestOf, nodeCatchesUp } from "./pool-pods.ts";
import { recordedLog } from "./recorded-log.ts";
import { shownPods } from "./shown-pods.ts";
import { WatchedClient } from "./watched-client.ts";
import { claimBook } from "./claim-books.ts";

export interface PoolSceneOptions {
  readonly client: ObjectClient;
  readonly clock: MonotonicClock;
  readonly namespace: string;
  readonly pools?: Partial<PoolDeps>;
  readonly claimsOnLeases?: boolean | undefined;
}

const template = { spec: { containers: [{ name: "main", image: "registry.invalid/app:1" }] } };
const publicKey = "a2V5";

export class PoolScene implements AsyncDisposable {
  /** Past the controllers' one: what users, nodes and API processes do. */
  readonly client: ObjectClient;
  readonly clock: MonotonicClock;
  readonly namespace: string;
  /** The controllers' own. */
  readonly watched: WatchedClient;
  readonly cache: SandboxCache;
  readonly history: HistoryStore;
  readonly registry = new Registry();
  readonly logged = recordedLog();
  readonly events: EventRecorder;
  readonly publicKey = publicKey;
  /** What the registry says. */
  resolve: (image: string) => string = digestOf;
  /** What an API process knows that has seen nothing but its own writes. */
  readonly #elsewhere: SandboxCache;
  readonly #controllers: readonly Controller[];
  /** Address to the pod that has it. */
  readonly #uids = new Map<string, string>();

  private constructor({ client, clock, namespace, pools, claimsOnLeases }: PoolSceneOptions, history: HistoryStore) {
    const { log } = this.logged;
    this.client = client;
    this.clock = clock;
    this.namespace = namespace;
    this.history = history;
    this.watched = new WatchedClient(client);
    const cache = (this.cache = new SandboxCache(
      { client: this.watched.client, clock, log },
      { namespace, limitsNamespace: namespace, claims: claimBook(claimsOnLeases) },
    ));
    this.#elsewhere = new SandboxCache({ client, clock, log }, { namespace, claims: claimBook(claimsOnLeases) });
    const metrics = prometheusMetrics(this.registry);
    const digests = { resolve: async (image: string) => ({ digest: this.resolve(image) }) };
    const common = { client: this.watched.client, cache, clock, log, metrics, digests, publicKey, random: Math.random };
    const events = (this.events = new EventRecorder({ ...common, component: "test", host: "test" }));
    const expectations = new Expectations(clock);
    const recorder = new EndRecorder({ ...common, history });
    const observer = podMetrics({ metrics, clock });
    const daemon = { health: ({ ip }: { readonly ip: string }) => Promise.resolve({ podUid: this.#uids.get(ip) ?? "", bootId: "b" }) };
    this.#controllers = [
      startPoolController({ ...common, abilities: embeddedAbilities, events, expectations, creationsAtOnce: 4, ...pools }),
      startPodController({ ...common, events, recorder, observer, daemon, maxUses: 10, recycleTimeoutMs: defaultRecycleTimeoutMs }),
    ];
  }

  static async open(options: PoolSceneOptions): Promise<PoolScene> {
    const { clock } = options;
    const scene = new PoolScene(options, await openSqliteHistory({ file: ":memory:", clock, durability: "process-crash" }));
    await scene.cache.run();
    return scene;
  }

  key(name: string): { namespace: string; name: string } {
    return { namespace: this.namespace, name };
  }

  async createPool(spec: Partial<SandboxPool["spec"]> = {}, name = "py"): Promise<SandboxPool> {
    return this.client.create(SandboxPools, { metadata: this.key(name), spec: { replicas: 1, template, ...spec } });
  }

  async pool(name = "py"): Promise<SandboxPool> {
    return this.client.get(SandboxPools, this.key(name));
  }

  async scale(replicas: number, name = "py"): Promise<void> {
    await this.changePool({ spec: { replicas } }, name);
  }

  async changePool(body: JsonObject, name = "py"): Promise<void> {
    await this.client.patch(SandboxPools, this.key(name), { type: "merge", body });
  }

  /** Those that stay, by name, with their claims. */
  async pods(): Promise<readonly Pod[]> {
    return (await this.allPods()).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  }

  allPods(): Promise<readonly Pod[]> {
    return shownPods(this.client, this.namespace);
  }

  /** What a node does when it has all that it needs; or says what it is told to say. */
  async nodeReports({ metadata: { name = "" } }: Pod, more: Partial<PodStatus> = {}): Promise<Pod> {
    const pod = await this.client.get(Pods, this.key(name));
    const { containerStatuses = [] } = nodeCatchesUp(pod).status ?? {};
    const conditions = [{ type: "Ready", status: "True" }];
    const ip = pod.status?.podIP ?? `10.0.${this.#uids.size >> 8}.${this.#uids.size & 255}`;
    this.#uids.set(ip, pod.metadata.uid ?? "");
    const status = { phase: "Running", podIP: ip, podIPs: [{ ip }], conditions, containerStatuses, ...more };
    const body = { status } as unknown as JsonObject;
    return this.client.patch(Pods, this.key(name), { type: "merge", body }, { subresource: "status" });
  }

  async changePod({ metadata: { name = "" } }: Pod, metadata: JsonObject): Promise<Pod> {
    return this.client.patch(Pods, this.key(name), { type: "merge", body: { metadata } });
  }

  /** As an API process does, on the state that it has seen; for the image that the pod waits on. */
  async claim(pod: Pod, sandboxId: string, more: Partial<Claim> = {}): Promise<Pod> {
    const [image = "", digest = ""] = pod.spec.containers[0]?.image?.split("@") ?? [];
    const claim = { sandboxId, team: "red", user: "ann", images: { main: { image, digest } }, ...more };
    const plan = planClaim(pod, claim, this.clock.now());
    if (plan.kind === "refused") throw new Error(plan.message);
    const deps = { client: this.client, cache: this.#elsewhere };
    const claimed = await writeClaim(deps, pod, plan);
    return plan.isForPod && isClaimElsewhere(claimed) ? bringToPod(deps, claimed, plan.change.images) : claimed;
  }

  /** Events about pools as `type reason (count): message`, in the order of their names. */
  async told(): Promise<string[]> {
    await this.events.written();
    const { items } = await this.client.list(Events, { namespace: this.namespace });
    const ofPools = items.filter(({ involvedObject }) => involvedObject.kind === "SandboxPool");
    return ofPools.map(({ type, reason, count, message }) => `${type} ${reason} (${count}): ${message}`);
  }

  async metric(name: string): Promise<string> {
    return this.registry.getSingleMetricAsString(name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#controllers.map((controller) => controller.stop()));
    await this.cache.stop();
    await this.history.close();
  }
}
