/** Whether the process lives, whether it should be sent anything, and its metrics: at a port of its own, without a key. */
import Fastify from "fastify";
import { drainServer, listenAt } from "#api/http/listen.ts";
import { statusRoutes } from "#api/http/status-routes.ts";
import { CliError } from "#cli/failure.ts";
import type { Logger } from "#lib/log.ts";
import type { ServerMetrics } from "#cmd/parts/server-metrics.ts";

/**
 * A process is ready when it has begun to serve and is not shutting down. An unreachable API server makes no process unready: traffic continues without
 * it, and creates are answered, if only with "not now". Removing all processes would stop that too.
 */
export class Readiness {
  #state: "ready" | (string & {}) = "it starts";
  #detail: () => string | undefined = () => undefined;

  /** True, or the reason why not; `detail` is computed on request. */
  becomes(state: string, detail: () => string | undefined = () => undefined): void {
    this.#state = state;
    this.#detail = detail;
  }

  now(): true | string {
    if (this.#state === "ready") return true;
    const detail = this.#detail();
    return detail === undefined ? this.#state : `${this.#state} (${detail})`;
  }
}

export interface HealthOptions {
  readonly host: string;
  readonly port: number;
  readonly readiness: Readiness;
  readonly metrics: ServerMetrics;
  readonly log: Logger;
}

export interface ServedHealth extends AsyncDisposable {
  readonly address: string;
}

export async function serveHealth({ host, port, readiness, metrics: { registry } }: HealthOptions): Promise<ServedHealth> {
  const app = Fastify({ forceCloseConnections: "idle" });
  statusRoutes(app, {
    ready: () => readiness.now(),
    metricsText: async () => ({ contentType: registry.contentType, text: await registry.metrics() }),
  });
  try {
    const address = await listenAt(app, { host, port });
    return { address, [Symbol.asyncDispose]: () => drainServer(app, 500) };
  } catch (error) {
    await app.close();
    throw new CliError(
      `health and metrics cannot be served at ${host}:${port}: ${(error as Error).message}. Choose another: --health-port`,
    );
  }
}
