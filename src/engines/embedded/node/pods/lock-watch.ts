/**
 * Keeps sandboxes from filling the machine's memory with locks of files (linux/held-locks.ts says why nothing else can). Once a second the
 * machine's number is looked at. When it has grown by many, pods are looked through one by one, and those with more than their share are killed.
 */
import type { Clock, Timer } from "#lib/clock.ts";
import { Limiter } from "#lib/limiter.ts";
import type { Logger } from "#lib/log.ts";

export interface LockedPod {
  readonly uid: string;
  /** Of the pod's processes, file by file. */
  readonly locks: () => AsyncIterable<number>;
  /** Ends it as one that took too much memory. */
  readonly kill: () => Promise<void>;
}

export interface LockWatchDeps {
  readonly clock: Clock;
  readonly log: Logger;
  /** Of the whole machine; undefined where the kernel does not say. */
  readonly locksOfMachine: () => Promise<number | undefined>;
  readonly pods: () => Iterable<LockedPod>;
}

const everyMs = 1000;
/** A lock takes 192 bytes: 20 MB. */
export const manyMore = 100_000;
/** Databases take some dozens. */
export const mostLocks = 16_384;
/** A sandbox can have so many open files that counting takes minutes. */
const lookMs = 5000;
/** Files are read by few threads, which others need too. */
const podsAtOnce = 2;

type Look = "fine" | "over" | "unknown";

export class LockWatch {
  readonly #deps: LockWatchDeps;
  /** How many there were when no pod had too many. */
  #calm = Infinity;
  #timer: Timer | undefined;
  #looking: Promise<void> = Promise.resolve();

  constructor(deps: LockWatchDeps) {
    this.#deps = deps;
    this.#later();
  }

  async close(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = undefined;
    await this.#looking;
  }

  #later(): void {
    this.#timer = this.#deps.clock.after(everyMs, () => {
      this.#looking = this.#look();
    });
  }

  async #look(): Promise<void> {
    const { locksOfMachine, log } = this.#deps;
    try {
      const count = await locksOfMachine();
      if (count === undefined) {
        log.warn({}, "the kernel does not say how many locks of files there are: sandboxes can fill the machine's memory with them");
        return;
      }
      await this.#judge(count);
    } catch (error) {
      log.warn({ error }, "could not look at locks of files");
    }
    if (this.#timer !== undefined) this.#later();
  }

  async #judge(count: number): Promise<void> {
    this.#calm = Math.min(this.#calm, count);
    if (count - this.#calm < manyMore) return;
    const tooMany = await this.#podsOverShare();
    if (tooMany.length === 0) {
      this.#deps.log.warn({ ofMachine: count, before: this.#calm }, "there are many more locks of files, and no sandbox has too many");
      this.#calm = count;
    }
    for (const { uid } of tooMany) {
      this.#deps.log.warn({ pod: uid, most: mostLocks, ofMachine: count }, "a sandbox has too many locks of files, and is killed");
    }
    await Promise.all(tooMany.map(({ kill }) => kill()));
  }

  /** Where no pod is known to have too many, it is those that could not be looked through. */
  async #podsOverShare(): Promise<readonly LockedPod[]> {
    const limiter = new Limiter(podsAtOnce);
    const pods = [...this.#deps.pods()];
    const looks = await Promise.all(pods.map((pod) => limiter.run(() => this.#lookThrough(pod))));
    const those = (look: Look): LockedPod[] => pods.filter((_, index) => looks[index] === look);
    const over = those("over");
    return over.length > 0 ? over : those("unknown");
  }

  async #lookThrough(pod: LockedPod): Promise<Look> {
    const until = this.#deps.clock.now() + lookMs;
    let held = 0;
    for await (const more of pod.locks()) {
      held += more;
      if (held > mostLocks) return "over";
      if (this.#timer === undefined) return "fine";
      if (this.#deps.clock.now() > until) return "unknown";
    }
    return "fine";
  }
}
