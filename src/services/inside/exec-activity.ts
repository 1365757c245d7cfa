/**
 * Commands and terminals that this process runs in sandboxes count as traffic while they are open (W21). Traffic from before the start of the process is
 * unknown, so until enough time has passed every sandbox counts as used: a restart ends no sandbox.
 */
import type { Clock } from "#lib/clock.ts";
import { sandboxIdOf } from "#model/claimed-pod.ts";
import type { Pod } from "#model/pod.ts";
import type { Activity } from "#sandbox/end.ts";
import type { LastActiveSource } from "#sandbox/last-active-source.ts";

interface Use {
  readonly open: number;
  readonly lastActiveMs: number;
}

/** What was used longest ago is forgotten first; by then its sandbox has ended, or its idle timeout is measured in days. */
const remembered = 50_000;

export class ExecActivity implements LastActiveSource {
  readonly #clock: Clock;
  readonly #beganMs: number;
  readonly #uses = new Map<string, Use>();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#beganMs = clock.now();
  }

  /** Call what it returns when the use is over. */
  begin(sandboxId: string): () => void {
    this.#note(sandboxId, 1);
    let isOver = false;
    return () => {
      if (!isOver) this.#note(sandboxId, -1);
      isOver = true;
    };
  }

  async activityOf(pod: Pod): Promise<Activity> {
    const use = this.#uses.get(sandboxIdOf(pod) ?? "");
    if (use === undefined) return { kind: "known", inUse: false, lastActiveMs: this.#beganMs };
    return { kind: "known", inUse: use.open > 0, lastActiveMs: use.lastActiveMs };
  }

  #note(sandboxId: string, by: number): void {
    const open = (this.#uses.get(sandboxId)?.open ?? 0) + by;
    // Set anew, so that the order of the map is that of the latest use.
    this.#uses.delete(sandboxId);
    this.#uses.set(sandboxId, { open, lastActiveMs: this.#clock.now() });
    if (this.#uses.size > remembered) this.#forgetOne();
  }

  #forgetOne(): void {
    for (const [sandboxId, { open }] of this.#uses) {
      if (open > 0) continue;
      this.#uses.delete(sandboxId);
      return;
    }
  }
}
