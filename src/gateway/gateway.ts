/**
 * The proxy to sandboxes: HTTP/1.1 and HTTP/2, WebSockets and other upgrades, to any port of a sandbox.
 *
 * - `target.ts`           which sandbox and port are meant      - `route.ts`   the pod of a sandbox
 * - `way.ts`, `admit.ts`, `access.ts`  decide if the request may pass      - `answers.ts` the gateway's own answers
 * - `newcomers.ts`        sandboxes that this process does not know yet
 * - `headers.ts`          which headers are forwarded           - `exchange.ts` one interface for both versions of HTTP
 * - `upstream.ts`         connections to sandboxes
 * - `forward-request.ts`, `forward-upgrade.ts`  forward it
 * - `daemon-port.ts`      rules for the daemon's port
 * - `api-host.ts`         the host of the API      - `open-limits.ts` limits of open requests
 * - `activity.ts`, `activity-writer.ts`  latest traffic of sandboxes, and writing it to pods
 * - `listen.ts`           the servers     - `local-certificates.ts`, `name-constraints.ts`  certificates of our own
 *
 * A request needs no lookup elsewhere: routes come from the cache that follows the pods.
 */
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { Logger } from "#lib/log.ts";
import type { Counter, Histogram, Metrics } from "#lib/metrics.ts";
import { badRequest, brokenAnswer } from "./answers.ts";
import { corsHeaders, isPreflight, preflightHeaders, publicDaemonPort } from "./daemon-port.ts";
import { type GatewayRequest, type GatewayResponse, hostOf, oneHeader, sendAnswer, writeHead } from "./exchange.ts";
import { forwardRequest } from "./forward-request.ts";
import { endWith, forwardUpgrade, type Upgrading } from "./forward-upgrade.ts";
import { type Forwarded, requestHeaders } from "./headers.ts";
import { isSandbox, UpstreamAgent } from "./upstream.ts";
import { type Destination, destinationOf, type Way, type WayDeps, wayOf, waysName } from "./way.ts";

export interface GatewayDeps extends WayDeps {
  readonly log: Logger;
  readonly metrics: Metrics;
}

const noHeaders: Readonly<Record<string, string>> = {};

export class Gateway {
  readonly #deps: GatewayDeps;
  readonly #agent: UpstreamAgent;
  readonly #requests: Counter<"by" | "code">;
  readonly #seconds: Histogram<"by">;
  #requestsOpen = 0;
  #upgradesOpen = 0;

  constructor(deps: GatewayDeps) {
    this.#deps = deps;
    this.#agent = new UpstreamAgent();
    const { metrics } = deps;
    this.#requests = metrics.counter({ name: "agentbox_gateway_requests_total", help: "Requests to sandboxes", labels: ["by", "code"] });
    this.#seconds = metrics.histogram({
      name: "agentbox_gateway_request_duration_seconds",
      help: "Time from the header of a request to the end of its answer",
      labels: ["by"],
    });
    const open = metrics.gauge({ name: "agentbox_gateway_open", help: "Open requests and upgraded connections", labels: ["kind"] });
    open.follow({ kind: "request" }, () => this.#requestsOpen);
    open.follow({ kind: "upgraded" }, () => this.#upgradesOpen);
  }

  /** Never rejects. */
  async serve(request: GatewayRequest, response: GatewayResponse): Promise<void> {
    const began = performance.now();
    const destination = destinationOf(this.#deps, request);
    const by = waysName(destination);
    this.#requestsOpen++;
    try {
      const code = await this.#answer(request, response, destination);
      this.#requests.add({ by, code: String(code) });
    } catch (error) {
      this.#deps.log.error({ error, host: hostOf(request) }, "request to a sandbox failed");
      response.destroy();
      this.#requests.add({ by, code: "0" });
    } finally {
      this.#requestsOpen--;
      this.#seconds.observe({ by }, (performance.now() - began) / 1000);
    }
  }

  async #answer(request: GatewayRequest, response: GatewayResponse, destination: Destination): Promise<number> {
    const isDaemons = destination.kind === "target" && destination.target.port === publicDaemonPort;
    const added = isDaemons ? corsHeaders : noHeaders;
    if (isDaemons && isPreflight(request.method ?? "", oneHeader(request, "access-control-request-method"))) {
      writeHead(response, 204, Object.entries(preflightHeaders(oneHeader(request, "access-control-request-headers"))).flat());
      response.end();
      return 204;
    }
    const way = await wayOf(this.#deps, request, destination, this.#open);
    if (way.kind === "answered") return told(request, response, way.answer, added);
    const headers = requestHeaders(request.rawHeaders, forwarded(request, way));
    if (headers === undefined) return told(request, response, badRequest("the request repeats a header that may appear only once"), added);
    const done = way.begin();
    try {
      return await forwardRequest(request, response, { agent: this.#agent, upstream: way.upstream, url: way.url, headers, added });
    } finally {
      done();
    }
  }

  /** Never rejects. */
  async upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    // Errors of the client's socket show when reading and writing; without a listener they would end the process.
    socket.on("error", () => socket.destroy());
    this.#upgradesOpen++;
    const destination = destinationOf(this.#deps, request);
    const by = waysName(destination);
    try {
      this.#requests.add({ by, code: String(await this.#carryUpgrade({ request, socket, head }, destination)) });
    } catch (error) {
      this.#deps.log.error({ error, host: hostOf(request) }, "upgrade to a sandbox failed");
      endWith(socket, brokenAnswer("", 0));
    } finally {
      this.#upgradesOpen--;
    }
  }

  async #carryUpgrade(upgrading: Upgrading, destination: Destination): Promise<number> {
    const { request, socket } = upgrading;
    const way = await wayOf(this.#deps, request, destination, this.#open);
    if (way.kind === "answered") return ended(socket, way.answer);
    const headers = requestHeaders(request.rawHeaders, forwarded(request, way));
    if (headers === undefined) return ended(socket, badRequest("the request repeats a header that may appear only once"));
    const done = way.begin();
    try {
      await forwardUpgrade(upgrading, { upstream: way.upstream, url: way.url, headers });
    } finally {
      done();
    }
    return 101;
  }

  /** Closes idle connections. */
  close(): void {
    this.#agent.destroy();
  }

  get #open(): number {
    return this.#requestsOpen + this.#upgradesOpen;
  }
}

function forwarded(request: GatewayRequest, { mask, upstream }: Way & { readonly kind: "open" }): Forwarded {
  const isEncrypted = "encrypted" in request.socket && request.socket.encrypted;
  const client = request.socket.remoteAddress ?? "";
  return { client, proto: isEncrypted ? "https" : "http", host: hostOf(request), mask, isForSandbox: isSandbox(upstream) };
}

function told(...[request, response, answer, more]: Parameters<typeof sendAnswer>): number {
  sendAnswer(request, response, answer, more);
  return answer.status;
}

function ended(socket: Duplex, answer: Parameters<typeof endWith>[1]): number {
  endWith(socket, answer);
  return answer.status;
}
