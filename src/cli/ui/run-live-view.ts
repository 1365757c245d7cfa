/** The live view: reads from the server every two seconds, and performs the actions of keys. */
import type { AgentBoxClient } from "#client/agentbox-client.ts";
import { sleep } from "#lib/clock.ts";
import { liveSandboxStatuses } from "#model/sandbox-record.ts";
import { apiClient, apiPlace } from "../api-client.ts";
import type { CliContext } from "../context.ts";
import { failureText } from "../failure-text.ts";
import { Arguments } from "../flags.ts";
import { collectSandboxes } from "../sandbox/collect-sandboxes.ts";
import { recentEvents } from "../sandbox/recent-events.ts";
import { runTerminal } from "../sandbox/run-terminal.ts";
import { screenLines } from "./live-screen.ts";
import { type Effect, firstState, type LiveData, type LiveState, press, selectedSandbox } from "./live-state.ts";
import { type LiveView, openLiveView } from "./live-view.ts";

const lookMs = 2000;
const eventsMs = 3_600_000;

export async function runLiveView(context: CliContext): Promise<number> {
  const [client, { url }] = [await apiClient(context), await apiPlace(context)];
  const live = new LiveSession(context, client, url);
  await live.run();
  return 0;
}

class LiveSession {
  readonly #context: CliContext;
  readonly #client: AgentBoxClient;
  readonly #stop = new AbortController();
  #data: LiveData;
  #state: LiveState = firstState;
  #logs: readonly string[] = [];
  #view: LiveView | undefined;
  #shell: string | undefined;
  #wake: () => void = () => {};

  constructor(context: CliContext, client: AgentBoxClient, server: string) {
    this.#context = context;
    this.#client = client;
    this.#data = { server, sandboxes: [], envs: [], events: [], failure: undefined };
  }

  async run(): Promise<void> {
    const { signal } = this.#context;
    signal.addEventListener("abort", () => this.#quit(), { once: true });
    const looking = this.#look();
    this.#view = openLiveView({ lines: this.#lines, onPress: this.#press, hasColors: (this.#context.env["NO_COLOR"] ?? "") === "" });
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    await this.#view.close();
    this.#view = undefined;
    // From here the shell has the terminal, and the view ends with the shell.
    this.#stop.abort();
    if (this.#shell !== undefined) await this.#runShell(this.#shell);
    await looking;
  }

  readonly #lines = (rows: number) => screenLines(this.#data, this.#state, { rows, now: this.#context.clock.now(), logs: this.#logs });

  readonly #press = (pressed: Parameters<typeof press>[2]): void => {
    const { state, effect } = press(this.#data, this.#state, pressed);
    this.#state = state;
    if (effect !== undefined) this.#act(effect);
    this.#view?.draw();
  };

  #act(effect: Effect): void {
    if (effect.kind === "quit") this.#quit();
    else if (effect.kind === "shell") {
      this.#shell = effect.id;
      this.#wake();
    } else if (effect.kind === "end") void this.#try(this.#client.sandboxes.end(effect.id, this.#stop.signal), `Ended ${effect.id}`);
    else if (effect.kind === "logs") void this.#readLogs(effect.id);
    // The terminal's escape sequence for its clipboard (OSC 52), which works over SSH.
    else this.#context.stdout.write(`\u001b]52;c;${Buffer.from(effect.id).toString("base64")}\u0007`);
  }

  #quit(): void {
    this.#stop.abort();
    this.#wake();
  }

  async #runShell(id: string): Promise<void> {
    await runTerminal(this.#context, { sandboxes: this.#client.sandboxes, id }, [], new Arguments([], new Map()));
  }

  async #try(work: Promise<unknown>, done: string): Promise<void> {
    const message = await work.then(
      () => done,
      (error: unknown) => failureText(error).trim(),
    );
    this.#state = { ...this.#state, message };
    this.#view?.draw();
  }

  async #look(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        this.#data = { ...this.#data, ...(await this.#seen()), failure: undefined };
        const chosen = selectedSandbox(this.#data, this.#state);
        if (this.#state.mode === "logs" && chosen !== undefined) await this.#readLogs(chosen.sandboxId);
      } catch (error) {
        this.#data = { ...this.#data, failure: failureText(error).trim() };
      }
      this.#view?.draw();
      await sleep(this.#context.clock, lookMs, signal).catch(() => {});
    }
  }

  async #seen(): Promise<Omit<LiveData, "server" | "failure">> {
    const context = { ...this.#context, signal: this.#stop.signal };
    const { sandboxes, envs } = this.#client;
    const [{ found }, allEnvs, events] = await Promise.all([
      collectSandboxes(context, sandboxes, { status: liveSandboxStatuses }, Infinity),
      envs.list(undefined, context.signal),
      recentEvents(context, this.#client, context.clock.now() - eventsMs),
    ]);
    return { sandboxes: found, envs: allEnvs, events };
  }

  async #readLogs(id: string): Promise<void> {
    this.#logs = await this.#client.sandboxes.logs(id, { tail: 200 }, this.#stop.signal).then(
      ({ lines }) => (lines.length === 0 ? ["The main program has written nothing yet."] : lines),
      (error: unknown) => [failureText(error).trim()],
    );
    this.#view?.draw();
  }
}
