/**
 * Slots that are made ahead, so that no pod waits for its namespaces. Siblings: slot.ts makes and removes one,
 * mount-id-maps.ts has the maps for its mounts.
 *
 * S1 Namespaces are used once: user and network namespace and port are made anew for every pod, and for every container that
 *    takes another's place in one. What is new cannot hold anything of the last user (keyrings, closed connections, settings,
 *    neighbours, measurements of peers).
 * S2 The number of a slot, and with it the address and the ids, is used again as late as possible: the last user's
 *    connections have been forgotten by then, and the kernel has had time to remove the port.
 */
import type { Clock, Timer } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import { hasCode } from "#lib/native/files.ts";
import type { Slot } from "./slot.ts";

export interface SlotPoolOptions {
  /** How many slots there can be. */
  readonly slots: number;
  /** How many are kept ready. */
  readonly ahead: number;
  readonly make: (index: number) => Promise<Slot>;
  readonly remove: (slot: Slot) => void;
  readonly clock: Clock;
  readonly log: Logger;
}

interface Waiter {
  readonly resolve: (slot: Slot) => void;
  readonly reject: (error: unknown) => void;
}

const retryMs = 1000;
const calmMs = 100;

export class SlotPool {
  readonly #options: SlotPoolOptions;
  readonly #ready: Slot[] = [];
  readonly #waiters: Waiter[] = [];
  /** Numbers without a slot, the one that was given back longest ago first. */
  readonly #free: number[];
  #making: Promise<void> | undefined;
  #timer: Timer | undefined;
  #closed = false;

  /** `taken`: numbers of slots that pods hold already. */
  constructor(options: SlotPoolOptions, taken: ReadonlySet<number>) {
    this.#options = options;
    this.#free = Array.from({ length: options.slots }, (_, index) => index).filter((index) => !taken.has(index));
    this.#refill();
  }

  /** A slot for one pod; it is made now if none is ready. */
  take(): Promise<Slot> {
    const ready = this.#ready.shift();
    if (ready !== undefined) {
      this.#refillSoon();
      return Promise.resolve(ready);
    }
    const made = new Promise<Slot>((resolve, reject) => this.#waiters.push({ resolve, reject }));
    this.#refill();
    return made;
  }

  /** Removes a slot that a pod had. */
  giveBack(slot: Slot): void {
    this.#options.remove(slot);
    if (!this.#free.includes(slot.index)) this.#free.push(slot.index);
    this.#refillSoon();
  }

  /** Removes what is ready and stops. Slots of pods stay. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#timer?.cancel();
    await this.#making;
    for (const slot of this.#ready.splice(0)) this.#options.remove(slot);
    for (const waiter of this.#waiters.splice(0)) waiter.reject(new Error("the node is being closed"));
  }

  /** Not at once: the pod that took a slot starts a container now, and both would compete for the processors. */
  #refillSoon(): void {
    this.#timer?.cancel();
    if (!this.#closed) this.#timer = this.#options.clock.after(calmMs, () => this.#refill());
  }

  #refill(): void {
    if (this.#making !== undefined || this.#closed || !this.#wanted()) return;
    this.#timer?.cancel();
    this.#making = this.#make();
  }

  async #make(): Promise<void> {
    try {
      await this.#makeWhileWanted();
    } catch (error) {
      this.#making = undefined;
      this.#failed(error);
      return;
    }
    this.#making = undefined;
    // A pod may have taken a slot after the last check.
    this.#refill();
  }

  #wanted(): boolean {
    return this.#waiters.length > 0 || (this.#ready.length < this.#options.ahead && this.#free.length > 0);
  }

  async #makeWhileWanted(): Promise<void> {
    // Each number is tried once: while its old port is going away there are others to try.
    for (let tries = this.#free.length; this.#wanted() && !this.#closed; tries--) {
      const index = tries > 0 ? this.#free.shift() : undefined;
      if (index === undefined) throw new Error(`all ${this.#options.slots} slots of this node are in use`);
      const slot = await this.#tryMake(index);
      if (slot === undefined) continue;
      tries = this.#free.length + 1;
      const waiter = this.#waiters.shift();
      if (waiter === undefined) this.#ready.push(slot);
      else waiter.resolve(slot);
    }
  }

  async #tryMake(index: number): Promise<Slot | undefined> {
    try {
      return await this.#options.make(index);
    } catch (error) {
      this.#free.push(index);
      if (hasCode(error, "EEXIST")) return undefined;
      throw error;
    }
  }

  #failed(error: unknown): void {
    this.#options.log.warn({ error }, "could not make a slot");
    for (const waiter of this.#waiters.splice(0)) waiter.reject(error);
    if (!this.#closed) this.#timer = this.#options.clock.after(retryMs, () => this.#refill());
  }
}
