/** The open connections to the server, renewed when the certificates that they were made with change. */
import { Pool, ProxyAgent, type Dispatcher } from "undici";
import type { Connection } from "./connection.ts";
import type { TlsMaterial } from "./credentials.ts";

/** Watches hold a connection for hours, so they have their own and requests never wait behind one. */
export type PoolUse = "request" | "watch";

export interface PoolOptions {
  /** At most so many requests at a time; further ones wait their turn. */
  readonly connections: number;
  readonly maxBodyBytes: number;
}

/** Shorter than the 90 s after which an API server closes an idle connection, so that we never write to one that is closing. */
export const idleMs = 60_000;
const connectMs = 10_000;

export class ConnectionPools {
  readonly #connection: Connection;
  readonly #options: PoolOptions;
  #tls: TlsMaterial | undefined;
  #pools: Record<PoolUse, Dispatcher> | undefined;

  constructor(connection: Connection, options: PoolOptions) {
    this.#connection = connection;
    this.#options = options;
  }

  get(use: PoolUse, tls: TlsMaterial): Dispatcher {
    if (this.#pools === undefined || this.#tls !== tls) {
      // What runs on the old connections goes on until it ends by itself.
      if (this.#pools !== undefined) for (const old of Object.values(this.#pools)) void old.close();
      this.#pools = { request: this.#open("request", tls), watch: this.#open("watch", tls) };
      this.#tls = tls;
    }
    return this.#pools[use];
  }

  /** Connections for requests. */
  get open(): number {
    return this.#pools?.request instanceof Pool ? this.#pools.request.stats.connected : 0;
  }

  /** Cuts watches, lets requests finish. */
  async close(): Promise<void> {
    const pools = this.#pools;
    this.#pools = undefined;
    if (pools !== undefined) await Promise.all([pools.request.close(), pools.watch.destroy()]);
  }

  #open(use: PoolUse, tls: TlsMaterial): Dispatcher {
    const { origin, socketPath, proxyUrl } = this.#connection;
    const common = {
      connections: use === "request" ? this.#options.connections : null,
      maxResponseSize: use === "request" ? this.#options.maxBodyBytes : -1,
      keepAliveTimeout: idleMs,
      pipelining: 1,
      allowH2: false,
      // The transport has its own deadline, on the injected clock; a watch may be silent for as long as it likes.
      headersTimeout: 0,
      bodyTimeout: 0,
    };
    // Probes find out about a server that vanished without a word, which a silent watch would never notice.
    const connect = { ...tls, timeout: connectMs, keepAlive: true, keepAliveInitialDelay: 15_000 };
    if (proxyUrl !== undefined && proxyUrl !== "") return new ProxyAgent({ ...common, uri: proxyUrl, requestTls: connect });
    return new Pool(origin, { ...common, connect, ...(socketPath === undefined ? {} : { socketPath }) });
  }
}
