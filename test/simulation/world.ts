/** All parts of a run: the store, the node, the history, the processes and their clients. */
import { embeddedKindRules } from "#engines/embedded/admission/all-rules.ts";
import { type ObjectStore, openObjectStore } from "#engines/embedded/store/object-store.ts";
import { Checkpoints } from "#model/checkpoint.ts";
import { Leases, Namespaces } from "#model/core-kinds.ts";
import { sandboxIdOf, sandboxPhaseOf } from "#model/claimed-pod.ts";
import type { JsonObject } from "#model/meta.ts";
import { type Pod, Pods } from "#model/pod.ts";
import { SandboxPools } from "#model/sandbox-pool.ts";
import type { SandboxRecord } from "#model/sandbox-record.ts";
import type { HistoryStore } from "#store/history-store.ts";
import { openSqliteHistory } from "#store/sqlite/store.ts";
import { SteppedClock } from "../world/stepped-clock.ts";
import { CheckpointWorld, hasCheckpoints } from "./checkpoints.ts";
import { areClaimsOnLeases, hasEnv, isQuotaSet } from "./sort-of-run.ts";
import { type Api, Clients } from "./clients.ts";
import type { ContainerInstance, PodOnNode } from "./container.ts";
import { leaderLease, type Reach, startApi, startControllers } from "./control-plane.ts";
import { daemonClient } from "./daemons.ts";
import { DemandOfAll } from "./demand.ts";
import { EnvWorld, isMember } from "./env-world.ts";
import { envName, envTeam, memberNames } from "./envs.ts";
import { faultyClient, type Write } from "./faulty-client.ts";
import { faultyHistory } from "./faulty-history.ts";
import { follow, type Follower } from "./follow.ts";
import { Judge } from "./judge.ts";
import { Ledger } from "./ledger.ts";
import { SimulatedNode } from "./node.ts";
import { aSimulatedPool, namespace, type PoolGoal, poolSorts, poolTemplate } from "./pools.ts";
import { nameOf, PodMonitor } from "./pod-monitor.ts";
import { Process } from "./process.ts";
import { SeededRandom } from "./random.ts";
import { ReplicaWatch } from "./replica-watch.ts";
import { isOfPod, PodsWithClaims } from "./pods-with-claims.ts";
import { Trace } from "./trace.ts";
import { type WeatherKind, weathers } from "./weather.ts";
import { WriteRate } from "./write-rate.ts";

/** A mistake that is put into the control plane on purpose, by way of what it is given. */
export type Plant = (reach: Reach) => Reach;

/** A place where one process runs, one after the other. */
interface Slot {
  readonly name: string;
  readonly start: (reach: Reach) => Api["service"] | undefined;
  process: Process | undefined;
  service: Api["service"] | undefined;
  starts: number;
  /** How often a process of it began to lead. */
  leads: number;
  /** How it reaches the others at the moment. */
  weather: WeatherKind;
}

export class World {
  readonly clock = new SteppedClock();
  readonly random: SeededRandom;
  readonly trace = new Trace(this.clock);
  readonly judge = new Judge();
  readonly ledger = new Ledger();
  readonly replicas = new ReplicaWatch(this.judge);
  readonly #writes = new WriteRate(this.judge);
  readonly store: ObjectStore;
  readonly history: HistoryStore;
  readonly node: SimulatedNode;
  readonly monitor: PodMonitor;
  readonly clients: Clients;
  readonly claimsOnLeases: boolean;
  readonly hasEnv: boolean;
  readonly env: EnvWorld;
  /** Undefined in runs without them. */
  readonly checkpoints: CheckpointWorld | undefined;
  readonly #demand = new DemandOfAll();
  /** Watches that fell silent without their process having noticed: until then it cannot know of changes. */
  readonly silences = new Set<object>();
  /** Pool to what is wanted of it now. */
  readonly goals = new Map<string, PoolGoal>();
  readonly #slots: readonly Slot[];
  readonly #plant: Plant;
  readonly #end = new AbortController();
  #leaseHolder = "";

  static async open(seed: number, plant: Plant = (reach) => reach): Promise<World> {
    const clock = new SteppedClock();
    return new World(seed, plant, await openSqliteHistory({ file: ":memory:", clock, durability: "process-crash" }));
  }

