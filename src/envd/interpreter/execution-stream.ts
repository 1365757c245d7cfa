/** The answer to one execution: a line of JSON for each event, and a keep-alive line when there is nothing else. */
import type { ServerResponse } from "node:http";
import type { Clock, Timer } from "#lib/clock.ts";
import { asciiJson } from "./ascii-json.ts";
import type { ExecuteListener } from "./context.ts";
import type { Kernel, StreamName } from "./kernel.ts";
import { eventOf, type ExecutionEvent, type RunnerMessage } from "./runner-message.ts";

const keepAliveMs = 5000;

export class ExecutionStream implements ExecuteListener {
  readonly #response: ServerResponse;
  readonly #clock: Clock;
  readonly #gone = new AbortController();
  #timer: Timer | undefined;
  #kernel: Kernel | undefined;

  constructor(response: ServerResponse, clock: Clock) {
    this.#response = response;
    this.#clock = clock;
    response.writeHead(200, { "content-type": "application/x-ndjson", "cache-control": "no-store" });
    response.flushHeaders();
    response.on("drain", () => this.#kernel?.hold(false));
    response.on("close", () => {
      this.#timer?.cancel();
      if (!response.writableFinished) this.#gone.abort();
    });
    this.#wait();
  }

  /** Aborted when the client disconnects. */
  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  started(count: number): void {
    this.#send({ type: "number_of_executions", execution_count: count });
  }

  running(kernel: Kernel): void {
    this.#kernel = kernel;
  }

  output(name: StreamName, text: string): void {
    // Clients expect the time in nanoseconds.
    if (text !== "") this.#send({ type: name, text, timestamp: this.#clock.now() * 1e6 });
  }

  message(message: RunnerMessage): void {
    const event = eventOf(message);
    if (event !== undefined) this.#send(event);
  }

  failed(name: string, value: string): void {
    this.#send({ type: "error", name, value, traceback: `${name}: ${value}` });
  }

  end(): void {
    this.#kernel = undefined;
    this.#send({ type: "end_of_execution" });
    this.#timer?.cancel();
    this.#response.end();
  }

  #send(event: ExecutionEvent): void {
    if (this.#gone.signal.aborted) return;
    const isTaken = this.#response.write(asciiJson(event));
    if (!isTaken) this.#kernel?.hold(true);
    this.#wait();
  }

  #wait(): void {
    this.#timer?.cancel();
    this.#timer = this.#clock.after(keepAliveMs, () => this.#send({ type: "keepalive" }));
  }
}
