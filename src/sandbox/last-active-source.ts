import type { Pod } from "#model/pod.ts";
import type { Activity } from "./end.ts";

/** A source of a sandbox's traffic: a gateway in this process, or several elsewhere. */
export interface LastActiveSource {
  /** Asked seldom, so it may take its time. Never throws: what cannot be found out is unknown, and unknown activity ends nothing. */
  activityOf(pod: Pod): Promise<Activity>;
}

/** All sources together: traffic seen by any of them counts, and if one does not know, the answer is unknown. */
export function joinedSources(sources: readonly LastActiveSource[]): LastActiveSource {
  return {
    activityOf: async (pod) => joinedActivity(await Promise.all(sources.map((source) => source.activityOf(pod)))),
  };
}

export function joinedActivity(seen: readonly Activity[]): Activity {
  const known = seen.filter((activity) => activity.kind === "known");
  if (known.length < seen.length) return { kind: "unknown" };
  const times = known.flatMap(({ lastActiveMs }) => (lastActiveMs === undefined ? [] : [lastActiveMs]));
  const inUse = known.some((activity) => activity.inUse);
  return times.length === 0 ? { kind: "known", inUse } : { kind: "known", inUse, lastActiveMs: Math.max(...times) };
}
