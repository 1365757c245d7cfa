/** A pool with idle pods over an object server, their daemons, and any number of processes that hand them out. */
import { able } from "#engine-port/abilities.ts";
import type { SandboxVolume } from "#model/sandbox-volume.ts";
import { embeddedAbilities } from "#engines/embedded/abilities.ts";
import { generateKeyPairSync } from "node:crypto";
import { Registry } from "prom-client";
import type { ImageCommand } from "#images/image-config.ts";
import { type ControlPlaneOptions, pressureOf, startControlPlane } from "#cmd/parts/control-plane.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import { SandboxCache } from "#read-model/sandbox-cache.ts";
import type { MonotonicClock } from "#lib/clock.ts";
import { prometheusMetrics } from "#lib/metrics.ts";
import { noTracing } from "#lib/tracing.ts";
import type { EnvClusterMemberConfig } from "#model/env-member.ts";
import { annotationKeys, envOwnerKind, labelKeys, ownGroup, ownVersion } from "#model/keys.ts";
import type { JsonObject } from "#model/meta.ts";
import { type Pod, Pods, type PodStatus } from "#model/pod.ts";
import { type SandboxEnv, SandboxEnvs } from "#model/sandbox-env.ts";
import { type SandboxPool, SandboxPools } from "#model/sandbox-pool.ts";
import { renderPod } from "#sandbox/pods/render-pod.ts";
import { resolveTemplate } from "#sandbox/pools/resolve-template.ts";
import type { Caller } from "#services/caller.ts";
import type { SandboxClaimsDeps } from "#services/creating/claim-deps.ts";
import { openSandboxClaims } from "#services/creating/open-sandbox-claims.ts";
import type { SandboxClaims } from "#services/creating/sandbox-claims.ts";
import type { CreatedSandbox, CreateOptions, CreateSandbox } from "#services/sandbox-service.ts";
import { openSqliteHistory } from "#store/sqlite/store.ts";
import type { HistoryStore } from "#store/history-store.ts";
import { digestOf, nodeCatchesUp } from "./pool-pods.ts";
import { recordedLog } from "./recorded-log.ts";
import { shownPod, shownPods } from "./shown-pods.ts";
import { SimulatedDaemons } from "./simulated-daemons.ts";
import { claimBook } from "./claim-books.ts";

export const ann: Caller = { role: "tenant", team: "red", user: "ann", keyId: "k1" };
const publicKey = "a2V5";
const abilities = { ...embeddedAbilities, volumes: () => able };

/** Of the team of `ann`. */
export const dataVolume: SandboxVolume = {
  metadata: { namespace: "default", name: "vol-data", uid: "u-data", labels: { [labelKeys.team]: "red" } },
  spec: { name: "data", sizeMiB: 16 },
  status: { phase: "Ready" },
};
const volumes = { list: () => [dataVolume].values() };
const { privateKey } = generateKeyPairSync("ed25519");

export interface ClaimSceneOptions {
  readonly client: ObjectClient;
  readonly clock: MonotonicClock;
  readonly namespace: string;
  readonly pods?: number;
  readonly pool?: Partial<SandboxPool["spec"]>;
  readonly claimsOnLeases?: boolean | undefined;
}

export interface MemberShape {
  readonly config?: EnvClusterMemberConfig;
  readonly pool?: Partial<SandboxPool["spec"]>;
  /** Limits of each sandbox. */
  readonly resources?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface EnvShape {
  readonly labels?: Readonly<Record<string, string>>;
  readonly spec?: Partial<SandboxEnv["spec"]>;
}

/** One process: its own cache, and what it hands out. */
export interface ClaimProcess {
  readonly cache: SandboxCache;
  readonly claims: SandboxClaims;
  readonly registry: Registry;
  readonly logged: ReturnType<typeof recordedLog>;
  create(command?: Partial<CreateSandbox>, options?: Partial<CreateOptions>): Promise<CreatedSandbox>;
}

export class ClaimScene implements AsyncDisposable {
  readonly client: ObjectClient;
  readonly clock: MonotonicClock;
  readonly namespace: string;
  readonly daemons: SimulatedDaemons;
  readonly history: HistoryStore;
  readonly #claimsOnLeases: boolean | undefined;
  readonly #parts = new AsyncDisposableStack();