  constructor(seed: number, plant: Plant, history: HistoryStore) {
    this.random = new SeededRandom(seed);
    this.claimsOnLeases = areClaimsOnLeases(seed);
    this.hasEnv = hasEnv(seed);
    this.#plant = plant;
    this.history = history;
    const { clock, ledger, judge, trace, replicas } = this;
    const now = (): number => clock.now();
    const few = { revisions: 300, ms: 60_000 };
    this.store = openObjectStore({ file: ":memory:", kinds: kindRules, clock, history: few });
    this.node = new SimulatedNode({
      store: this.store,
      clock,
      trace,
      random: this.random.fork("node"),
      onEnd: (pod, isWished) => (isWished ? undefined : ledger.blow(pod.uid, "container-ended")),
    });
    this.monitor = new PodMonitor({ ledger, judge, node: this.node, replicas, trace });
    const { store, goals } = this;
    const hasQuota = this.hasEnv && isQuotaSet(seed);
    this.env = new EnvWorld({ store, clock, judge, trace, replicas, goals, hasQuota, pods: () => this.monitor.pods() });
    const ownerOf = (pool: string) => (hasQuota && (pool === envName || isMember(pool)) ? envTeam : undefined);
    this.checkpoints = hasCheckpoints(seed)
      ? new CheckpointWorld({
          store,
          node: this.node,
          judge,
          trace,
          random: this.random.fork("checkpoints"),
          pods: () => this.monitor.pods(),
        })
      : undefined;
    this.clients = new Clients({ ledger, judge, node: this.node, trace, now, ownerOf, random: this.random.fork("clients") });
    this.#slots = [
      ...["api-0", "api-1"].map((name) => emptySlot(name, startApi)),
      ...["ctl-0", "ctl-1"].map((name) => emptySlot(name, startControllers)),
    ];
    this.#followAll();
  }

  /** Creates the pools and starts all processes. */
  async begin(): Promise<void> {
    this.trace.add("world", `claims stand on ${this.claimsOnLeases ? "Leases beside their pods" : "their pods"}`);
    const random = this.random.fork("pools");
    await this.store.create(Namespaces, { metadata: { name: namespace } });
    for (const sort of poolSorts.filter(() => random.chance(0.6)).slice(0, this.hasEnv ? 1 : 2)) await this.#makePool(sort, random);
    if (this.goals.size === 0) await this.#makePool("warm", random);
    if (this.hasEnv) await this.env.make(this.random.fork("env"));
    for (const { name } of this.#slots) this.start(name);
  }

  get slots(): readonly string[] {
    return this.#slots.map(({ name }) => name);
  }

  isUp(name: string): boolean {
    return this.#slot(name).process !== undefined;
  }

  start(name: string): void {
    const slot = this.#slot(name);
    if (slot.process !== undefined) return;
    slot.starts += 1;
    const random = this.random.fork(`${name} ${slot.starts}`);
    const process = new Process(name, this.clock, random.between(-2000, 2000));
    this.trace.add(name, `starts, for the ${slot.starts}. time`);
    slot.process = process;
    slot.service = slot.start(this.#plant(this.#reach(slot, process, random)));
  }

  kill(name: string): void {
    const slot = this.#slot(name);
    if (slot.process === undefined) return;
    this.trace.add(name, "is killed");
    slot.process.kill();
    this.#demand.leave(name);
    slot.process = undefined;
    slot.service = undefined;
  }

  hold(name: string): void {
    const { process } = this.#slot(name);
    if (process === undefined || process.isHeld) return;
    this.trace.add(name, "is held");
    this.#excuseRequests(name);
    process.hold();
  }

  async goOn(name: string): Promise<void> {
    const { process } = this.#slot(name);
    if (process?.isHeld !== true) return;
    this.trace.add(name, "goes on");
    await process.goOn();
  }

  setClock(name: string, byMs: number): void {
    this.trace.add(name, `has its clock set by ${byMs} ms`);
    this.#slot(name).process?.setTimeOfDay(byMs);
  }

  correctClock(name: string): void {
    this.#slot(name).process?.correctClock();
  }

  setWeather(name: string, weather: WeatherKind): void {
    if (this.#slot(name).weather === weather) return;
    this.trace.add(name, `has ${weather} weather`);
    this.#slot(name).weather = weather;
  }

  /** The processes that take requests now. */
  apis(): readonly Api[] {
    return this.#slots.flatMap(({ process, service }) =>
      process === undefined || process.isHeld || service === undefined ? [] : [{ process, service }],
    );
  }

  /** What sandboxes can be asked for from. */
  sources(): readonly string[] {
    return [...this.plainPools(), ...(this.env.watch.env === undefined ? [] : [envName, ...memberNames])];
  }

  /** Pools without an Env: their size is what an admin says. */
  plainPools(): readonly string[] {
    return [...this.goals.keys()].filter((pool) => !isMember(pool));
  }

  async scale(pool: string, replicas: number): Promise<void> {
    this.trace.add("admin", `scales ${pool} to ${replicas}`);
    this.goals.set(pool, { version: 1, ...this.goals.get(pool), replicas });
    this.replicas.want(pool, replicas);
    await this.#changePool(pool, { replicas });
  }

  async changeTemplate(pool: string): Promise<void> {
    const { version = 0, replicas = 0 } = this.goals.get(pool) ?? {};
    this.trace.add("admin", `changes the template of ${pool} to version ${version + 1}`);
    this.goals.set(pool, { replicas, version: version + 1 });
    this.replicas.tries(pool);
    await this.#changePool(pool, { template: poolTemplate(pool, version + 1) as JsonObject });
  }

  /** With all its pods, whatever they carry. */
  async deletePool(pool: string): Promise<void> {
    this.trace.add("admin", `deletes the pool ${pool}`);
    this.goals.delete(pool);
    const { uid = "" } = (await this.store.get(SandboxPools, { namespace, name: pool })).metadata;
    this.ledger.endedPools.add(uid);
    for (const pod of this.monitor.pods()) this.#hitIfDoomed(pod);
    await this.store.delete(SandboxPools, { namespace, name: pool });
  }

  /** One that is not there: as soon as nothing is left of an earlier one of its name. */
  async createPool(pool: (typeof poolSorts)[number], random: SeededRandom): Promise<void> {
    if (this.goals.has(pool)) return;
    const { items } = await this.store.list(SandboxPools, { namespace });
    if (items.some(({ metadata }) => metadata.name === pool)) return;
    this.trace.add("admin", `creates the pool ${pool}`);
    await this.#makePool(pool, random);
  }

  #hitIfDoomed({ metadata: { uid = "", ownerReferences = [] } }: Pod): void {
    if (ownerReferences.some((owner) => this.ledger.endedPools.has(owner.uid))) this.ledger.blow(uid, "deleted");
  }

  async #changePool(pool: string, spec: JsonObject): Promise<void> {
    await this.store.patch(SandboxPools, { namespace, name: pool }, { type: "merge", body: { spec } });
  }

  /** A sandbox that is unreachable may be given up, whatever it does meanwhile. */
  cutOff(): void {
    for (const { uid } of this.node.pods()) this.ledger.blow(uid, "cut-off");
    this.node.goDown();
  }

  evict(pod: PodOnNode): void {
    this.ledger.blow(pod.uid, "evicted");
    this.node.evict(pod);
  }

  /** A pod is deleted by hand, whatever it carries. */
  async deletePod(pod: PodOnNode): Promise<void> {
    this.trace.add("admin", `deletes ${pod.name}`);
    this.ledger.blow(pod.uid, "deleted");
    await this.store.delete(Pods, { namespace, name: pod.name }).catch(() => {});
  }

  close(): void {
    for (const { name } of this.#slots) this.kill(name);
    this.#end.abort(new Error("the run is over"));
    this.store.close();
  }

  async #makePool(sort: (typeof poolSorts)[number], random: SeededRandom): Promise<void> {
    const pool = aSimulatedPool(sort, random);
    this.goals.set(sort, { replicas: pool.spec.replicas, version: 1 });
    this.replicas.want(sort, pool.spec.replicas);
    await this.store.create(SandboxPools, pool);
  }

  #excuseRequests(api: string): void {
    for (const request of this.ledger.requests) if (request.api === api && request.state === "pending") request.isExcused = true;
  }

  #slot(name: string): Slot {
    const slot = this.#slots.find((one) => one.name === name);
    if (slot === undefined) throw new Error(`there is no process ${name}`);
    return slot;
  }

  #reach(slot: Slot, process: Process, random: SeededRandom): Reach {
    const { clock, store, trace, history, node } = this;
    const weather = () => weathers[slot.weather];
    const wire = (name: string) => ({ process, clock, weather, random: random.fork(name), silences: this.silences });
    const client = faultyClient(wire("objects"), {
      server: store,
      onSend: (write) => {
        traceWrite(trace, write);
        this.#writes.see(write, clock.now());
        if (write.verb === "create" && write.type === Pods) this.replicas.made(write.name, `${slot.name} #${slot.leads}`);
      },
      onApplied: (write) => this.#excuse(slot, process, write),
    });
    const onArmed = (sandboxId: string, container: ContainerInstance): void => {
      trace.add(process.name, `armed ${container.id} for ${sandboxId}`);
      container.wasUsed ||= this.ledger.sandboxes.get(sandboxId)?.hasEnded === false;
    };
    return {
      process,
      clock: process.clock,
      client,
      claimsOnLeases: this.claimsOnLeases,
      trace,
      random: random.fork("own"),
      daemon: daemonClient(wire("daemons"), node, onArmed),
      history: faultyHistory(wire("history"), { database: history, onPut: (record) => this.#recorded(record) }),
      pressure: this.#demand,
      onClaims: (claims) => this.#demand.join(slot.name, claims),
      plugin: this.env.plugin,
      checkpoints: this.checkpoints?.imagesFor(process, random.fork("checkpoints")),
      onLead: () => (slot.leads += 1),
      lastActive: { activityOf: async () => ({ kind: "known", inUse: false }) },
    };
  }

  /** The sender of this pod will not know of it, or not in time. */
  #excuse(slot: Slot, process: Process, { verb, type, name, fate }: Write): void {
    if (verb !== "create" || type !== Pods) return;
    if (fate === "arrives" && slot.process === process && !process.isHeld && this.#leader() === process.name) return;
    const pool = [...poolSorts, ...memberNames].find((one) => name.startsWith(`${one}-`));
    if (pool === undefined) return;
    this.replicas.excuse(pool);
    if (isMember(pool)) this.env.watch.excuse();
  }

  #leader(): string {
    return this.#leaseHolder.replace(/_.*/, "");
  }

  #recorded(record: SandboxRecord): void {
    const { ledger, judge, trace } = this;
    const { sandboxId, status, failureReason } = record;
    if (!ledger.records.has(sandboxId)) trace.add("history", `${sandboxId} was ${status} ${failureReason ?? ""}`);
    ledger.records.set(sandboxId, record);
    const sandbox = ledger.sandboxes.get(sandboxId);
    judge.hold("I3", sandbox !== undefined, () => `there is a record of ${sandboxId}, which no pod ever carried`);
    const pod = this.monitor.pod(sandbox?.podUid ?? "");
    if (pod === undefined || sandboxIdOf(pod) !== sandboxId) return;
    const phase = sandboxPhaseOf(pod);
    const isOver = pod.metadata.deletionTimestamp !== undefined || pod.status?.phase === "Failed";
    judge.hold(
      "I3",
      isOver || (phase !== "starting" && phase !== "running"),
      () => `${sandboxId} has its record and lives on ${nameOf(pod)}`,
    );
  }

  /** Of claims the node knows only what is written to its pods. */
  #followAll(): void {
    const { store, monitor, node, judge } = this;
    const onError = (error: unknown): void => judge.violate("error", error instanceof Error ? (error.stack ?? "") : String(error));
    const world: Follower = { store, signal: this.#end.signal, onError };
    const shown = new PodsWithClaims((pod) => monitor.see(pod));
    follow(world, Pods, (event) => {
      if (event.type === "ADDED") this.#hitIfDoomed(event.object);
      shown.seePod(event);
      if (event.type === "ADDED") this.env.created(event.object);
      node.changed(event.object, event.type === "DELETED");
    });
    this.env.follow(world);
    const { checkpoints } = this;
    if (checkpoints !== undefined) follow(world, Checkpoints, ({ type, object }) => checkpoints.see(object, type === "DELETED"));
    follow(world, Leases, (event) => {
      if (isOfPod(event.object)) shown.seeLease(event);
      else this.#leaseHolder = event.object.spec?.holderIdentity ?? "";
    });
  }
}

/** Rules are the same for every run, and not cheap to make. */
const kindRules = embeddedKindRules();

function emptySlot(name: string, start: Slot["start"]): Slot {
  return { name, start, process: undefined, service: undefined, starts: 0, leads: 0, weather: "calm" };
}

function traceWrite(trace: Trace, { process, verb, type, name, fate }: Write): void {
  // The leader's lease is written every few seconds. Events are for people, and their names contain uids.
  if (name !== leaderLease && type.kind !== "Event")
    trace.add(process, `${verb} ${type.kind} ${name}${fate === "arrives" ? "" : `: ${fate}`}`);
}
