/** One pod of a pool over a real object store, with everything that its controllers need, for tests that walk it through its life. */
import { Registry } from "prom-client";
import { ArmingWatch } from "#life/end/arming-watch.ts";
import { annotatedActivity } from "../../src/life/end/timeout-deps.ts";
import { reconcileTimeouts } from "#life/end/reconcile-timeouts.ts";
import { defaultTimeoutLimits, type TimeoutDeps } from "#life/end/timeout-deps.ts";
import { EndRecorder } from "#life/record/end-recorder.ts";
import { defaultRecycleTimeoutMs, type PodDeps } from "#life/pod-deps.ts";
import { podMetrics } from "#life/pod-metrics.ts";
import { reconcilePod } from "#life/reconcile-pod.ts";
import { type DaemonClient, DaemonError, type DaemonHealth } from "#daemon-client/daemon-client.ts";
import type { Requeue } from "#kube/controller/work-queue.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import { SandboxCache } from "#read-model/sandbox-cache.ts";
import type { MonotonicClock } from "#lib/clock.ts";
import { withoutUndefined } from "#lib/without-undefined.ts";
import { type Metrics, prometheusMetrics } from "#lib/metrics.ts";
import { bringToPod, writeClaim } from "#life/claim/write-claim.ts";
import { endSandbox, type WantedEnd } from "#life/end/write-end.ts";
import { isClaimElsewhere } from "#model/shown-pod.ts";
import type { JsonObject } from "#model/meta.ts";
import type { JsonPatch } from "#model/patch.ts";
import { type Pod, Pods, type PodStatus } from "#model/pod.ts";
import { type SandboxPool, SandboxPools } from "#model/sandbox-pool.ts";
import type { SandboxRecord } from "#model/sandbox-record.ts";
import { type Claim, planClaim } from "#life/claim/plan-claim.ts";
import { renderPod } from "#sandbox/pods/render-pod.ts";
import { resolveTemplate } from "#sandbox/pools/resolve-template.ts";
import { HistoryError } from "#store/history-error.ts";
import type { HistoryStore } from "#store/history-store.ts";
import { openSqliteHistory } from "#store/sqlite/store.ts";
import { digestOf, nodeCatchesUp } from "./pool-pods.ts";
import { recordedLog } from "./recorded-log.ts";
import { claimBook } from "./claim-books.ts";

const publicKey = "a2V5";
const signal = new AbortController().signal;
export const image = (name: string) => ({ image: `registry.invalid/${name}:1`, digest: digestOf(name) });

export interface PodSceneOptions {
  readonly client: ObjectClient;
  readonly clock: MonotonicClock;
  readonly namespace: string;
  readonly pool?: Partial<SandboxPool["spec"]>;
  readonly claimsOnLeases?: boolean | undefined;
}

/** What a daemon answers; undefined for no answer. */
export type Answer = Pick<DaemonHealth, "sandboxId"> & Partial<DaemonHealth>;

export class PodScene implements AsyncDisposable {
  readonly client: ObjectClient;
  readonly clock: MonotonicClock;
  readonly cache: SandboxCache;
  readonly history: HistoryStore;
  readonly registry = new Registry();
  readonly metrics: Metrics = prometheusMetrics(this.registry);
  readonly logged = recordedLog();
  readonly told: string[] = [];
  readonly started: Pod[] = [];
  readonly asked: string[] = [];
  readonly namespace: string;
  /** How often a put fails before the next one is taken. */
  historyFailures = 0;
  puts = 0;
  answer: Answer | undefined;
  readonly deps: PodDeps;
  readonly timeoutDeps: TimeoutDeps;

