/**
 * The cache that services, controllers and the gateway read: live sandboxes, pools, checkpoints and templates, by all that they
 * are looked up by. A live sandbox is a claimed pod (model/claimed-pod.ts).
 *
 * - `sandbox-cache.ts`  the cache: reads, waits, start and stop
 * - `indexes.ts`        the one list of indexes
 * - `cache-scope.ts`    which part of the world is cached
 * - `lookup-error.ts`   no answer, or too many
 *
 * It is the counterpart of the `Provider` of openkruise/agents (their Sandbox is our claimed pod, their SandboxSet our SandboxPool):
 *
 * | theirs                                     | ours                                                                             |
 * |--------------------------------------------|----------------------------------------------------------------------------------|
 * | GetClaimedSandbox                          | claimedSandbox; ambiguous ids fail. refreshSandbox for what the cache lacks      |
 * | GetCheckpoint                              | checkpoint; ambiguous ids fail                                                   |
 * | PickSandboxSet                             | pool; ambiguous without a namespace, where theirs takes any                      |
 * | ListSandboxSets                            | listPools                                                                        |
 * | ListSandboxes                              | listSandboxes: claimed pods only; none for an empty user                         |
 * | ListCheckpoints                            | listCheckpoints; none for an empty user                                          |
 * | ListSandboxesInPool                        | listPodsInPool                                                                   |
 * | NewSandboxPauseTask, NewSandboxResumeTask  | pauseTask, resumeTask: hold the sandbox from their making                        |
 * | NewSandboxWaitReadyTask, NewCheckpointTask | readyTask, checkpointTask: hold it while they wait                               |
 * | Run, Stop                                  | run, stop                                                                        |
 * | GetClient, GetAPIReader                    | client: every read of it goes to the server, every cached read is a method here  |
 * | SandboxUpdateFunc, CheckpointUpdateFunc    | currentPod, currentCheckpoint: the cache, and the server for what it lacks       |
 * | GetSandboxController                       | pods.onChange: at any time, removable, isolated; theirs before the start only    |
 * | GetSandboxSetController                    | pools.onChange                                                                   |
 * | GetIndexFuncs, AddIndexesToCache           | indexes.ts; informers take their indexes when they are made                      |
 * | IndexSandboxPool, IndexClaimedSandboxID, … | podsByPoolAndSlot, podsBySandboxId, podsByUser, poolsByTemplateId, checkpoints…  |
 * | BuildCacheConfig                           | cacheScope                                                                       |
 * | NewControllerManager, NewCache             | new SandboxCache; users share the object, and one owner runs it                  |
 * | GetWaitHooks (tests)                       | sandboxWaits.held, checkpointWaits.held                                          |
 * | GetMockManager, NewTestCache (tests)       | none: tests run on the embedded store, or on test/world's scripted server        |
 *
 * Reads are synchronous and never leave the process, so there is nothing to share between callers that ask at once (their
 * singleflight). An empty or missing namespace means all namespaces; a missing user means all users, an empty one none (theirs:
 * all). Results are live views; see ReadableObjects.
 */
