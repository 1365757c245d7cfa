import type { Place } from "#lib/lanes.ts";
import { labelKeys } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";

/** Undefined if the pool is of no team, or not known. */
export type TeamOfPool = (pool: { readonly namespace: string; readonly name: string }) => string | undefined;

/** So many pods are started, or looked at, at once; as many others are removed at once. */
const mostOfAll = 16;
/** More would only take the processors of a usual machine from each other. */
const mostOfOwner = 8;
/** Of all places, so many are for owners that have none. */
const keptForOthers = 4;

/**
 * What working on a pod takes of the node. Pods of one owner never have all places, however long each takes: its images may be made for that.
 * Two owners that work together never have all of them either: the last ones go to owners that have none. Where many owners work together
 * the lanes' turns bound the wait: each place comes free by the deadline of the runtime's commands, and goes to the next owner in turn.
 * Removals have places of their own, because they are what gives a full machine its room back.
 */
export function podPlaces(pod: Pod | undefined, teamOfPool?: TeamOfPool): readonly Place[] {
  const work = pod === undefined || pod.metadata.deletionTimestamp !== undefined ? "removals" : "starts";
  const own = `${work} of ${ownerOf(pod, teamOfPool)}`;
  return [
    { name: work, most: mostOfAll, kept: { count: keptForOthers, unless: own } },
    { name: own, most: mostOfOwner },
  ];
}

/** The team that has claimed the pod, or else that of its pool. */
export function teamOf({ metadata }: Pick<Pod, "metadata">, teamOfPool?: TeamOfPool): string | undefined {
  const { namespace = "", labels = {} } = metadata;
  const team = labels[labelKeys.team] ?? teamOfPool?.({ namespace, name: labels[labelKeys.sandboxPool] ?? "" });
  return team === "" ? undefined : team;
}

/** The team of the pod, or of its pool; else the pool, or the pod itself. Of an object that is gone nothing is known. */
export function ownerOf(pod: Pick<Pod, "metadata"> | undefined, teamOfPool?: TeamOfPool): string {
  if (pod === undefined) return "objects that are gone";
  const { namespace = "", name, labels = {} } = pod.metadata;
  const pool = labels[labelKeys.sandboxPool] ?? "";
  const team = teamOf(pod, teamOfPool);
  if (team !== undefined) return `team ${team}`;
  return pool === "" ? `pod ${namespace}/${name}` : `pool ${namespace}/${pool}`;
}
