/** The agents on nodes, as an API process sees them: which sandboxes can be paused. */
import { createHash } from "node:crypto";
import { type MemberName, memberTiming, type MemberTiming } from "#kube/members/member-lease.ts";
import { Members } from "#kube/members/members.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import type { MonotonicClock } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import { clusterPace } from "./connect-cluster.ts";

const part = "node";

/** An agent that is replaced by a newer one is not missed: nothing that it froze needs it meanwhile. */
export const nodeAgentTiming: MemberTiming = { ...memberTiming, leaseMs: 60_000, renewMs: 15_000, staysOnStop: true };

/** The lease in which the agent of a node says that it is there. */
export function nodeAgentMember(namespace: string, nodeName: string): MemberName {
  return { namespace, name: leaseName(nodeName), part };
}

/** Names of objects are as long as names of nodes may be. */
function leaseName(nodeName: string): string {
  const name = `agentbox-node-${nodeName}`;
  return name.length <= 253 ? name : `agentbox-node-${createHash("sha256").update(nodeName).digest("hex")}`;
}

export interface NodeAgents extends AsyncDisposable {
  /** Whether the agent of this node is there; without a node: of any. */
  readonly freezes: (nodeName?: string) => boolean;
  run(signal: AbortSignal): Promise<void>;
}

export function followNodeAgents(deps: {
  readonly client: ObjectClient;
  readonly namespace: string;
  readonly clock: MonotonicClock;
  readonly log: Logger;
}): NodeAgents {
  const members = new Members(deps, { namespace: deps.namespace, part, pace: clusterPace });
  return {
    freezes: (nodeName) => members.live().some(({ name }) => nodeName === undefined || name === leaseName(nodeName)),
    run: (signal) => members.run(signal),
    [Symbol.asyncDispose]: () => members.stop(),
  };
}