import type { ClaimBook, OpenClaimBook } from "#engine-port/claim-book.ts";
import { keyOf } from "#kube/informer/indexed-store.ts";
import { Informer, type InformerDeps, type InformerHealth, type InformerPace } from "#kube/informer/informer.ts";
import type { ObjectClient, ObjectKey } from "#kube/object-client.ts";
import { checkCheckpointTaken } from "#read-model/checkpoint-checker.ts";
import { checkDeepPaused, checkPaused, checkReady, checkResumed } from "#read-model/sandbox-checkers.ts";
import { type WaitReader, WaitRegistry } from "#kube/wait/wait-registry.ts";
import type { WaitTask } from "#kube/wait/wait-task.ts";
import { type Checkpoint, Checkpoints } from "#model/checkpoint.ts";
import { isClaimed, sandboxIdOf } from "#model/claimed-pod.ts";
import type { ConfigMap, Secret } from "#model/core-kinds.ts";
import { labelKeys } from "#model/keys.ts";
import { type InstanceTypes, instanceTypesConfigMapName, noInstanceTypes, readInstanceTypes } from "#model/instance-types.ts";
import { limitsConfigMapName, type LimitTable, noLimitsSet, readLimits } from "#model/limits.ts";
import type { ApiObject } from "#model/meta.ts";
import { type Pod, Pods } from "#model/pod.ts";
import type { ResourceType } from "#model/resource.ts";
import type { SandboxEnv } from "#model/sandbox-env.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import type { SandboxTemplate } from "#model/sandbox-template.ts";
import { type CacheScopeOptions, cacheScope } from "./cache-scope.ts";
import {
  checkpointIndexes,
  checkpointsById,
  checkpointsByUser,
  envIndexes,
  envValue,
  podIndexes,
  podsByPoolAndSlot,
  podsBySandboxId,
  podsByUser,
  poolIndexes,
  poolsByEnv,
  poolsByTeam,
  poolsByTemplateId,
  type PoolSlot,
  poolValue,
  slotValue,
  unschedulablePods,
} from "./indexes.ts";
import { DeepPausedSandboxes, type ShownPods, shownPods } from "./deep-paused-sandboxes.ts";
import { LookupError } from "./lookup-error.ts";

export interface SandboxCacheOptions extends CacheScopeOptions {
  readonly pace?: Partial<InformerPace>;
  /** Where the engine writes claims. All processes of one server must have the same. */
  readonly claims: OpenClaimBook;
}

/** A part of the cached world. */
export interface InNamespace {
  readonly namespace?: string | undefined;
}

export interface OfUser extends InNamespace {
  /** All users when left out. An empty user owns nothing, so that a forgotten user does not show what belongs to others. */
  readonly user?: string | undefined;
}

export interface InPool extends InNamespace {
  readonly pool: string;
  /** Idle ones when left out. */
  readonly slot?: PoolSlot;
}

export class SandboxCache {
  /** Past the cache: always the server's own word. */
  readonly client: ObjectClient;
  /** With their claims, wherever the engine writes these. */
  readonly pods: Informer<Pod>;
  readonly claims: ClaimBook;
  /** The sandboxes that checkpoints have. */
  readonly deepPaused: DeepPausedSandboxes;
  /** `pods`, and the sandboxes that checkpoints have. */
  readonly shown: ShownPods;
  readonly pools: Informer<SandboxPool>;
  readonly envs: Informer<SandboxEnv>;
  readonly checkpoints: Informer<Checkpoint>;
  readonly templates: Informer<SandboxTemplate>;
  /** Of the system namespace; undefined when none was given. */
  readonly system: { readonly secrets: Informer<Secret>; readonly configMaps: Informer<ConfigMap> } | undefined;
  /** The ConfigMap of limits; undefined when nothing says where it is. */
  readonly limits: Informer<ConfigMap> | undefined;
  /** The ConfigMap of instance types, beside that of limits. */
  readonly instanceTypeCatalogue: Informer<ConfigMap> | undefined;
  readonly sandboxWaits: WaitRegistry<Pod>;
  readonly checkpointWaits: WaitRegistry<Checkpoint>;
  readonly #namespace: string | undefined;
  readonly #limitsNamespace: string | undefined;

