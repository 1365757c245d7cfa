/**
 * What must hold of an Env, whatever happens:
 *
 * - E1 bounds: no more pods than maxima and plugins allow, and in the end no fewer than minima ask for;
 * - E2 no swinging: under steady load the number changes its direction at most once in a window, and grows by steps no faster than
 *   its policy says;
 * - E3 every request that fits under the ceiling is served;
 * - E4 what an admin wrote stays as it was written (W3);
 * - E5 quota: no more pods than the quota of its team allows.
 */
import { isDeepStrictEqual } from "node:util";
import { isClaimed, poolOf } from "#model/claimed-pod.ts";
import type { Pod } from "#model/pod.ts";
import type { SandboxEnv } from "#model/sandbox-env.ts";
import { ceilingOf, memberNames, replicasIn, swingWindowMs } from "./envs.ts";
import type { Judge } from "./judge.ts";
import { isLiving } from "./replica-watch.ts";

interface Change {
  readonly atMs: number;
  readonly by: number;
}

export class EnvWatch {
  readonly #judge: Judge;
  readonly #pods: () => readonly Pod[];
  readonly #makers: (pod: Pod) => string | undefined;
  #env: SandboxEnv | undefined;
  #wish: object | undefined;
  /** The most that any maximum ever allowed: pods that were made under a higher one may stay. */
  #mostOfGroup = 0;
  /** The largest quota that its team ever had. */
  #mostOfTeam: number | undefined;
  #excused = 0;
  #creations = 0;
  #changes: Change[] = [];
  #lastStepMs = new Map<string, number>();
  /** Since when the load is steady; undefined while it is not. */
  #steadySinceMs: number | undefined;

  constructor(judge: Judge, pods: () => readonly Pod[], makers: (pod: Pod) => string | undefined) {
    this.#judge = judge;
    this.#pods = pods;
    this.#makers = makers;
  }

  /** How many pods were ever made for it. */
  get creations(): number {
    return this.#creations;
  }

  get env(): SandboxEnv | undefined {
    return this.#env;
  }

  /** An admin has written this. */
  wish(env: SandboxEnv): void {
    this.#wish = wishOf(env);
    this.#mostOfGroup = Math.max(this.#mostOfGroup, ceilingOf(env).ofGroupAlone);
  }

  /** Its team may have so many pods. */
  allow(pods: number): void {
    this.#mostOfTeam = Math.max(this.#mostOfTeam ?? 0, pods);
  }

  /** The sender of a pod will not know of it, or not in time. */
  excuse(): void {
    this.#excused += 1;
  }

  beginSteadyLoad(nowMs: number): void {
    this.#steadySinceMs = nowMs;
    this.#changes = [];
    this.#lastStepMs = new Map();
  }

  see(env: SandboxEnv, nowMs: number): void {
    const before = this.#env;
    this.#env = env;
    this.#judge.hold(
      "E4",
      this.#wish === undefined || isDeepStrictEqual(wishOf(env), this.#wish),
      () => `the Env is not what its admin wrote: ${JSON.stringify(wishOf(env))} instead of ${JSON.stringify(this.#wish)}`,
    );
    if (before !== undefined && this.#steadySinceMs !== undefined) this.#seeChange(before, env, nowMs);
  }

