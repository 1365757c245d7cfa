/** Streams out of a sandbox that stay open for as long as they can, and are opened again when they break. */
import { WebSocket } from "ws";
import type { CommandHandle, Sandbox } from "../../conformance/sdk.ts";
import type { StreamTally } from "./tally.ts";

/** In a sandbox: a number twice a second. */
const ticking = `exec python3 -u -c 'import itertools, time
for tick in itertools.count():
    print(tick, flush=True)
    time.sleep(0.5)'`;

/** Port of ticks.py. */
export const ticksPort = 3000;

/** Numbers as they came. */
class Ticks {
  #rest = "";
  #last: number | undefined;
  #lastAt = performance.now();
  count = 0;
  missed = 0;
  odd = 0;

  readonly take = (text: string): void => {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) this.#take(Number(line));
  };

  /** Of a connection that is gone: what it did not say to the end is not continued by the next one. */
  cut(): void {
    this.#rest = "";
  }

  get isFresh(): boolean {
    return performance.now() - this.#lastAt < 3_000;
  }

  #take(tick: number): void {
    this.#lastAt = performance.now();
    this.count++;
    if (this.#last !== undefined && tick <= this.#last) this.odd++;
    else if (this.#last !== undefined) this.missed += tick - this.#last - 1;
    this.#last = tick;
  }
}

/** One way to be told ticks. Resolves with what resolves, or rejects, when it has ended. */
export type Open = (take: (text: string) => void) => Promise<{ readonly ended: Promise<unknown> }>;

/** Told of every attempt to be there again; resolves with whether it went well. */
export type Attempt = (open: () => Promise<unknown>) => Promise<boolean>;

export class LastingStream {
  readonly #kind: StreamTally["kind"];
  readonly #again: Open;
  readonly #attempt: Attempt;
  readonly #ticks = new Ticks();
  #breaks = 0;
  #reconnects = 0;
  #isOver = false;

  private constructor(kind: StreamTally["kind"], again: Open, attempt: Attempt) {
    this.#kind = kind;
    this.#again = again;
    this.#attempt = attempt;
  }

  /** `again`: as it is opened later, if that is another way. */
  static async start(kind: StreamTally["kind"], open: Open, attempt: Attempt, again: Open = open): Promise<LastingStream> {
    const stream = new LastingStream(kind, again, attempt);
    const { ended } = await open(stream.#ticks.take);
    void stream.#follow(ended);
    return stream;
  }

  end(): StreamTally {
    this.#isOver = true;
    const { count: ticks, missed, odd, isFresh: isAlive } = this.#ticks;
    return { kind: this.#kind, breaks: this.#breaks, reconnects: this.#reconnects, ticks, missed, odd, isAlive };
  }

  async #follow(first: Promise<unknown>): Promise<void> {
    for (let ended = first; ;) {
      await ended.catch(() => {});
      if (this.#isOver) return;
      this.#breaks++;
      this.#ticks.cut();
      let next: Promise<unknown> | undefined;
      const isThere = await this.#attempt(async () => {
        next = (await this.#again(this.#ticks.take)).ended;
      });
      if (!isThere || next === undefined) return;
      this.#reconnects++;
      ended = next;
    }
  }
}

/** The output of a command that goes on, as E2B's SDK gives it. */
export async function commandStream({ commands }: Sandbox, attempt: Attempt): Promise<LastingStream> {
  let pid = 0;
  const told = (take: (text: string) => void) => ({ timeoutMs: 0, onStdout: take });
  const listenTo = (handle: CommandHandle): { readonly ended: Promise<unknown> } => {
    pid = handle.pid;
    return { ended: handle.wait() };
  };
  const open: Open = async (take) => listenTo(await commands.run(ticking, { ...told(take), background: true }));
  const again: Open = async (take) => listenTo(await commands.connect(pid, told(take)));
  return LastingStream.start("command", open, attempt, again);
}

export function httpStream(url: string, headers: Record<string, string>, attempt: Attempt): Promise<LastingStream> {
  const open: Open = async (take) => {
    const response = await fetch(url, { headers });
    if (!response.ok || response.body === null) throw new Error(`${response.status} ${await response.text()}`);
    const lines = response.body.pipeThrough(new TextDecoderStream());
    const read = async (): Promise<void> => {
      for await (const text of lines) take(text);
    };
    return { ended: read() };
  };
  return LastingStream.start("HTTP", open, attempt);
}

export function webSocketStream(url: string, headers: Record<string, string>, attempt: Attempt): Promise<LastingStream> {
  const open: Open = (take) =>
    new Promise((resolve, reject) => {
      const socket = new WebSocket(url.replace(/^http/, "ws"), { headers });
      const ended = new Promise<void>((resolveEnd) => socket.once("close", () => resolveEnd()));
      socket.on("message", (data: Buffer) => take(data.toString()));
      socket.once("error", reject);
      socket.once("open", () => resolve({ ended }));
    });
  return LastingStream.start("WebSocket", open, attempt);
}
