/** What an attack works with: one tenant of a server, its key, and what it makes there. */
import { AgentBoxClient } from "#client/agentbox-client.ts";

export interface Answered {
  readonly status: number;
  readonly code: string;
  readonly message: string;
}

type Headers = Readonly<Record<string, string>>;

interface Asked {
  readonly headers?: Headers;
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
}

export interface AttackerOptions {
  readonly url: string;
  readonly apiKey: string;
  /** A registry that the administrator allows: the attacker puts images of its own there. */
  readonly registry: string;
}

export class Attacker {
  readonly url: string;
  readonly apiKey: string;
  readonly registry: string;
  readonly client: AgentBoxClient;

  constructor({ url, apiKey, registry }: AttackerOptions) {
    this.url = url;
    this.apiKey = apiKey;
    this.registry = registry;
    this.client = new AgentBoxClient({ url, apiKey });
  }

  /** Any request. A refusal is an answer: most attacks end with one. */
  async ask(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<Answered> {
    return await this.answered(this.stream(method, path, { body, signal }));
  }

  /** What an answer says, read to its end. */
  async answered(asked: Promise<Response>): Promise<Answered> {
    const answer = await asked;
    const { code = "", message = "" } = (await answer.json().catch(() => ({}))) as { code?: string; message?: string };
    return { status: answer.status, code, message };
  }

  /** The answer to any request, still to be read. */
  stream(method: string, path: string, { headers = {}, body, signal }: Asked): Promise<Response> {
    return fetch(`${this.url}${path}`, {
      method,
      headers: { "x-api-key": this.apiKey, "content-type": "application/json", ...headers },
      body: body === undefined ? null : JSON.stringify(body),
      signal: signal ?? null,
    });
  }

  /** A sandbox of the pool that all tenants share. */
  async sandbox(): Promise<string> {
    const wish = { poolName: "base", startupTimeout: "30s", lifetime: "10m" };
    return (await this.client.sandboxes.create(wish)).sandbox.sandboxId;
  }
}

/** Runs until the signal, and answers in a sentence what the attacker got. */
export interface Attack {
  readonly name: string;
  readonly run: (attacker: Attacker, signal: AbortSignal) => Promise<string>;
}

/** Counts answers by what they said. */
export class Tally {
  readonly #counts = new Map<string, number>();
  #lastRefusal = "";

  /** Waits for an answer and counts it; a request that was given up counts too. */
  async count(answer: Promise<Answered>): Promise<void> {
    try {
      const { status, code, message } = await answer;
      this.add(status < 300 ? "granted" : `${status} ${code}`);
      if (status >= 300) this.#lastRefusal = message;
    } catch (error) {
      this.add((error as Error).name);
    }
  }

  add(what: string): void {
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + 1);
  }

  toString(): string {
    const counts = [...this.#counts].map(([what, count]) => `${count} × ${what}`).join(", ");
    return this.#lastRefusal === "" ? counts : `${counts}; last: ${this.#lastRefusal.slice(0, 160)}`;
  }
}

/** The same thing over and over, several at once, until the signal; at most so many rounds, so that it ends by itself. */
export async function again(
  signal: AbortSignal,
  { parallel, rounds }: { readonly parallel: number; readonly rounds: number },
  what: (round: number) => Promise<void>,
): Promise<void> {
  let round = 0;
  const worker = async (): Promise<void> => {
    while (!signal.aborted && round < rounds) await what(round++);
  };
  await Promise.all(Array.from({ length: parallel }, worker));
  await untilAborted(signal);
}

export function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}
