/**
 * Counts the pods that one leader created for a pool against the number ever wanted (I6): a leader that loses count creates pods that exist already. Pods
 * of earlier leaders may not be visible to it yet, however late its watch is, and so its own pods from an earlier term. A pod whose creation was not
 * confirmed is excused, too. In these cases there may be too many pods for a while, but not in the end.
 */
import { poolOf } from "#model/claimed-pod.ts";
import type { Pod } from "#model/pod.ts";
import type { Judge } from "./judge.ts";

export class ReplicaWatch {
  readonly #judge: Judge;
  readonly #wanted = new Map<string, number>();
  readonly #trying = new Set<string>();
  readonly #excused = new Map<string, number>();
  /** Maps each pod to its creator. */
  readonly #makers = new Map<string, string>();
  #creations = 0;

  constructor(judge: Judge) {
    this.#judge = judge;
  }

  /** How many pods were ever created: no more of them once everything is as it should be. */
  get creations(): number {
    return this.#creations;
  }

  want(pool: string, replicas: number): void {
    this.#wanted.set(pool, Math.max(replicas, this.#wanted.get(pool) ?? 0));
  }

  /** A changed template is tried on one pod more. */
  tries(pool: string): void {
    this.#trying.add(pool);
  }

  excuse(pool: string): void {
    this.#excused.set(pool, (this.#excused.get(pool) ?? 0) + 1);
  }

  /** Process that made it, and for which time it led. */
  makerOf({ metadata: { name = "" } }: Pod): string | undefined {
    return this.#makers.get(name);
  }

  made(pod: string, maker: string): void {
    this.#makers.set(pod, maker);
  }

  see(pods: readonly Pod[], created: Pod | undefined): void {
    if (created === undefined) return;
    this.#creations += 1;
    const pool = poolOf(created);
    if (pool === undefined) return;
    const maker = this.#makers.get(created.metadata.name ?? "");
    const isOfSameMaker = (pod: Pod): boolean => this.#makers.get(pod.metadata.name ?? "") === maker;
    const living = pods.filter((pod) => poolOf(pod) === pool && isLiving(pod) && isOfSameMaker(pod)).length;
    const most = (this.#wanted.get(pool) ?? 0) + (this.#trying.has(pool) ? 1 : 0) + (this.#excused.get(pool) ?? 0);
    this.#judge.hold("I6", living <= most, () => `${maker ?? "nobody"} made ${living} pods for ${pool}; ${most} can be explained`);
  }
}

export function isLiving({ metadata, status }: Pod): boolean {
  return metadata.deletionTimestamp === undefined && status?.phase !== "Failed" && status?.phase !== "Succeeded";
}
