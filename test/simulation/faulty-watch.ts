/**
 * A watch over a bad connection. Events come late, some of them twice; the connection may end, fail or fall silent, and whatever was
 * on its way is lost with it. Never lost is the order: a connection that skips an event and goes on does not exist.
 */
import { ApiError } from "#kube/api-error.ts";
import type { ObjectClient, WatchEvent, WatchOptions } from "#kube/object-client.ts";
import type { Timer } from "#lib/clock.ts";
import type { ApiObject } from "#model/meta.ts";
import type { ResourceType } from "#model/resource.ts";
import { EventPipe } from "../world/event-pipe.ts";
import type { WireDeps } from "./wire.ts";

export async function* faultyWatch<T extends ApiObject>(
  deps: WireDeps,
  server: ObjectClient,
  type: ResourceType<T>,
  options: WatchOptions = {},
): AsyncGenerator<WatchEvent<T>, void> {
  const connection = new Connection<T>(deps);
  try {
    void connection.pump((signal) => server.watch(type, { ...options, signal }));
    yield* connection.pipe.read(options.signal);
  } finally {
    connection.close();
  }
}

class Connection<T extends ApiObject> {
  readonly pipe = new EventPipe<WatchEvent<T>>();
  readonly #deps: WireDeps;
  readonly #abort = new AbortController();
  readonly #forget: () => void;
  readonly #onTheirWay = new Set<Timer>();
  #busyUntil = 0;

  constructor(deps: WireDeps) {
    this.#deps = deps;
    this.#forget = deps.process.whenKilled(() => this.close());
  }

  close(): void {
    this.#forget();
    this.#deps.silences.delete(this);
    this.#abort.abort(new Error("the connection is closed"));
    for (const timer of this.#onTheirWay) timer.cancel();
    this.#onTheirWay.clear();
  }

  async pump(open: (signal: AbortSignal) => AsyncIterable<WatchEvent<T>>): Promise<void> {
    try {
      for await (const event of open(this.#abort.signal)) if (this.#carry(event) === "over") return;
      this.#later(() => this.pipe.end());
    } catch (error) {
      if (!this.#abort.signal.aborted) this.#later(() => this.pipe.fail(error as Error));
    }
  }

  #carry(event: WatchEvent<T>): "on" | "over" {
    // What the server had sent already when its reader left.
    if (this.#abort.signal.aborted) return "over";
    const { random, weather, process } = this.#deps;
    const { cut, silenced, doubled } = weather();
    if (random.chance(silenced)) {
      this.close();
      this.#deps.silences.add(this);
      process.whenKilled(() => this.#deps.silences.delete(this));
      return "over";
    }
    if (random.chance(cut)) {
      this.close();
      process.deliver(() => this.#break());
      return "over";
    }
    const times = random.chance(doubled) ? 2 : 1;
    for (let time = 0; time < times; time++) this.#later(() => this.pipe.push(event));
    return "on";
  }

  #break(): void {
    const { random } = this.#deps;
    const how = random.weighted({ end: 3, fail: 3, expire: 2 });
    if (how === "end") this.pipe.end();
    else if (how === "fail") this.pipe.fail(new ApiError("Unreachable", "the connection was reset"));
    else this.pipe.fail(new ApiError("Expired", "too old resource version"));
  }

  /** In the order in which it is asked for. */
  #later(run: () => void): void {
    const { clock, random, weather, process } = this.#deps;
    const now = clock.now();
    this.#busyUntil = Math.max(this.#busyUntil, now + random.between(0, weather().eventLagMs));
    const timer = clock.after(this.#busyUntil - now, () => {
      this.#onTheirWay.delete(timer);
      process.deliver(run);
    });
    this.#onTheirWay.add(timer);
  }
}
