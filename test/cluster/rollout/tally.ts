/** What the processes of a rollout run tell each other. */

/** Requests that are counted: each is one call of the SDK, which repeats by itself what it repeats for every user. */
export const requestKinds = [
  "create",
  "command",
  "kill",
  "create, simulated node",
  "call, simulated node",
  "kill, simulated node",
  "read",
  "short command",
  "connect again",
] as const;
export type RequestKind = (typeof requestKinds)[number];

export interface Failure {
  readonly kind: RequestKind;
  readonly why: string;
  readonly at: string;
}

export interface Trouble {
  readonly at: string;
  what: string;
}

export interface StreamTally {
  readonly kind: "command" | "WebSocket" | "HTTP";
  readonly breaks: number;
  /** Of those, how often it was there again. */
  readonly reconnects: number;
  readonly ticks: number;
  /** Numbers that should have arrived and did not: they were sent while no client was connected. */
  readonly missed: number;
  /** Numbers that came a second time, or out of order: there should be none. */
  readonly odd: number;
  /** Still ticking at the end. */
  readonly isAlive: boolean;
}

export interface Tally {
  readonly seconds: number;
  readonly asked: Readonly<Record<RequestKind, number>>;
  /** Not begun, because too many were under way. */
  readonly skipped: number;
  readonly failures: readonly Failure[];
  /** Answers of 400 and more and broken connections, whether or not the SDK coped with them. */
  readonly trouble: readonly Trouble[];
  readonly createMs: readonly number[];
  readonly simulatedCreateMs: readonly number[];
  /** Sandboxes that were created and ended. */
  readonly passing: readonly string[];
  /** Sandboxes that streams run in. */
  readonly staying: readonly string[];
  /** Those of them that did not have their processes any more. */
  readonly harmed: readonly string[];
  readonly streams: readonly StreamTally[];
}

export interface VisitorsOrder {
  readonly perSecond: number;
  /** The same of sandboxes in pods of the simulated node. */
  readonly simulatedPerSecond: number;
  readonly streams: number;
}

export type FromVisitors = { readonly kind: "settled" } | { readonly kind: "tally"; readonly tally: Tally };
