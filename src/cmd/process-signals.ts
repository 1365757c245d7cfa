/** The signals that this process is sent: they end it, unless a command that runs elsewhere takes them. */
import type { ExecSignal } from "#model/exec-signals.ts";

type Taker = (name: ExecSignal) => void;

/** So many are passed on to a command. A command that does not end by them shall not keep its user. */
const passedOn = 2;

export class ProcessSignals {
  readonly #stop = new AbortController();
  #taker: Taker | undefined;
  #passed = 0;

  constructor() {
    for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(name, () => this.#on(name));
  }

  /** Aborted when this process is to end. */
  get ended(): AbortSignal {
    return this.#stop.signal;
  }

  /** Undefined: no command takes signals any more. */
  passTo(taker: Taker | undefined): void {
    this.#taker = taker;
    this.#passed = 0;
  }

  #on(name: "SIGINT" | "SIGTERM" | "SIGHUP"): void {
    if (this.#taker !== undefined && this.#passed < passedOn) {
      this.#passed += 1;
      this.#taker(name);
      return;
    }
    // A second signal means that its sender does not want to wait for an orderly end.
    if (this.ended.aborted) process.exit(130);
    this.#stop.abort(new Error(`ended by ${name}`));
  }
}
