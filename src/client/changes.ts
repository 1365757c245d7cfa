/** All changes of the caller's objects as one stream, which reconnects after a failure and continues where it was. */
import type { SandboxEnv } from "#model/sandbox-env.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import { isClientError } from "./client-error.ts";
import type { HttpCaller } from "./http-caller.ts";
import type { Sandbox } from "./sandbox-types.ts";

export type Change =
  /** List everything now: all later changes follow. */
  | { readonly kind: "start" }
  | { readonly kind: "sandbox"; readonly sandbox: Sandbox }
  /** It has ended: its record is in the history. */
  | { readonly kind: "sandbox-ended"; readonly sandboxId: string }
  | { readonly kind: "pool"; readonly pool: SandboxPool }
  | { readonly kind: "pool-deleted"; readonly namespace: string; readonly name: string }
  | { readonly kind: "env"; readonly env: SandboxEnv }
  | { readonly kind: "env-deleted"; readonly namespace: string; readonly name: string };

export interface ChangeListener {
  readonly onChanges: (changes: readonly Change[]) => void;
  /** Whether the stream is open now. */
  readonly onState: (isLive: boolean) => void;
}

const [firstDelayMs, longestDelayMs] = [500, 10_000];

/** Resolves when the signal is aborted. Rejects if the server refuses: without a valid key, retrying is useless. */
export async function followChanges(http: HttpCaller, listener: ChangeListener, signal: AbortSignal): Promise<void> {
  let seen: string | undefined;
  for (let delayMs = firstDelayMs; !signal.aborted;) {
    try {
      const headers = seen === undefined ? {} : { "last-event-id": seen };
      const { body } = await http.answer({ method: "GET", path: "/v1/events", headers, signal });
      listener.onState(true);
      for await (const events of serverSentEvents(body)) {
        delayMs = firstDelayMs;
        seen = events.at(-1)?.id ?? seen;
        listener.onChanges(events.map(({ name, data }) => ({ kind: name, ...(JSON.parse(data) as object) }) as Change));
      }
    } catch (error) {
      if (isClientError(error, "unauthenticated", "forbidden")) throw error;
    }
    if (signal.aborted) return;
    listener.onState(false);
    await wait(delayMs, signal);
    delayMs = Math.min(2 * delayMs, longestDelayMs);
  }
}

export interface ServerSentEvent {
  readonly id: string | undefined;
  readonly name: string;
  readonly data: string;
}

/** Groups events that arrived together, without comments. */
export async function* serverSentEvents(body: ReadableStream<Uint8Array> | null): AsyncGenerator<readonly ServerSentEvent[], void> {
  if (body === null) return;
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let rest = "";
  try {
    for (let turn = await reader.read(); !turn.done; turn = await reader.read()) {
      const blocks = (rest + decoder.decode(turn.value, { stream: true })).split("\n\n");
      rest = blocks.pop() ?? "";
      const events = blocks.flatMap(eventIn);
      if (events.length > 0) yield events;
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

function eventIn(block: string): readonly ServerSentEvent[] {
  const fields = new Map<string, string>();
  for (const line of block.split("\n")) {
    const [, name, value] = /^(\w+): ?(.*)$/.exec(line) ?? [];
    if (name !== undefined) fields.set(name, value ?? "");
  }
  const data = fields.get("data");
  return data === undefined ? [] : [{ id: fields.get("id"), name: fields.get("event") ?? "message", data }];
}

function wait(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
  });
}
