/** What this process knows of one pod beyond what is on the machine and in the store; see PodMemoryView. */
import type {
  CreateFailure,
  FreezeFailed,
  PodMemoryView,
  ProbeKind,
  ProbeResults,
  ProbeVerdict,
  PullState,
  Retry,
  StartFailure,
  StopProgress,
} from "../plan/observed.ts";
import type { BackoffEntry } from "../plan/restart-backoff.ts";

export class PodMemory implements PodMemoryView {
  readonly pulls = new Map<string, PullState>();
  readonly createFailures = new Map<string, CreateFailure>();
  readonly startFailures = new Map<string, StartFailure>();
  readonly stops = new Map<string, StopProgress>();
  readonly postStarts = new Map<string, "running" | "done" | "failed">();
  readonly probes = new Map<string, ProbeResults>();
  readonly lastWords = new Map<string, string>();
  readonly backoffs = new Map<string, BackoffEntry>();
  slotFailure: Retry | undefined;
  freezeFailed: FreezeFailed | undefined;
  mountFailed: FreezeFailed | undefined;
  /** When the pod was first seen, if no agent had begun to start it; undefined once it has been ready. */
  newSince: number | undefined;
  readonly #abort = new AbortController();

  /** Ends with the pod: pulls and hooks that go on in the background follow it. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Notes a change in a container's stop; one that has not begun has nothing to note. */
  noteStop(id: string, change: Partial<StopProgress>): void {
    const progress = this.stops.get(id);
    if (progress !== undefined) this.stops.set(id, { ...progress, ...change });
  }

  noteProbe(id: string, kind: ProbeKind, verdict: ProbeVerdict): void {
    this.probes.set(id, { ...this.probes.get(id), [kind]: verdict });
  }

  /** Forgets containers that are no longer on the machine. */
  keepOnly(ids: ReadonlySet<string>): void {
    for (const map of [this.startFailures, this.stops, this.postStarts, this.probes, this.lastWords]) {
      for (const id of map.keys()) if (!ids.has(id)) map.delete(id);
    }
  }

  end(): void {
    this.#abort.abort(new Error("the pod is gone from this node"));
  }
}
