/**
 * Keeps the log of a sandbox that has ended, before its pod forgets it. The record matters more: what cannot be read within moments is left out, and never
 * holds up a pod.
 */
import { endsWithin, type Clock } from "#lib/clock.ts";
import { GrowingBuffer } from "#lib/growing-buffer.ts";
import type { Logger } from "#lib/log.ts";
import type { Key } from "#kube/controller/key.ts";
import { formatKey } from "#kube/controller/key.ts";
import type { PodAccess } from "#kube/pod-access.ts";
import { sandboxIdOf } from "#model/claimed-pod.ts";
import { labelKeys } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import { claimTime } from "#sandbox/sandbox-base.ts";
import type { LogStore } from "#store/logs/log-store.ts";
import { type KeptLog, planKeptLog } from "./plan-kept-log.ts";

export interface LogKeeperDeps {
  readonly pods: Pick<PodAccess, "readLogs">;
  readonly store: Pick<LogStore, "put" | "trim">;
  readonly clock: Clock;
  readonly log: Logger;
  /** Of each sandbox. */
  readonly maxBytes: number;
}

export const defaultKeptLogBytes = 1024 * 1024;
/** So many logs of full size are kept of each team. */
const sandboxesPerTeam = 256;
const trimEvery = 50;
const patienceMs = 3000;
/** A node keeps about so much of a container's log; a log that is longer is read no further. */
const mostRead = 64 * 1024 * 1024;

export class LogKeeper {
  readonly #deps: LogKeeperDeps;
  /** What was kept of the pods that were looked at: a pod is looked at several times while it stops. */
  readonly #kept = new Map<string, { readonly life: string; readonly isLast: boolean }>();
  readonly #puts = new Map<string, number>();

  constructor(deps: LogKeeperDeps) {
    this.#deps = deps;
  }

  /** Never throws. `plan`: for a caller that knows more of the container. */
  async keep(pod: Pod, plan: KeptLog | undefined = planKeptLog(pod)): Promise<void> {
    const sandboxId = sandboxIdOf(pod);
    if (plan === undefined || sandboxId === undefined) return;
    const { namespace, name = "", uid = "" } = pod.metadata;
    const key = formatKey({ namespace, name });
    const life = [uid, sandboxId, claimTime(pod)].join("/");
    const before = this.#kept.get(key);
    // The log of the container that was exchanged is the last one of its sandbox.
    if (before?.life === life && (before.isLast || !plan.previous)) return;
    this.#kept.set(key, { life, isLast: plan.previous });
    const stop = new AbortController();
    const kept = this.#keep(pod, { ...plan, sandboxId }, stop.signal).catch((error: unknown) => {
      this.#deps.log.info({ sandboxId, pod: name, error }, "the log of an ended sandbox could not be kept");
    });
    if (!(await endsWithin(kept, this.#deps.clock, patienceMs))) stop.abort(new Error("reading the log took too long"));
  }

  forget(key: Key): void {
    this.#kept.delete(formatKey(key));
  }

  async #keep(pod: Pod, wanted: Wanted, signal: AbortSignal): Promise<void> {
    const { store, clock } = this.#deps;
    const { text, truncated } = await this.#read(pod, wanted, signal);
    if (text.length === 0 || signal.aborted) return;
    const { labels = {} } = pod.metadata;
    const [team, user] = [labels[labelKeys.team] ?? "", labels[labelKeys.user] ?? ""];
    const { sandboxId, container } = wanted;
    await store.put({ sandboxId, team, user, container, keptAt: new Date(clock.now()).toISOString(), truncated, text });
    const puts = (this.#puts.get(team) ?? 0) + 1;
    this.#puts.set(team, puts % trimEvery);
    if (puts === trimEvery) await store.trim(team, sandboxesPerTeam * this.#deps.maxBytes);
  }

  async #read(
    pod: Pod,
    { container, previous }: Wanted,
    signal: AbortSignal,
  ): Promise<{ readonly text: Buffer; readonly truncated: boolean }> {
    const { pods, clock, maxBytes } = this.#deps;
    const { namespace, name = "" } = pod.metadata;
    const sinceMs = Math.max(0, clock.now() - Date.parse(claimTime(pod)));
    const end = new GrowingBuffer();
    let read = 0;
    for await (const piece of pods.readLogs({ pod: { namespace, name }, container, sinceMs, previous, signal })) {
      read += piece.length;
      end.add(piece);
      // Twice the size, so that a long log is not copied with every piece.
      if (end.size > 2 * maxBytes) end.drop(end.size - maxBytes);
      if (read > mostRead) break;
    }
    const text = end.bytes();
    return text.length > maxBytes ? { text: wholeLines(text, maxBytes), truncated: true } : { text, truncated: read > text.length };
  }
}

interface Wanted {
  readonly sandboxId: string;
  readonly container: string;
  readonly previous: boolean;
}

/** The end of it, from the beginning of a line. */
function wholeLines(text: Buffer, maxBytes: number): Buffer {
  const end = text.subarray(text.length - maxBytes);
  const line = end.indexOf(10);
  return line === -1 ? end : end.subarray(line + 1);
}
