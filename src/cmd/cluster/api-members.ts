/** The API processes of this installation, as this process sees them. */
import { MemberLease } from "#kube/members/member-lease.ts";
import { Members } from "#kube/members/members.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import type { MonotonicClock } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import { smoothed } from "#lib/smoothed.ts";
import { clusterPace } from "./connect-cluster.ts";

export interface ApiMembersDeps {
  readonly client: ObjectClient;
  readonly namespace: string;
  readonly identity: string;
  readonly clock: MonotonicClock;
  readonly log: Logger;
}

export interface ApiMembers extends AsyncDisposable {
  readonly members: Members;
  /** The lease of this process, if it is one of them. */
  readonly ownName: string;
  /** Says that this process is one of them. */
  join(): MemberLease;
  /** How many share the requests, this one included. */
  readonly count: () => number;
  run(signal: AbortSignal): Promise<void>;
}

const part = "api";
/** A process more or less changes the shares of all others; not at once, or a restart of each would be felt by every client. */
const sharesMoveOverMs = 5_000;

export function openApiMembers(deps: ApiMembersDeps): ApiMembers {
  const { namespace, identity, clock } = deps;
  const ownName = `agentbox-api-${identity}`;
  const members = new Members(deps, { namespace, part, pace: clusterPace });
  let last = 1;
  const counted = (): number => {
    const names = [...members.live()].map(({ name }) => name);
    // A process that does not see itself has lost sight of the others too: the last known number stays valid.
    if (names.includes(ownName)) last = names.length;
    return last;
  };
  return {
    members,
    ownName,
    join: () => new MemberLease(deps, { namespace, name: ownName, part }),
    count: smoothed(counted, clock, sharesMoveOverMs),
    run: (signal) => members.run(signal),
    [Symbol.asyncDispose]: () => members.stop(),
  };
}