  private constructor({ client, clock, namespace, claimsOnLeases }: ClaimSceneOptions, history: HistoryStore) {
    this.#claimsOnLeases = claimsOnLeases;
    this.client = client;
    this.clock = clock;
    this.namespace = namespace;
    this.history = history;
    this.daemons = new SimulatedDaemons(clock);
  }

  /** Pods wait on image `app` unless the pool says otherwise. */
  static async open(options: ClaimSceneOptions): Promise<ClaimScene> {
    const { client, clock, namespace, pods = 1 } = options;
    const scene = new ClaimScene(options, await openSqliteHistory({ file: ":memory:", clock, durability: "process-crash" }));
    const template = { spec: { containers: [{ name: "main", image: "registry.invalid/app:1" }] } };
    const spec = { replicas: pods, template, podCreationImagePolicy: "PoolDefaultImage", ...options.pool } as const;
    await client.create(SandboxPools, { metadata: { namespace, name: "py" }, spec });
    for (let number = 1; number <= pods; number++) await scene.addPod(number);
    return scene;
  }

  /** An Env with these members and their pools, as the Env controller would make them; none of them has a pod yet. */
  async addEnv(name: string, members: Readonly<Record<string, MemberShape>>, more: EnvShape = {}): Promise<SandboxEnv> {
    const { client, namespace } = this;
    const entries = Object.entries(members);
    const listed = entries.map(([member, { config = {} }]) => ({ name: member, config }));
    const env = await client.create(SandboxEnvs, {
      metadata: { namespace, name, labels: more.labels ?? {} },
      spec: { templateRef: { name: "app" }, mode: "WarmPool", clusters: [{ clusterID: "local", members: listed }], ...more.spec },
    });
    for (const [member, shape] of entries) await this.#addMember(env, member, shape);
    return env;
  }

  async #addMember(
    env: SandboxEnv,
    member: string,
    { config = {}, pool = {}, resources = {}, annotations = {} }: MemberShape,
  ): Promise<void> {
    const { client, namespace } = this;
    const { name = "", uid = "" } = env.metadata;
    const { scalingGroup = "default" } = config;
    const template = { spec: { containers: [{ name: "main", image: "registry.invalid/app:1", resources: { limits: resources } }] } };
    const owner = { apiVersion: `${ownGroup}/${ownVersion}`, kind: envOwnerKind, name, uid, controller: true };
    await client.create(SandboxPools, {
      metadata: {
        namespace,
        name: member,
        labels: { [labelKeys.env]: name, ...(scalingGroup === "" ? {} : { [labelKeys.scalingGroup]: scalingGroup }) },
        annotations: { [annotationKeys.templateName]: "app", ...annotations },
        ownerReferences: [owner],
      },
      spec: { replicas: 1, template, podCreationImagePolicy: "PoolDefaultImage", ...pool },
    });
  }

