/**
 * Connections to PostgreSQL: a bounded number, made when they are needed and thrown away when something is wrong with one. A
 * statement ends by the server's timeout, or, if the server is silent, by ours. What fails in passing is tried again, later each time,
 * until our patience ends; every statement of ours may be run twice.
 */
import { Pool, type PoolClient, type PoolConfig } from "pg";
import { backoffMs, type Random } from "#lib/backoff.ts";
import { type Clock, sleep } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import { HistoryError } from "../history-error.ts";
import { type DatabaseAddress, describeAddress } from "./database-url.ts";
import { explainFailure, isPassing } from "./failures.ts";

export interface ConnectionOptions {
  readonly address: DatabaseAddress;
  readonly clock: Clock;
  readonly log: Logger;
  readonly random?: Random;
  /** Connections of this process. */
  readonly maxConnections?: number;
  /** How long a call goes on trying while the database does not answer. */
  readonly patienceMs?: number;
  readonly statementTimeoutMs?: number;
}

export type Row = Readonly<Record<string, unknown>>;

const retryDelay = { baseMs: 50, maxMs: 2000, jitter: "equal" } as const;
const connectTimeoutMs = 5000;
/** Above the server's own limit: only a server that is silent meets it. */
const silenceMs = 2000;

export class Connections {
  readonly description: string;
  readonly #pool: Pool;
  readonly #options: ConnectionOptions;
  readonly #closing = new AbortController();
  readonly #running = new Set<Promise<unknown>>();
  #isAway = false;

  constructor(options: ConnectionOptions) {
    this.description = describeAddress(options.address);
    this.#options = options;
    this.#pool = new Pool(poolConfig(options));
    // An idle connection died; the pool has already dropped it.
    this.#pool.on("error", (error) => options.log.warn({ error, database: this.description }, "database connection lost"));
  }

  /** The rows of one statement. Throws HistoryError. */
  query(text: string, params: readonly unknown[] = []): Promise<readonly Row[]> {
    return this.#patiently(() => this.queryOnce(text, params));
  }

  /** Without a second try. */
  async queryOnce(text: string, params: readonly unknown[] = []): Promise<readonly Row[]> {
    const result = await this.#pool.query<Row>(text, [...params]);
    return result.rows;
  }

  /** Runs `work` in one transaction, again from its beginning if the connection is lost. */
  transaction<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    return this.#patiently(async () => {
      const client = await this.#pool.connect();
      client.on("error", ignoreLoss);
      let failure: unknown;
      try {
        await client.query("BEGIN");
        const result = await work(client);
        await client.query("COMMIT");
        return result;
      } catch (error) {
        failure = error;
        throw error;
      } finally {
        client.off("error", ignoreLoss);
        // A connection in an unknown state is closed, which also rolls back.
        client.release(failure !== undefined);
      }
    });
  }

  /** Statements that are under way get to their end; nothing is tried again. */
  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort(new HistoryError("closed", `the history (${this.description}) is closed`));
    // A pool that ends drops the calls that wait for a connection.
    await Promise.allSettled(this.#running);
    await this.#pool.end();
  }

  /** One line for an outage, not one for every call in it. */
  #noteFailure(error: unknown): void {
    if (this.#isAway) return;
    this.#isAway = true;
    this.#options.log.warn({ error, database: this.description }, "database does not answer, trying again");
  }

  #noteAnswer(): void {
    if (!this.#isAway) return;
    this.#isAway = false;
    this.#options.log.info({ database: this.description }, "database answers again");
  }

  #patiently<T>(run: () => Promise<T>): Promise<T> {
    const running = this.#untilAnswered(run).finally(() => this.#running.delete(running));
    this.#running.add(running);
    return running;
  }

  async #untilAnswered<T>(run: () => Promise<T>): Promise<T> {
    const { clock, random = Math.random, patienceMs = 10_000 } = this.#options;
    const { signal } = this.#closing;
    const giveUpAt = clock.now() + patienceMs;
    for (let failures = 1; ; failures++) {
      signal.throwIfAborted();
      try {
        const result = await run();
        this.#noteAnswer();
        return result;
      } catch (error) {
        const pauseMs = backoffMs(retryDelay, failures, random);
        if (!isPassing(error) || clock.now() + pauseMs >= giveUpAt) throw explainFailure(error, this.description);
        this.#noteFailure(error);
        await sleep(clock, pauseMs, signal);
      }
    }
  }
}

/** Without a listener, the loss of a connection in use would end the process; its statement fails by itself. */
function ignoreLoss(): void {}

function poolConfig({ address, maxConnections = 10, statementTimeoutMs = 10_000 }: ConnectionOptions): PoolConfig {
  return {
    host: address.host,
    port: address.port,
    user: address.user,
    password: address.password,
    database: address.database,
    ssl: address.tls,
    application_name: "agentbox",
    max: maxConnections,
    connectionTimeoutMillis: connectTimeoutMs,
    idleTimeoutMillis: 30_000,
    statement_timeout: statementTimeoutMs,
    idle_in_transaction_session_timeout: statementTimeoutMs,
    query_timeout: statementTimeoutMs + silenceMs,
    keepAlive: true,
    allowExitOnIdle: true,
  };
}