  constructor(deps: InformerDeps, { pace = {}, claims: openClaims, ...options }: SandboxCacheOptions) {
    const scope = cacheScope(options);
    this.client = deps.client;
    this.#namespace = scope.pods.namespace;
    const claims = openClaims(deps, { namespace: scope.pods.namespace, pace });
    this.claims = claims;
    const show = (pod: Pod): Pod => claims.show(pod, () => this.pods.get(keyOf(pod)));
    this.pods = new Informer(deps, { ...scope.pods, indexes: podIndexes, pace, show });
    claims.onChange((pod) => this.pods.refresh(pod));
    this.pools = new Informer(deps, { ...scope.pools, indexes: poolIndexes, pace });
    this.envs = new Informer(deps, { ...scope.envs, indexes: envIndexes, pace });
    this.checkpoints = new Informer(deps, { ...scope.checkpoints, indexes: checkpointIndexes, pace });
    this.deepPaused = new DeepPausedSandboxes(this.checkpoints, this.pods);
    this.shown = shownPods(this.pods, this.deepPaused);
    this.templates = new Informer(deps, { ...scope.templates, pace });
    this.system = scope.system && {
      secrets: new Informer(deps, { ...scope.system.secrets, pace }),
      configMaps: new Informer(deps, { ...scope.system.configMaps, pace }),
    };
    this.limits = scope.limits && new Informer(deps, { ...scope.limits, pace });
    this.instanceTypeCatalogue = scope.instanceTypes && new Informer(deps, { ...scope.instanceTypes, pace });
    this.#limitsNamespace = scope.limits?.namespace;
    this.sandboxWaits = waitsFor(this.pods, Pods, deps, (key, signal) => this.readPod(deps.client, key, signal));
    this.checkpointWaits = waitsFor(this.checkpoints, Checkpoints, deps, (key, signal) => deps.client.get(Checkpoints, key, { signal }));
  }

  /** The one namespace that is followed; all of them when undefined. */
  get namespace(): string | undefined {
    return this.#namespace;
  }

