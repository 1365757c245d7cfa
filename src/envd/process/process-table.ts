import type { Clock } from "#lib/clock.ts";
import { ConnectError } from "#envd/connect/connect-error.ts";
import type { ProcessSelector } from "#envd-protocol/process-messages.ts";
import type { RunningProcess } from "./running-process.ts";

/** How long the result of an ended process is kept. */
const endKeptMs = 30_000;

/** The processes started by this daemon, while they run and for a short time after. */
export class ProcessTable {
  readonly #processes = new Map<number, RunningProcess>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get running(): readonly RunningProcess[] {
    return [...this.#processes.values()].filter(({ end }) => end === undefined);
  }

  add(process: RunningProcess): void {
    this.#processes.set(process.pid, process);
    void process.ended.then(() =>
      this.#clock.after(endKeptMs, () => {
        // The pid may belong to another process by now.
        if (this.#processes.get(process.pid) === process) this.#processes.delete(process.pid);
      }),
    );
  }

  /** Also finds a process that ended recently. Throws ConnectError. */
  find(selector: ProcessSelector | undefined): RunningProcess {
    const { pid, tag } = selector ?? {};
    if (pid === undefined && tag === undefined) throw new ConnectError("unimplemented", "a process is selected by its pid or its tag");
    const found = pid === undefined ? this.#newest(tag) : this.#processes.get(pid);
    if (found !== undefined) return found;
    throw new ConnectError("not_found", pid === undefined ? `process with tag ${tag} not found` : `process with pid ${pid} not found`);
  }

  /** Throws ConnectError. */
  findRunning(selector: ProcessSelector | undefined): RunningProcess {
    const found = this.find(selector);
    if (found.end !== undefined) throw new ConnectError("not_found", `process ${found.pid} has ended: ${found.end.status}`);
    return found;
  }

  #newest(tag: string | undefined): RunningProcess | undefined {
    return [...this.#processes.values()].findLast((process) => process.tag === tag);
  }
}
