/**
 * Which surplus idle pods to delete. Pods that cannot be claimed go first and at once; then the longest idle (W19). Each is marked first and deleted after
 * the protection window, in which a request may still claim it (W16). Marks that are no longer needed are removed.
 */
import type { PodNote } from "#controllers/pool/pod-note.ts";

export interface ScaleDownSituation {
  /** How many pods there are too many; nothing or less: no pod has to go. */
  readonly surplus: number;
  /** Idle pods that cannot be claimed. */
  readonly unready: Iterable<PodNote>;
  /** Idle pods that can, the longest idle first. Marked ones may be among them. */
  readonly ready: Iterable<PodNote>;
  readonly marked: Iterable<PodNote>;
  readonly windowMs: number;
  readonly now: number;
}

export interface ScaleDownPlan {
  readonly mark: readonly PodNote[];
  readonly unmark: readonly PodNote[];
  readonly remove: readonly PodNote[];
  /** When the next mark is old enough. */
  readonly againInMs: number | undefined;
}

export function planScaleDown(situation: ScaleDownSituation): ScaleDownPlan {
  const { windowMs, now } = situation;
  let left = Math.max(0, situation.surplus);
  const remove = take(situation.unready, left);
  left -= remove.length;
  // Pods chosen first stay chosen: changing the choice would restart the window again and again.
  const marked = [...situation.marked].filter(({ isReady }) => isReady).sort((one, other) => markedAt(one, now) - markedAt(other, now));
  const stay = marked.slice(0, left);
  left -= stay.length;
  const chosen = take(unmarked(situation.ready, left), left);
  const isDue = (note: PodNote): boolean => markedAt(note, now) + windowMs <= now;
  const waiting = stay.filter((note) => !isDue(note));
  return {
    mark: windowMs === 0 ? [] : [...waiting.filter((note) => note.marked?.atMs === undefined), ...chosen],
    unmark: [...marked.slice(stay.length), ...unmarkable(situation, remove)],
    remove: [...remove, ...stay.filter(isDue), ...(windowMs === 0 ? chosen : [])],
    againInMs: soonest([...waiting.map((note) => markedAt(note, now) + windowMs - now), ...(chosen.length > 0 ? [windowMs] : [])]),
  };
}

/** A mark with a time in the future, or an unreadable one, begins now. */
function markedAt({ marked }: PodNote, now: number): number {
  return Math.min(marked?.atMs ?? now, now);
}

/** Marked pods that cannot be claimed any more keep their place: their window would end before a request could use it. */
function unmarkable({ marked }: ScaleDownSituation, removed: readonly PodNote[]): readonly PodNote[] {
  return [...marked].filter((note) => !note.isReady && !removed.includes(note));
}

function* unmarked(notes: Iterable<PodNote>, wanted: number): Generator<PodNote, undefined> {
  if (wanted === 0) return;
  for (const note of notes) if (note.marked === undefined) yield note;
}

function take<T>(items: Iterable<T>, count: number): readonly T[] {
  return count <= 0 ? [] : Iterator.from(items).take(count).toArray();
}

function soonest(times: readonly number[]): number | undefined {
  return times.length === 0
    ? undefined
    : Math.max(
        1,
        times.reduce((first, time) => Math.min(first, time)),
      );
}