  /** A process with all that it needs; `more` takes the place of some of it. */
  async process(more: Partial<SandboxClaimsDeps> = {}): Promise<ClaimProcess> {
    const logged = recordedLog();
    const { log } = logged;
    const { clock, namespace, history, daemons } = this;
    const client = more.client ?? this.client;
    const cache = new SandboxCache({ client, clock, log }, { namespace, claims: claimBook(this.#claimsOnLeases) });
    const registry = new Registry();
    const nothing = { exec: notUsed, send: notUsed };
    const deps = { client, cache, history, clock, log, daemons, publicKey, privateKey, pods: nothing, http: nothing, abilities, volumes };
    const dial = notUsed;
    const digests = { resolve: (image: string) => this.#digest(image) };
    const random = (): number => 0.5;
    const claims = openSandboxClaims({
      ...deps,
      dial,
      digests,
      commands: { commandOf: async (image) => commandOf(image) },
      random,
      metrics: prometheusMetrics(registry),
      tracer: noTracing,
      maxUses: 10,
      keysNamespace: namespace,
      ...more,
    });
    await cache.run();
    const create = (command: Partial<CreateSandbox> = {}, options: Partial<CreateOptions> = {}): Promise<CreatedSandbox> =>
      claims.create(ann, { from: `${namespace}/py`, ...command }, { signal: new AbortController().signal, wait: true, ...options });
    this.#parts.defer(() => cache.stop());
    return { cache, claims, registry, logged, create };
  }

  /** The controllers of a process, over the same cache, until the scene ends; `client` is theirs if it is not the scene's. */
  startControllers(
    { cache, claims, logged }: ClaimProcess,
    client: ObjectClient = this.client,
    more: Partial<ControlPlaneOptions> = {},
  ): AsyncDisposable {
    const { clock, history, daemons } = this;
    const metrics = prometheusMetrics(new Registry());
    const digests = { resolve: (image: string) => this.#digest(image) };
    const options = {
      client,
      cache,
      history,
      digests,
      clock,
      log: logged.log,
      metrics,
      publicKey,
      pressure: pressureOf(claims),
      daemon: daemons,
      abilities,
      ...more,
    };
    return this.#parts.use(startControlPlane(options));
  }

  /** As the server has it, with its claim. */
  pod(number = 1, pool = "py"): Promise<Pod> {
    return shownPod(this.client, { namespace: this.namespace, name: `${pool}-${number}` });
  }

  pods(): Promise<readonly Pod[]> {
    return shownPods(this.client, this.namespace);
  }

  /** Another idle pod, ready, with its daemon. Numbers are addresses: none may be used by two pods, of whatever pools. */
  async addPod(number: number, poolName = "py"): Promise<Pod> {
    const { client, namespace } = this;
    const pool = await client.get(SandboxPools, { namespace, name: poolName });
    const resolved = resolveTemplate(pool, undefined);
    if (resolved.kind !== "template") throw new Error(resolved.kind);
    const images = ["app", "idle", "side"].map((name) => [`registry.invalid/${name}:1`, digestOf(name)]);
    const name = `${poolName}-${number}`;
    const rendered = renderPod({ pool, template: resolved.template, name, digests: Object.fromEntries(images), publicKey });
    if (rendered.kind !== "pod") throw new Error(JSON.stringify(rendered));
    const { uid = "" } = (await client.create(Pods, rendered.pod)).metadata;
    this.daemons.boot(addressOf(number), uid);
    return this.nodeReports(number, {}, poolName);
  }

  /** The node has exchanged what it was told to exchange: the daemon answers, but nothing has been reported yet. */
  async nodeStarts(number = 1): Promise<void> {
    this.daemons.boot(addressOf(number), (await this.pod(number)).metadata.uid ?? "");
  }

  /** What a node reports when all containers are as they should be; or what it is told to. */
  async nodeReports(number = 1, more: Partial<PodStatus> = {}, pool = "py"): Promise<Pod> {
    const pod = await this.pod(number, pool);
    const { containerStatuses = [] } = nodeCatchesUp(pod).status ?? {};
    const ip = addressOf(number);
    const status = { phase: "Running", podIP: ip, podIPs: [{ ip }], conditions: [{ type: "Ready", status: "True" }], containerStatuses };
    const body = { status: { ...status, ...more } } as unknown as JsonObject;
    const key = { namespace: this.namespace, name: `${pool}-${number}` };
    return this.client.patch(Pods, key, { type: "merge", body }, { subresource: "status" });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#parts.disposeAsync();
    await this.history.close();
  }

  async #digest(image: string): Promise<{ readonly digest: string }> {
    return { digest: digestOf(/\/([a-z]+):/.exec(image)?.[1] ?? image) };
  }
}

export function addressOf(number: number): string {
  return `10.${number >> 16}.${(number >> 8) & 255}.${number & 255}`;
}

/** What the images of this scene run by themselves. */
export function commandOf(image: string): ImageCommand {
  return { entrypoint: ["/entry"], cmd: [image] };
}

function notUsed(): never {
  throw new Error("this test has no hooks");
}