  /** Starts to follow the server and resolves when everything is cached. If that fails or is given up, nothing goes on. */
  async run(signal?: AbortSignal): Promise<void> {
    try {
      // A pod that is known before its claim would look as if it were free.
      for (const followed of this.claims.followed) followed.start();
      for (const followed of this.claims.followed) await followed.whenSynced(signal);
      for (const informer of this.#informers()) informer.start();
      await Promise.all(this.#informers().map((informer) => informer.whenSynced(signal)));
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  /** Resolves when nothing goes on any more. Safe at any time, also without run. */
  async stop(): Promise<void> {
    await Promise.all(this.#informers().map((informer) => informer.stop()));
  }

  health(): InformerHealth {
    const reasons = this.#informers().flatMap((informer) => {
      const health = informer.health();
      return health.healthy ? [] : [health.reason];
    });
    return reasons.length === 0 ? { healthy: true } : { healthy: false, reason: reasons.join("; ") };
  }

  /** The pod that carries the sandbox now. Throws LookupError. */
  claimedSandbox({ namespace, sandboxId }: InNamespace & { readonly sandboxId: string }): Pod {
    return theOne("sandbox", sandboxId, inNamespace(this.podsOfSandbox(sandboxId), namespace).filter(isClaimed));
  }

  /** Every pod that shows the id, also one whose sandbox has ended and that is being recycled. */
  podsOfSandbox(sandboxId: string): IteratorObject<Pod, undefined> {
    const pods = this.pods.objects.lookup(podsBySandboxId, sandboxId);
    const deepPaused = this.deepPaused.of(sandboxId);
    return deepPaused === undefined ? pods : [deepPaused, ...pods].values();
  }

  /** Throws LookupError. */
  checkpoint({ namespace, checkpointId }: InNamespace & { readonly checkpointId: string }): Checkpoint {
    return theOne("checkpoint", checkpointId, inNamespace(this.checkpoints.objects.lookup(checkpointsById, checkpointId), namespace));
  }

  /** What admins have set. Objects are never changed, only replaced, so each is read once. */
  limitTable(): LimitTable {
    const set = this.limits?.get({ namespace: this.#limitsNamespace, name: limitsConfigMapName });
    if (set === undefined) return noLimitsSet;
    const table = tables.get(set) ?? readLimits(set);
    tables.set(set, table);
    return table;
  }

  /** The catalogue of instance types, with what is wrong in it. */
  instanceTypes(): InstanceTypes {
    const set = this.instanceTypeCatalogue?.get({ namespace: this.#limitsNamespace, name: instanceTypesConfigMapName });
    if (set === undefined) return noInstanceTypes;
    const types = catalogues.get(set) ?? readInstanceTypes(set);
    catalogues.set(set, types);
    return types;
  }

  /** The pool that a template id means. Throws LookupError. */
  pool({ namespace, name }: InNamespace & { readonly name: string }): SandboxPool {
    return theOne("pool", name, inNamespace(this.pools.objects.lookup(poolsByTemplateId, name), namespace));
  }

  listPools({ namespace }: InNamespace = {}): IteratorObject<SandboxPool, undefined> {
    return this.pools.objects.list(nonEmpty(namespace));
  }

  /** The pools whose label names the Env. */
  poolsOfEnv(env: ObjectKey): IteratorObject<SandboxPool, undefined> {
    return this.pools.objects.lookup(poolsByEnv, envValue(env));
  }

  /** The pools whose label names the team as their owner. */
  poolsOfTeam(team: string): IteratorObject<SandboxPool, undefined> {
    return this.pools.objects.lookup(poolsByTeam, team);
  }

  /** Pods of a pool that the scheduler finds no node for. */
  unschedulablePods(pool: { readonly namespace: string; readonly pool: string }): IteratorObject<Pod, undefined> {
    return this.pods.objects.lookup(unschedulablePods, poolValue(pool));
  }

  listSandboxes({ namespace, user }: OfUser = {}): IteratorObject<Pod, undefined> {
    const { objects } = this.pods;
    return (user === undefined ? objects.list(nonEmpty(namespace)) : inNamespace(objects.lookup(podsByUser, user), namespace)).filter(
      isClaimed,
    );
  }

  listCheckpoints({ namespace, user }: OfUser = {}): IteratorObject<Checkpoint, undefined> {
    const { objects } = this.checkpoints;
    return user === undefined ? objects.list(nonEmpty(namespace)) : inNamespace(objects.lookup(checkpointsByUser, user), namespace);
  }

  /** The pods of a pool in one slot, the longest there first. */
  listPodsInPool({ namespace, pool, slot = "idle" }: InPool): IteratorObject<Pod, undefined> {
    const { objects } = this.pods;
    const inSpace = (space: string): IteratorObject<Pod, undefined> =>
      objects.lookup(podsByPoolAndSlot, slotValue({ namespace: space, pool, slot }));
    const space = nonEmpty(namespace);
    return space === undefined ? objects.namespaces().flatMap(inSpace) : inSpace(space);
  }

  /** Make it before writing the wish to pause, so that no resume begins in between. Throws a WaitError conflict. */
  pauseTask(pod: Pod): WaitTask<Pod> {
    return this.sandboxWaits.acquiredTask("pause", pod, checkPaused);
  }

  /** The same for a pause without memory: reached when a checkpoint has the sandbox. */
  deepPauseTask(pod: Pod): WaitTask<Pod> {
    return this.sandboxWaits.acquiredTask("pause without memory", pod, checkDeepPaused);
  }

  /** Make it before taking the wish away, so that no pause begins in between. Throws a WaitError conflict. */
  resumeTask(pod: Pod): WaitTask<Pod> {
    return this.sandboxWaits.acquiredTask("resume", pod, checkResumed);
  }

  readyTask(pod: Pod): WaitTask<Pod> {
    return this.sandboxWaits.lazyTask("ready", pod, checkReady);
  }

  checkpointTask(checkpoint: Checkpoint): WaitTask<Checkpoint> {
    return this.checkpointWaits.lazyTask("checkpoint", checkpoint, checkCheckpointTaken);
  }

  /** The pod as it is known now; asks the server if the cache does not have it. Rejects with NotFound if the server has none. */
  async currentPod(key: ObjectKey, signal?: AbortSignal): Promise<Pod> {
    return this.pods.get(key) ?? (await this.readPod(this.client, key, signal));
  }

  /** The pod by the server's own word, with its claim; the cache knows it from then on. Rejects with NotFound. */
  async readPod(client: Pick<ObjectClient, "get">, key: ObjectKey, signal?: AbortSignal): Promise<Pod> {
    const pod = await client.get(Pods, key, { signal });
    this.pods.remember(pod);
    return this.claims.read(client, pod, signal);
  }

  /**
   * Asks the server which pods show the sandbox's id, and knows them from then on: another process may have claimed one a moment ago. By the
   * client of the waiting caller, which may be less patient than ours.
   */
  async refreshSandbox(client: Pick<ObjectClient, "list">, sandboxId: string): Promise<void> {
    const wanted = { namespace: this.#namespace, labelSelector: `${labelKeys.sandboxId}=${sandboxId}` };
    await Promise.all([
      client.list(Pods, wanted).then(({ items }) => items.forEach((pod) => this.pods.remember(pod))),
      this.claims.find(client, sandboxId).then((pods) => Promise.all(pods.map((pod) => this.#learn(client, pod, sandboxId)))),
    ]);
  }

  async currentCheckpoint(key: ObjectKey, signal?: AbortSignal): Promise<Checkpoint> {
    return this.checkpoints.get(key) ?? (await this.client.get(Checkpoints, key, { signal }));
  }

  /** A claim names the pod as the sandbox's. The cache may not know the pod, or not this use of it. */
  async #learn(client: Pick<ObjectClient, "list">, { namespace, name }: ObjectKey, sandboxId: string): Promise<void> {
    const known = this.pods.get({ namespace, name });
    if (known !== undefined && sandboxIdOf(known) === sandboxId) return;
    const { items } = await client.list(Pods, { namespace, fieldSelector: `metadata.name=${name}` });
    for (const pod of items) this.pods.remember(pod);
  }

  #informers(): readonly Pick<Informer<ApiObject>, "start" | "stop" | "whenSynced" | "health">[] {
    const { pods, pools, envs, checkpoints, templates, system, claims, limits, instanceTypeCatalogue } = this;
    return [
      ...claims.followed,
      pods,
      pools,
      envs,
      checkpoints,
      templates,
      ...(system === undefined ? [] : [system.secrets, system.configMaps]),
      ...(limits === undefined ? [] : [limits]),
      ...(instanceTypeCatalogue === undefined ? [] : [instanceTypeCatalogue]),
    ];
  }
}

const tables = new WeakMap<ConfigMap, LimitTable>();
const catalogues = new WeakMap<ConfigMap, InstanceTypes>();

function waitsFor<T extends ApiObject>(
  informer: Informer<T>,
  type: ResourceType<T>,
  { clock }: InformerDeps,
  live: WaitReader<T>["live"],
): WaitRegistry<T> {
  const reader: WaitReader<T> = { cached: (key) => informer.get(key), live };
  const waits = new WaitRegistry({ type, clock, reader });
  informer.onChange(waits.onChange);
  return waits;
}

/** The only one of its sort; none and several are errors. */
function theOne<T extends ApiObject>(what: LookupError["what"], id: string, candidates: IteratorObject<T, undefined>): T {
  const [one, ...others] = candidates;
  if (one === undefined || others.length > 0) throw new LookupError(what, id, [one, ...others].flatMap(nameOf));
  return one;
}

function nameOf(object: ApiObject | undefined): string[] {
  return object === undefined ? [] : [`${object.metadata.namespace ?? ""}/${object.metadata.name ?? ""}`];
}

function inNamespace<T extends ApiObject>(
  objects: IteratorObject<T, undefined>,
  namespace: string | undefined,
): IteratorObject<T, undefined> {
  const space = nonEmpty(namespace);
  return space === undefined ? objects : objects.filter((object) => object.metadata.namespace === space);
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === "" ? undefined : text;
}
