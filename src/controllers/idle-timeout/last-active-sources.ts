/**
 * Who knows of a sandbox's traffic where no gateway does. Which of them is meant is for the composition to say: the one ends sandboxes,
 * the other does not.
 */
import type { LastActiveSource } from "#sandbox/last-active-source.ts";

/**
 * All traffic that there is stands on the pod: whoever serves it writes the annotation, and nobody else could have seen any. A sandbox
 * without it is idle since it was claimed.
 */
export const annotatedActivity: LastActiveSource = { activityOf: async () => ({ kind: "known", inUse: false }) };

/** There is traffic that nobody here sees. Idle timeouts wait until somebody does; end times hold. */
export const unseenActivity: LastActiveSource = { activityOf: async () => ({ kind: "unknown" }) };
