/**
 * Counts the pods of each pool against what was ever wanted (I6). A control plane that loses count creates pods that it has already.
 * It may be excused for a pod of whose creation it was not told, or which somebody sent before he died; such a pod is known here.
 */
import { poolOf } from "#model/claimed-pod.ts";
import type { Pod } from "#model/pod.ts";
import type { Judge } from "./judge.ts";

export class ReplicaWatch {
  readonly #judge: Judge;
  readonly #wanted = new Map<string, number>();
  readonly #excused = new Map<string, number>();
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

  excuse(pool: string): void {
    this.#excused.set(pool, (this.#excused.get(pool) ?? 0) + 1);
  }

  see(pods: readonly Pod[], created: Pod | undefined): void {
    if (created === undefined) return;
    this.#creations += 1;
    const pool = poolOf(created);
    if (pool === undefined) return;
    const living = pods.filter((pod) => poolOf(pod) === pool && isLiving(pod)).length;
    const most = (this.#wanted.get(pool) ?? 0) + (this.#excused.get(pool) ?? 0);
    this.#judge.hold("I6", living <= most, () => `pool ${pool} has ${living} pods; at most ${most} can be explained`);
  }
}

export function isLiving({ metadata, status }: Pod): boolean {
  return metadata.deletionTimestamp === undefined && status?.phase !== "Failed" && status?.phase !== "Succeeded";
}
