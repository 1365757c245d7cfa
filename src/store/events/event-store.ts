/**
 * The port to events of sandboxes and to their deliveries, in the database of the history.
 * - E1 An event is stored once, by its id, however often it is appended. Events of a sandbox keep the order in which they were stored.
 * - E2 A delivery that was begun stays until it succeeded or was given up, also when processes die meanwhile.
 * - E3 Of the deliveries of one webhook for one sandbox, only the oldest is due.
 */
import type { SandboxEvent, SandboxEventType } from "#model/sandbox-event.ts";
import type { HistoryScope } from "../history-store.ts";

export interface EventQuery {
  readonly scope: HistoryScope;
  readonly sandboxId?: string;
  readonly types?: readonly SandboxEventType[];
  readonly offset: number;
  /** 1 to 100. */
  readonly limit: number;
  readonly order: "newest" | "oldest";
}

export interface Delivery {
  readonly id: number;
  readonly webhook: string;
  /** Number of attempts so far. */
  readonly attempts: number;
  readonly event: SandboxEvent;
}

export interface DeliveryView extends Delivery {
  readonly state: "pending" | "dead";
  /** When it is tried next, left out where others of its sandbox come before it; of a dead one, when it was given up. ISO 8601. */
  readonly dueAt?: string;
  readonly lastError?: string;
}

export interface FailedDelivery {
  readonly attempts: number;
  readonly dueMs: number;
  readonly error: string;
  /** Given up: it stays visible, and the later deliveries of its sandbox go on. */
  readonly isDead: boolean;
}

export interface Begun {
  /** Those of them that have no event of their end. */
  readonly unended: readonly string[];
  /** The last one that was looked at; undefined: there are no more. */
  readonly last: string | undefined;
}

/** Every method may throw a HistoryError. */
export interface EventStore {
  /** Stores the event and a delivery for each webhook, but for those of which very many wait. What is there already stays as it is. Resolves when it outlives this process. */
  append(event: SandboxEvent, webhooks: readonly string[]): Promise<void>;
  /** The newest events of one sandbox, newest first. */
  newestOf(sandboxId: string, limit: number): Promise<readonly SandboxEvent[]>;
  /** Looks at so many sandboxes that have an event of their beginning, in the order of their ids, behind `after`. */
  begun(after: string, limit: number): Promise<Begun>;
  list(query: EventQuery): Promise<readonly SandboxEvent[]>;
  /** Deliveries of one webhook whose time has come. */
  due(webhook: string, nowMs: number, limit: number): Promise<readonly Delivery[]>;
  /** When the next delivery of one webhook is due, of those that come later than `afterMs`; undefined: there is none. */
  nextDueMs(webhook: string, afterMs: number): Promise<number | undefined>;
  delivered(id: number): Promise<void>;
  failed(id: number, failure: FailedDelivery): Promise<void>;
  /** What is not delivered of a webhook, oldest first. */
  undelivered(webhook: string, limit: number): Promise<readonly DeliveryView[]>;
  dropWebhook(webhook: string): Promise<void>;
  /** Those that have deliveries, also given up ones. */
  webhooks(): Promise<readonly string[]>;
  /** Makes the oldest delivery of each sandbox due that waits for one that a process removed before it died. */
  repair(webhook: string): Promise<void>;
  /** Forgets events from before this moment that are delivered or given up; resolves with how many. */
  prune(olderThanMs: number, limit: number): Promise<number>;
  /** Forgets the oldest events of teams that have more than `most`, but for those that are still to be delivered; resolves with how many. */
  trim(most: number, limit: number): Promise<number>;
}
