/**
 * Runs the probes of containers.
 *
 * - `prober.ts`        which probes run
 * - `probe-worker.ts`  one probe of one container: when it is asked
 * - `tally.ts`         what its answers mean
 * - `ask.ts`, `pod-network.ts`   how it is asked
 */
import type { Random } from "#lib/backoff.ts";
import type { ProbeTarget } from "../plan/action.ts";
import type { ProbeVerdict } from "../plan/observed.ts";
import type { AskDeps } from "./ask.ts";
import { ProbeWorker } from "./probe-worker.ts";

export interface ProberDeps extends AskDeps {
  readonly random: Random;
}

/** Receives the results of a pod's probes. */
export interface ProbeListener {
  /** The verdict has changed. */
  onVerdict(target: ProbeTarget, verdict: ProbeVerdict): void;
  /** One answer was bad; it may not change the verdict yet. */
  onFailure(target: ProbeTarget, output: string): void;
}

export class Prober {
  readonly #deps: ProberDeps;
  /** By pod, then by container and kind. */
  readonly #pods = new Map<string, Map<string, ProbeWorker>>();

  constructor(deps: ProberDeps) {
    this.#deps = deps;
  }

  /** From now on exactly these probes of the pod run. One that runs already goes on undisturbed. */
  sync(uid: string, targets: readonly ProbeTarget[], listener: ProbeListener): void {
    const workers = this.#pods.get(uid) ?? new Map<string, ProbeWorker>();
    const wanted = new Map(targets.map((target) => [`${target.id} ${target.kind}`, target]));
    for (const [key, worker] of workers) {
      if (wanted.has(key)) continue;
      worker.stop();
      workers.delete(key);
    }
    for (const [key, target] of wanted) {
      if (!workers.has(key)) workers.set(key, new ProbeWorker(this.#deps, target, listener));
    }
    if (workers.size === 0) this.#pods.delete(uid);
    else this.#pods.set(uid, workers);
  }

  forget(uid: string): void {
    for (const worker of this.#pods.get(uid)?.values() ?? []) worker.stop();
    this.#pods.delete(uid);
  }

  stop(): void {
    for (const uid of this.#pods.keys()) this.forget(uid);
  }
}
