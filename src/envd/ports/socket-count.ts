/**
 * A cheap test for whether a program may have started or stopped listening. To list sockets the kernel walks those of the whole machine, 10 ms of a
 * processor for both families; their number it keeps ready.
 */
import { readFileSync } from "node:fs";
import type { Server } from "node:net";

/** Between two calls, one new and one closed socket could hide each other; with no sockets at all, that is impossible. */
const mostSkipped = 9;

export class SocketCount {
  readonly #own: () => number;
  readonly #inUse: () => number | undefined;
  /** Sockets of other programs: none when a sandbox begins. */
  #others = 0;
  #skipped = 0;

  constructor(own: () => number, inUse = socketsInUse) {
    this.#own = own;
    this.#inUse = inUse;
  }

  /** True if the number changed since the last call, if it is unknown, and once in a while. */
  mayHaveChanged(): boolean {
    const inUse = this.#inUse();
    const others = inUse === undefined ? Number.NaN : inUse - this.#own();
    const isSame = others === this.#others && (others === 0 || this.#skipped < mostSkipped);
    this.#others = others;
    this.#skipped = isSame ? this.#skipped + 1 : 0;
    return !isSame;
  }
}

/** Sockets of the given servers: listeners and connections. */
export class OwnSockets {
  readonly #servers: Server[] = [];
  #connections = 0;

  add(server: Server): void {
    this.#servers.push(server);
    server.on("connection", (socket) => {
      this.#connections += 1;
      socket.once("close", () => (this.#connections -= 1));
    });
  }

  get count(): number {
    return this.#connections + this.#servers.filter(({ listening }) => listening).length;
  }
}

/** Undefined where the system does not say. */
function socketsInUse(): number | undefined {
  try {
    return parseInUse(readFileSync("/proc/net/sockstat", "latin1")) + parseInUse(readIfThere("/proc/net/sockstat6"));
  } catch {
    return undefined;
  }
}

/** A kernel without IPv6 has no such file. */
function readIfThere(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}

/** TCP sockets that have an address, listening and connected, by /proc/net/sockstat. */
export function parseInUse(text: string): number {
  return Number(/^TCP6?: inuse (\d+)/m.exec(text)?.[1] ?? 0);
}
