import type { Pod } from "#model/pod.ts";
import type { Activity } from "./end.ts";

/** Whoever sees a sandbox's traffic: a gateway in this process, or several elsewhere. */
export interface LastActiveSource {
  /** Asked seldom, so it may take its time. Never throws: what cannot be found out is unknown, and unknown activity ends nothing. */
  activityOf(pod: Pod): Promise<Activity>;
}
