/** A context runs code and keeps the names that earlier code defined. Its process starts at first use. */
import type { Clock, Timer } from "#lib/clock.ts";
import type { ExecutionListener, Kernel } from "./kernel.ts";
import type { Execution, Language } from "./languages.ts";

export interface ContextFacts {
  readonly id: string;
  readonly language: Language;
  readonly cwd: string;
}

export interface ExecuteListener extends ExecutionListener {
  /** Number of the execution, from 1. */
  started(count: number): void;
  /** Pauses the running code. */
  running(kernel: Kernel): void;
  failed(name: string, value: string): void;
}

/** Code may take an interrupt for something else. */
const interruptAgainMs = 1000;

export class Context {
  readonly facts: ContextFacts;
  readonly #clock: Clock;
  readonly #start: () => Promise<Kernel>;
  #kernel: Promise<Kernel> | undefined;
  #count = 0;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(facts: ContextFacts, clock: Clock, start: () => Promise<Kernel>) {
    this.facts = facts;
    this.#clock = clock;
    this.#start = start;
  }

  /** Runs executions one after the other. If a client leaves before its turn, its execution is skipped; if it leaves later, the execution is interrupted. */
  execute(execution: Execution, listener: ExecuteListener, gone: AbortSignal): Promise<void> {
    const mine = this.#turn.then(() => (gone.aborted ? undefined : this.#execute(execution, listener, gone)));
    this.#turn = mine.catch(() => undefined);
    return mine;
  }

  /** Ends the process and drops all names; the next execution starts a new one. */
  async restart(): Promise<void> {
    const kernel = await this.#kernel?.catch(() => undefined);
    this.#forget();
    kernel?.kill();
  }

  async #execute(execution: Execution, listener: ExecuteListener, gone: AbortSignal): Promise<void> {
    const kernel = await this.#alive().catch((error: unknown) => {
      this.#forget();
      listener.failed("ContextError", error instanceof Error ? error.message : String(error));
      return undefined;
    });
    if (kernel === undefined) return;
    this.#count += 1;
    listener.started(this.#count);
    listener.running(kernel);
    let again: Timer | undefined;
    const interrupt = (): void => {
      kernel.hold(false);
      kernel.interrupt();
      again = this.#clock.after(interruptAgainMs, interrupt);
    };
    gone.addEventListener("abort", interrupt, { once: true });
    if (gone.aborted) interrupt();
    const how = await kernel.run(execution, listener);
    gone.removeEventListener("abort", interrupt);
    again?.cancel();
    kernel.hold(false);
    if (how === "ended") return;
    listener.failed("ContextEnded", `the process of this context has ended (${await kernel.died}); the next execution starts a new one`);
  }

  async #alive(): Promise<Kernel> {
    const known = await this.#kernel;
    if (known !== undefined && !known.isDead) return known;
    known?.kill();
    this.#forget();
    this.#kernel = this.#start();
    return this.#kernel;
  }

  #forget(): void {
    this.#kernel = undefined;
    this.#count = 0;
  }
}
