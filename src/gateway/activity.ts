/**
 * The time of each sandbox's latest traffic, as this gateway saw it. A request or open stream counts as traffic while it lasts (W21). Reading and updating
 * cost the same for any number of sandboxes; `activity-writer.ts` writes it to the pods.
 */
import type { Clock } from "#lib/clock.ts";
import { sandboxIdOf } from "#model/claimed-pod.ts";
import type { Pod } from "#model/pod.ts";
import type { Activity } from "#sandbox/end.ts";
import type { LastActiveSource } from "#sandbox/last-active-source.ts";

export interface Traffic {
  readonly open: number;
  readonly lastMs: number;
}

export type TrafficListener = (sandboxId: string, pod: Pod) => void;

export class TrafficLog implements LastActiveSource {
  readonly #clock: Clock;
  readonly #traffic = new Map<string, { open: number; lastMs: number }>();
  /** Open requests without access to the sandbox: they do not count as use. */
  readonly #strangers = new Map<string, number>();
  #onTraffic: TrafficListener = () => {};

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Called at every beginning and end. */
  follow(listener: TrafficListener): void {
    this.#onTraffic = listener;
  }

  /** Notes the beginning of traffic; the returned function notes its end and may be called more than once. */
  begin(sandboxId: string, pod: Pod): () => void {
    const traffic = this.#traffic.get(sandboxId) ?? { open: 0, lastMs: 0 };
    this.#traffic.set(sandboxId, traffic);
    traffic.open++;
    this.#note(sandboxId, pod, traffic);
    let isOpen = true;
    return () => {
      if (!isOpen) return;
      isOpen = false;
      traffic.open--;
      this.#note(sandboxId, pod, traffic);
    };
  }

  /** Like `begin` for a request without access: counted while open, but not as use of the sandbox. */
  beginStranger(sandboxId: string): () => void {
    this.#countStrangers(sandboxId, 1);
    let isOpen = true;
    return () => {
      if (isOpen) this.#countStrangers(sandboxId, -1);
      isOpen = false;
    };
  }

  strangersOf(sandboxId: string): number {
    return this.#strangers.get(sandboxId) ?? 0;
  }

  of(sandboxId: string): Traffic | undefined {
    return this.#traffic.get(sandboxId);
  }

  forget(sandboxId: string): void {
    // Requests that are still open note their end on an object that is dropped here.
    this.#traffic.delete(sandboxId);
  }

  async activityOf(pod: Pod): Promise<Activity> {
    const traffic = this.#traffic.get(sandboxIdOf(pod) ?? "");
    return traffic === undefined
      ? { kind: "known", inUse: false }
      : { kind: "known", inUse: traffic.open > 0, lastActiveMs: traffic.lastMs };
  }

  #countStrangers(sandboxId: string, by: number): void {
    const open = this.strangersOf(sandboxId) + by;
    if (open > 0) this.#strangers.set(sandboxId, open);
    else this.#strangers.delete(sandboxId);
  }

  #note(sandboxId: string, pod: Pod, traffic: { lastMs: number }): void {
    traffic.lastMs = Math.max(traffic.lastMs, this.#clock.now());
    this.#onTraffic(sandboxId, pod);
  }
}
