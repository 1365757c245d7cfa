/**
 * Which idle pods of an earlier template go now. Those that cannot be claimed go at once; of the others only so many that enough stay ready,
 * so the next goes when a replacement has become ready. A template whose pods do not become ready stops there, with most of the old ones
 * still to be claimed. Claimed pods are never touched: they are judged when they come back.
 */
import type { PodNote } from "./pod-note.ts";

export interface RolloutSituation {
  /** Hash of the template that pods are made from now. */
  readonly templateHash: string;
  /** Pods that are still to be made; they will be idle. */
  readonly missing: number;
  readonly unready: ReadonlyNotes;
  /** The longest idle first. */
  readonly ready: ReadonlyNotes;
  /** Share of the idle pods that may be missing at a time; one always may. */
  readonly maxUnavailable: number;
}

interface ReadonlyNotes {
  readonly size: number;
  oldestFirst(): IteratorObject<PodNote, undefined>;
}

export function planRollout({ templateHash, missing, unready, ready, maxUnavailable }: RolloutSituation): readonly PodNote[] {
  const isOutdated = (note: PodNote): boolean => note.templateHash !== templateHash;
  const unavailable = missing + unready.size;
  const budget = Math.max(1, Math.floor((unavailable + ready.size) * maxUnavailable)) - unavailable;
  const gone = unready.oldestFirst().filter(isOutdated).toArray();
  return budget <= 0 ? gone : [...gone, ...ready.oldestFirst().filter(isOutdated).take(budget)];
}