  private constructor({ client, clock, namespace, claimsOnLeases }: PodSceneOptions, history: HistoryStore) {
    this.client = client;
    this.clock = clock;
    this.namespace = namespace;
    this.history = history;
    this.cache = new SandboxCache({ client, clock, log: this.logged.log }, { namespace, claims: claimBook(claimsOnLeases) });
    const log = this.logged.log;
    const metered = podMetrics(this);
    const observer = { ...metered, started: (pod: Pod) => (this.started.push(pod), metered.started(pod)) };
    const events = { record: (_: unknown, { message }: { message: string }) => this.told.push(message), forget: () => {} };
    const digests = { resolve: async (name: string) => ({ digest: digestOf(/\/([a-z]+):/.exec(name)?.[1] ?? name) }) };
    const common = { client, cache: this.cache, clock, log, digests, publicKey, maxUses: 10, observer, events };
    const recorder = new EndRecorder({ ...common, metrics: this.metrics, history: { put: (record) => this.#put(record) } });
    const daemon = this.#daemon();
    this.deps = { ...common, recorder, daemon, recycleTimeoutMs: defaultRecycleTimeoutMs };
    const arming = new ArmingWatch({ daemon, clock, random: () => 0.5 });
    this.timeoutDeps = { ...common, arming, lastActive: annotatedActivity, limits: defaultTimeoutLimits };
  }

  /** With a pool and one idle, ready pod of it. */
  static async open(options: PodSceneOptions): Promise<PodScene> {
    const { client, clock, namespace } = options;
    const scene = new PodScene(options, await openSqliteHistory({ file: ":memory:", clock, durability: "process-crash" }));
    const template = { spec: { containers: [{ name: "main", image: "registry.invalid/app:1" }] } };
    const spec = { replicas: 1, template, idleImage: "registry.invalid/idle:1", ...options.pool };
    const pool = await client.create(SandboxPools, { metadata: { namespace, name: "py" }, spec });
    const resolved = resolveTemplate(pool, undefined);
    if (resolved.kind !== "template") throw new Error(resolved.kind);
    const digests = { "registry.invalid/app:1": digestOf("app"), "registry.invalid/idle:1": digestOf("idle") };
    const rendered = renderPod({ pool, template: resolved.template, name: "py-1", digests, publicKey });
    if (rendered.kind !== "pod") throw new Error(JSON.stringify(rendered));
    await client.create(Pods, rendered.pod);
    await scene.nodeReports();
    await scene.cache.run();
    return scene;
  }

  get key(): { namespace: string; name: string } {
    return { namespace: this.namespace, name: "py-1" };
  }

  /** As the server has it, with its claim, and the cache from then on. */
  pod(): Promise<Pod> {
    return this.cache.readPod(this.client, this.key);
  }

  async isGone(): Promise<boolean> {
    return (await this.client.list(Pods, { namespace: this.namespace })).items.length === 0;
  }

  /** What a node does when it has all that it needs; or says what it is told to say. */
  async nodeReports(more: Partial<PodStatus> = {}): Promise<Pod> {
    const pod = await this.client.get(Pods, this.key);
    const { containerStatuses = [] } = nodeCatchesUp(pod).status ?? {};
    const conditions = [{ type: "Ready", status: "True" }];
    const status = { phase: "Running", podIP: "10.0.0.7", podIPs: [{ ip: "10.0.0.7" }], conditions, containerStatuses, ...more };
    const body = { status } as unknown as JsonObject;
    await this.client.patch(Pods, this.key, { type: "merge", body }, { subresource: "status" });
    return this.pod();
  }

  /** Container `main` ended by itself and was started anew. */
  async nodeRestarts(reason: string, exitCode: number, finishedAt?: string): Promise<Pod> {
    const [status] = (await this.pod()).status?.containerStatuses ?? [];
    if (status === undefined) throw new Error("no container is reported");
    const { restartCount, containerID } = status;
    const lastState = { terminated: { reason, exitCode, ...withoutUndefined({ containerID, finishedAt }) } };
    const next = { ...status, restartCount: restartCount + 1, containerID: `containerd://again-${restartCount + 1}`, lastState };
    return this.nodeReports({ containerStatuses: [next] });
  }

  async claim(more: Partial<Claim> = {}): Promise<Pod> {
    const pod = await this.pod();
    const claim = { sandboxId: "i1", team: "red", user: "ann", images: { main: image("app") }, ...more };
    const plan = planClaim(pod, claim, this.clock.now());
    if (plan.kind === "refused") throw new Error(plan.message);
    const claimed = await writeClaim(this.deps, pod, plan);
    if (plan.isForPod && isClaimElsewhere(claimed)) await bringToPod(this.deps, claimed, plan.change.images);
    return this.pod();
  }

  async write(pod: Pod, plan: { readonly kind: string; readonly patch?: JsonPatch }): Promise<Pod> {
    if (plan.patch === undefined) throw new Error(JSON.stringify(plan));
    await this.client.patch(Pods, { namespace: this.namespace, name: pod.metadata.name ?? "" }, plan.patch);
    return this.pod();
  }

  async annotate(annotations: Readonly<Record<string, string | null>>, labels: Readonly<Record<string, string>> = {}): Promise<Pod> {
    await this.client.patch(Pods, this.key, { type: "merge", body: { metadata: { annotations, labels } } });
    return this.pod();
  }

  async release(more: Partial<WantedEnd> = {}) {
    return endSandbox(this.deps, await this.pod(), { sandboxId: "i1", ...more }, signal);
  }

  /** As on a node that has other pods to renew first. */
  async releaseToRest() {
    const resting = { decide: () => ({ rests: true, [Symbol.dispose]: () => {} }), endProcesses: async () => true };
    return endSandbox({ ...this.deps, resting }, await this.pod(), { sandboxId: "i1" }, signal);
  }

  /** Deletes the pod, as any client of the API server may. */
  async delete(): Promise<void> {
    await this.client.delete(Pods, this.key);
    await this.pod();
  }

  /** One look at the pod, on what the cache has. */
  reconcile(deps: PodDeps = this.deps): Promise<Requeue> {
    return reconcilePod(deps, this.key, signal);
  }

  reconcileTimeouts(more: Partial<TimeoutDeps> = {}): Promise<Requeue> {
    return reconcileTimeouts({ ...this.timeoutDeps, ...more }, this.key, signal);
  }

  async record(sandboxId = "i1"): Promise<SandboxRecord | undefined> {
    return this.history.get(sandboxId, { kind: "admin" });
  }

  async metric(name: string): Promise<string> {
    return this.registry.getSingleMetricAsString(name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.cache.stop();
    await this.history.close();
  }

  async #put(record: SandboxRecord): Promise<void> {
    this.puts += 1;
    if (this.historyFailures-- > 0) throw new HistoryError("unavailable", "the database does not answer");
    await this.history.put(record);
  }

  #daemon(): Pick<DaemonClient, "health"> {
    return {
      health: async ({ ip, port }) => {
        this.asked.push(`${ip}:${port}`);
        if (this.answer === undefined) throw new DaemonError("unreachable", "no answer");
        return { podUid: this.cache.pods.get(this.key)?.metadata.uid ?? "", bootId: "b", ...this.answer };
      },
    };
  }
}
