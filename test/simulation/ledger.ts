/** What really happened, kept by the world itself: what clients asked and were told, and what became of every sandbox. */
import type { SandboxRecord } from "#model/sandbox-record.ts";

export interface Request {
  /** `r1`, `r2`, …: in the sandbox's metadata, so that a pod shows its request. */
  readonly name: string;
  readonly tenant: string;
  readonly pool: string;
  /** The process that was asked. */
  readonly api: string;
  readonly sentAtMs: number;
  /** By when it must have ended (I9), unless its process could not. */
  readonly endsByMs: number;
  readonly abort: AbortController;
  /** Its sandbox may end by these. */
  hasIdleTimeout: boolean;
  hasLifetime: boolean;
  /** How often they were requested later, and how many of these are open or have an unknown outcome. */
  limitsAsked: number;
  limitsOpen: number;
  /** `lost`: the process died, and the outcome is unknown. */
  state: "pending" | "answered" | "failed" | "lost";
  sandboxId: string | undefined;
  error: unknown;
  isCanceled: boolean;
  /** Its process died after it had told of the failure, maybe before it gave back what it had taken. */
  isAbandoned: boolean;
  /** Its process was held while it waited: nothing can be said about when it ends. */
  isExcused: boolean;
}

/** A sandbox, from the moment in which a pod first carried its id. */
export interface Sandbox {
  readonly id: string;
  readonly podUid: string;
  readonly podName: string;
  readonly request: Request | undefined;
  /** A client asked for its end, with any answer. */
  isEndAsked: boolean;
  /** The client was told that it has ended. */
  isEndTold: boolean;
  /** The pod carries it no more, or is stopping. */
  hasEnded: boolean;
}

/** Something that the world did to a pod, which may end its sandbox. */
export type Blow = "container-ended" | "evicted" | "deleted" | "cut-off";

export class Ledger {
  readonly requests: Request[] = [];
  readonly sandboxes = new Map<string, Sandbox>();
  readonly records = new Map<string, SandboxRecord>();
  /** Uids of pools that were deleted: they take their pods along. */
  readonly endedPools = new Set<string>();
  readonly #blows = new Map<string, Set<Blow>>();

  request(name: string | undefined): Request | undefined {
    return this.requests.find((request) => request.name === name);
  }

  blow(podUid: string, what: Blow): void {
    const blows = this.#blows.get(podUid) ?? new Set<Blow>();
    this.#blows.set(podUid, blows.add(what));
  }

  wasHit(podUid: string, ...by: readonly Blow[]): boolean {
    const blows = this.#blows.get(podUid);
    return blows !== undefined && (by.length === 0 || by.some((blow) => blows.has(blow)));
  }

  /** What clients know to be theirs and have not ended. */
  held(): readonly Sandbox[] {
    return [...this.sandboxes.values()].filter((sandbox) => wasAnswered(sandbox) && !sandbox.hasEnded);
  }
}

/** A request whose first pod did not start is answered with another sandbox; no client ever knew the first one. */
export function wasAnswered({ id, request }: Sandbox): boolean {
  return request?.state === "answered" && request.sandboxId === id;
}
