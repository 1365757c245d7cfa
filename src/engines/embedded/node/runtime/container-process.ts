/** The first process of a container, watched from outside. This process of the node may have started it, or an earlier one. */
import { HeldProcess, type ProcessExit, type ProcessIdentity, type Signal } from "#engines/embedded/node/linux/processes.ts";

/** Reported when the code is unknown: it ended while no node ran, or it was another process's child on an old kernel. */
const unknownExit: ProcessExit = { code: 255 };

export class ContainerProcess {
  readonly #held: HeldProcess | undefined;
  readonly #ended: Promise<ProcessExit>;
  #exit: ProcessExit | undefined;

  constructor(identity: ProcessIdentity) {
    this.#held = HeldProcess.hold(identity);
    if (this.#held === undefined) this.#exit = unknownExit;
    this.#ended = this.#watch(this.#held);
  }

  /** How it ended; undefined while it runs. */
  get exit(): ProcessExit | undefined {
    return this.#exit;
  }

  /** Resolves when it has ended. */
  get ended(): Promise<ProcessExit> {
    return this.#ended;
  }

  signal(signal: Signal): void {
    if (this.#exit === undefined) this.#held?.signal(signal);
  }

  /** Stops watching. */
  release(): void {
    this.#held?.release();
  }

  async #watch(held: HeldProcess | undefined): Promise<ProcessExit> {
    if (held === undefined) return unknownExit;
    await new Promise<void>((resolve) => held.onEnd(resolve));
    // It may be collected by its parent between two of the ways to ask; then the first way knows.
    this.#exit = held.readExit() ?? held.readExit() ?? unknownExit;
    held.release();
    return this.#exit;
  }
}
