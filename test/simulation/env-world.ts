/** The Env of a run as its admin and its plugin change it, and what is allowed by that. */
import type { ObjectStore } from "#engines/embedded/store/object-store.ts";
import { poolOf } from "#model/claimed-pod.ts";
import { ConfigMaps } from "#model/core-kinds.ts";
import type { JsonObject } from "#model/meta.ts";
import type { Pod } from "#model/pod.ts";
import { type SandboxEnv, SandboxEnvs } from "#model/sandbox-env.ts";
import { SandboxTemplates } from "#model/sandbox-template.ts";
import type { SteppedClock } from "../world/stepped-clock.ts";
import { EnvWatch } from "./env-watch.ts";
import {
  aSimulatedEnv,
  ceilingOf,
  envName,
  envTemplate,
  memberNames,
  type PluginMood,
  quotaOf,
  replicasIn,
  simulatedPlugin,
  withOtherBounds,
} from "./envs.ts";
import { follow, type Follower } from "./follow.ts";
import type { Judge } from "./judge.ts";
import { namespace, type PoolGoal } from "./pools.ts";
import type { SeededRandom } from "./random.ts";
import type { ReplicaWatch } from "./replica-watch.ts";
import type { Trace } from "./trace.ts";

export interface EnvWorldDeps {
  readonly store: ObjectStore;
  readonly clock: SteppedClock;
  readonly judge: Judge;
  readonly trace: Trace;
  readonly replicas: ReplicaWatch;
  readonly pods: () => readonly Pod[];
  /** What is wanted of pools now, those of the Env included. */
  readonly goals: Map<string, PoolGoal>;
  /** Whether a team owns the Env and has a quota. */
  readonly hasQuota: boolean;
}

export function isMember(pool: string): boolean {
  return memberNames.some((member) => member === pool);
}

export class EnvWorld {
  readonly watch: EnvWatch;
  readonly #deps: EnvWorldDeps;
  readonly #mood: PluginMood = { most: Infinity, isBroken: false };
  /** The most that any maximum and the plugin ever allowed a member. */
  readonly #mostOfMember = new Map<string, number>();
  #ceilings: ReadonlyMap<string, number> = new Map();

  constructor(deps: EnvWorldDeps) {
    this.#deps = deps;
    this.watch = new EnvWatch(deps.judge, deps.pods, (pod) => deps.replicas.makerOf(pod));
  }

  get plugin() {
    return simulatedPlugin(this.#mood);
  }

  follow(world: Follower): void {
    const { clock, goals } = this.#deps;
    follow(world, SandboxEnvs, ({ type, object }) => {
      if (type === "DELETED") return;
      this.watch.see(object, clock.now());
      for (const [member, replicas] of replicasIn(object)) goals.set(member, { replicas, version: 1 });
    });
  }

  async make(random: SeededRandom): Promise<void> {
    const { store, trace } = this.#deps;
    this.setPlugin({ most: random.pick([1, 2, Infinity]) ?? Infinity, isBroken: false });
    await store.create(SandboxTemplates, envTemplate());
    if (this.#deps.hasQuota) {
      await store.create(ConfigMaps, quotaOf(Infinity));
      await this.setQuota(random.between(1, 4));
    }
    const env = await store.create(SandboxEnvs, aSimulatedEnv(random, this.#deps.hasQuota));
    trace.add("admin", `creates an Env in mode ${env.spec.autoscaling?.groups?.[0]?.scaleUpPolicy?.mode ?? ""}`);
    this.#wish(env);
  }

  /** An admin gives the Env other minima and maxima, on the Env as it is. */
  async change(random: SeededRandom): Promise<void> {
    const { store, trace } = this.#deps;
    const env = await store.get(SandboxEnvs, { namespace, name: envName });
    const changed = { ...env, spec: { ...env.spec, ...withOtherBounds(env, random) } };
    const { ofMember, ofGroup } = ceilingOf(changed);
    trace.add("admin", `changes the Env: at most ${ofGroup} pods, ${[...ofMember.values()].join(" and ")} of its members`);
    const body = { spec: changed.spec } as unknown as JsonObject; // What was read from the store is JSON.
    this.#wish(changed);
    await store.patch(SandboxEnvs, { namespace, name: envName }, { type: "merge", body });
  }

  /** An admin changes how many pods the Env's team may have. Pods that are there already stay. */
  async setQuota(pods: number): Promise<void> {
    const { store, trace, hasQuota } = this.#deps;
    if (!hasQuota) return;
    trace.add("admin", `lets the team of the Env have ${pods} pods`);
    this.watch.allow(pods);
    await store.update(ConfigMaps, quotaOf(pods));
  }

  setPlugin(mood: PluginMood): void {
    this.#deps.trace.add("plugin", mood.isBroken ? "is broken" : `admits ${mood.most} pods of a pool`);
    Object.assign(this.#mood, mood);
    for (const member of memberNames) this.#allow(member);
  }

  /** A pod was made: of a pool of the Env, or of another. */
  created(pod: Pod): void {
    const pool = poolOf(pod) ?? "";
    if (isMember(pool)) this.watch.created(pod, this.#mostOfMember.get(pool) ?? 0);
  }

  #wish(env: SandboxEnv): void {
    this.watch.wish(env);
    this.#ceilings = ceilingOf(env).ofMember;
    for (const [member, most] of this.#ceilings) {
      this.#deps.replicas.want(member, most);
      this.#allow(member);
    }
  }

  #allow(member: string): void {
    const most = Math.min(this.#ceilings.get(member) ?? 0, this.#mood.isBroken ? 0 : this.#mood.most);
    this.#mostOfMember.set(member, Math.max(most, this.#mostOfMember.get(member) ?? 0));
  }
}