  #seeChange(before: SandboxEnv, env: SandboxEnv, nowMs: number): void {
    const [old, now] = [replicasIn(before), replicasIn(env)];
    const by = sum(now) - sum(old);
    if (by !== 0) this.#changes.push({ atMs: nowMs, by });
    const inWindow = this.#changes.filter(({ atMs }) => nowMs - atMs < swingWindowMs);
    const turns = inWindow.filter((change, index) => index > 0 && Math.sign(change.by) !== Math.sign(inWindow[index - 1]?.by ?? 0)).length;
    this.#judge.hold("E2", turns <= 1, () => `the number of pods changed ${turns} times its direction within ${swingWindowMs} ms`);
    for (const [member, replicas] of now) if (replicas > (old.get(member) ?? 0)) this.#seeGrowth(env, { member, replicas }, nowMs);
  }

  /** What runs, and what minima ask for, may come at any time; a step may not. */
  #seeGrowth(env: SandboxEnv, { member, replicas }: { member: string; replicas: number }, nowMs: number): void {
    const { mode, coolMs, least, leastOfAll } = rulesFor(env, member);
    const claimed = this.#living(member).filter(isClaimed).length;
    const isStep = replicas > claimed && replicas > least && sum(replicasIn(env)) > leastOfAll;
    if (!isStep || mode === "Demand") return;
    const since = nowMs - (this.#lastStepMs.get(member) ?? -Infinity);
    this.#lastStepMs.set(member, nowMs);
    // Times in a status are whole seconds, and clocks differ by as much.
    const isLate = since >= coolMs - 2_000;
    this.#judge.hold("E2", isLate, () => `${member} grew by a step ${since} ms after the last one, and ${coolMs} is the least`);
  }

  /** A pod of one of its members was made. */
  created(pod: Pod, mostOfPool: number): void {
    this.#creations += 1;
    const pool = poolOf(pod) ?? "";
    const maker = this.#makers(pod);
    const own = (member: string): number => this.#living(member).filter((one) => this.#makers(one) === maker).length;
    const all = memberNames.reduce((count, member) => count + own(member), 0);
    const most = this.#mostOfGroup + this.#excused;
    this.#judge.hold("E1", all <= most, () => `${maker ?? "?"} made ${all} pods for the Env; ${most} can be explained`);
    const quota = (this.#mostOfTeam ?? Infinity) + this.#excused;
    this.#judge.hold("E5", all <= quota, () => `${maker ?? "?"} made ${all} pods for a team that may have ${quota}`);
    const [there, allowed] = [own(pool), mostOfPool + this.#excused];
    this.#judge.hold("E1", there <= allowed, () => `${maker ?? "?"} made ${there} pods for ${pool}; ${allowed} can be explained`);
  }

  /** Undefined when minima are kept. */
  whyNotSettled(): string | undefined {
    const env = this.#env;
    const group = env?.spec.autoscaling?.groups?.[0];
    if (env === undefined || group?.enabled !== true) return undefined;
    const replicas = replicasIn(env);
    const { ofMember, ofGroup } = ceilingOf(env);
    const least = Math.min(group.minReplicas ?? 0, ofGroup);
    if (sum(replicas) < least) return `E1: the group wants ${sum(replicas)} pods, and its minimum is ${least}`;
    const above = [...replicas].find(([member, count]) => count > (ofMember.get(member) ?? Infinity));
    return above === undefined ? undefined : `E1: ${above[0]} wants ${above[1]} pods, which is above its maximum`;
  }

  /** The group has as many pods as it may have. */
  isFull(): boolean {
    if (this.#env === undefined) return false;
    return memberNames.reduce((all, member) => all + this.#living(member).length, 0) >= ceilingOf(this.#env).ofGroupAlone;
  }

  /** So many more requests fit under the ceiling. */
  room(): number {
    if (this.#env?.spec.autoscaling?.groups?.[0]?.enabled !== true) return 0;
    const { ofMember, ofGroup } = ceilingOf(this.#env);
    const busy = memberNames.map((member) => this.#living(member).filter((pod) => isClaimed(pod)).length);
    const free = memberNames.reduce((rooms, member, index) => rooms + Math.max(0, (ofMember.get(member) ?? 0) - (busy[index] ?? 0)), 0);
    return Math.max(0, Math.min(free, ofGroup - busy.reduce((all, one) => all + one, 0)));
  }

  #living(member: string): readonly Pod[] {
    return this.#pods().filter((pod) => poolOf(pod) === member && isLiving(pod));
  }
}

/** What belongs to people: one list of groups, and the members' configs. */
function wishOf({ spec }: SandboxEnv): object {
  const members = (spec.clusters ?? []).flatMap((cluster) => (cluster.members ?? []).map(({ name, config }) => ({ name, config })));
  return { members, autoscaling: spec.autoscaling, overrides: spec.overrides, templateRef: spec.templateRef };
}

function sum(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((all, one) => all + one, 0);
}

interface GrowthRules {
  readonly mode: string;
  readonly coolMs: number;
  readonly least: number;
  readonly leastOfAll: number;
}

function rulesFor({ spec }: SandboxEnv, member: string): GrowthRules {
  const { scaleUpPolicy = {}, minReplicas: leastOfAll = 0 } = spec.autoscaling?.groups?.[0] ?? {};
  const { mode = "Default", cooldownSeconds = 0 } = scaleUpPolicy;
  return { mode, coolMs: cooldownSeconds * 1000, least: leastOf(spec, member), leastOfAll };
}

function leastOf({ clusters = [] }: SandboxEnv["spec"], member: string): number {
  const members = clusters.flatMap((cluster) => cluster.members ?? []);
  return members.find(({ name }) => name === member)?.config?.minReplicas ?? 0;
}
