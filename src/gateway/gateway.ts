/**
 * The way into sandboxes: HTTP/1.1 and HTTP/2, WebSockets and whatever else a connection may become, to any port of a sandbox.
 *
 * - `target.ts`           which sandbox and port are meant      - `route.ts`   where that is now
 * - `admit.ts`            whether the request may go there      - `answers.ts` what it is told if not
 * - `headers.ts`          what of its headers goes on           - `exchange.ts` both versions of HTTP with one face
 * - `upstream.ts`         connections to sandboxes
 * - `forward-request.ts`, `forward-upgrade.ts`  carry it
 * - `daemon-port.ts`      what is special about the daemon's port
 * - `activity.ts`, `activity-writer.ts`  who had traffic, and who is told
 * - `listen.ts`           the servers
 *
 * Nothing is looked up elsewhere on the way: routes come from the cache that follows the pods.
 */
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { Logger } from "#lib/log.ts";
import type { Counter, Gauge, Histogram, Metrics } from "#lib/metrics.ts";
import type { TrafficLog } from "./activity.ts";
import { type Admission, admit, type AdmitDeps } from "./admit.ts";
import { badRequest, brokenAnswer } from "./answers.ts";
import { corsHeaders, isPreflight, preflightHeaders, publicDaemonPort } from "./daemon-port.ts";
import { type GatewayRequest, type GatewayResponse, hostOf, oneHeader, sendAnswer, writeHead } from "./exchange.ts";
import { forwardRequest } from "./forward-request.ts";
import { endWith, forwardUpgrade } from "./forward-upgrade.ts";
import { type Forwarded, requestHeaders } from "./headers.ts";
import { type TargetResult, targetOf } from "./target.ts";
import { UpstreamAgent } from "./upstream.ts";

export interface GatewayDeps extends AdmitDeps {
  readonly traffic: TrafficLog;
  readonly log: Logger;
  readonly metrics: Metrics;
}

const noHeaders: Readonly<Record<string, string>> = {};

export class Gateway {
  readonly #deps: GatewayDeps;
  readonly #agent: UpstreamAgent;
  readonly #requests: Counter<"by" | "code">;
  readonly #seconds: Histogram<"by">;
  readonly #open: Gauge<"kind">;
  #requestsOpen = 0;
  #upgradesOpen = 0;

  constructor(deps: GatewayDeps) {
    this.#deps = deps;
    this.#agent = new UpstreamAgent();
    const { metrics } = deps;
    this.#requests = metrics.counter({ name: "agentbox_gateway_requests_total", help: "Requests to sandboxes", labels: ["by", "code"] });
    this.#seconds = metrics.histogram({
      name: "agentbox_gateway_request_duration_seconds",
      help: "From a request's head to the end of its answer",
      labels: ["by"],
    });
    this.#open = metrics.gauge({ name: "agentbox_gateway_open", help: "Requests and upgraded connections under way", labels: ["kind"] });
    this.#open.follow({ kind: "request" }, () => this.#requestsOpen);
    this.#open.follow({ kind: "upgraded" }, () => this.#upgradesOpen);
  }

  /** Never rejects. */
  async serve(request: GatewayRequest, response: GatewayResponse): Promise<void> {
    const began = performance.now();
    const target = this.#target(request);
    const by = target.kind === "target" ? target.target.by : "none";
    this.#requestsOpen++;
    try {
      const code = await this.#answer(request, response, target);
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

  async #answer(request: GatewayRequest, response: GatewayResponse, target: TargetResult): Promise<number> {
    if (target.kind === "refused") return told(request, response, badRequest(target.message));
    const { sandboxId, port, url } = target.target;
    const added = port === publicDaemonPort ? corsHeaders : noHeaders;
    if (port === publicDaemonPort && isPreflight(request.method ?? "", oneHeader(request, "access-control-request-method"))) {
      writeHead(response, 204, Object.entries(preflightHeaders(oneHeader(request, "access-control-request-headers"))).flat());
      response.end();
      return 204;
    }
    const admission = await this.#admit(request, target);
    if (admission.kind === "answered") return told(request, response, admission.answer, added);
    const headers = requestHeaders(request.rawHeaders, forwarded(request, admission));
    if (headers === undefined) return told(request, response, badRequest("the request has a header twice that may be there once"), added);
    const done = this.#deps.traffic.begin(sandboxId, admission.pod);
    try {
      return await forwardRequest(request, response, { agent: this.#agent, upstream: admission.upstream, url, headers, added });
    } finally {
      done();
    }
  }

  /** Never rejects. */
  async upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    // Whatever goes wrong on the client's side shows in what is read and written; unheard it would end the process.
    socket.on("error", () => socket.destroy());
    this.#upgradesOpen++;
    const target = this.#target(request);
    const by = target.kind === "target" ? target.target.by : "none";
    try {
      this.#requests.add({ by, code: String(await this.#carryUpgrade(request, socket, head)) });
    } catch (error) {
      this.#deps.log.error({ error, host: hostOf(request) }, "upgrade to a sandbox failed");
      endWith(socket, brokenAnswer("", 0));
    } finally {
      this.#upgradesOpen--;
    }
  }

  async #carryUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<number> {
    const target = this.#target(request);
    if (target.kind === "refused") return ended(socket, badRequest(target.message));
    const admission = await this.#admit(request, target);
    if (admission.kind === "answered") return ended(socket, admission.answer);
    const headers = requestHeaders(request.rawHeaders, forwarded(request, admission));
    if (headers === undefined) return ended(socket, badRequest("the request has a header twice that may be there once"));
    const done = this.#deps.traffic.begin(target.target.sandboxId, admission.pod);
    try {
      await forwardUpgrade({ request, socket, head }, { upstream: admission.upstream, url: target.target.url, headers });
    } finally {
      done();
    }
    return 101;
  }

  /** Lets go of connections that nobody uses. */
  close(): void {
    this.#agent.destroy();
  }

  #target(request: GatewayRequest): TargetResult {
    return targetOf({
      host: hostOf(request),
      idHeader: oneHeader(request, "e2b-sandbox-id"),
      portHeader: oneHeader(request, "e2b-sandbox-port"),
      url: request.url ?? "/",
    });
  }

  #admit(request: GatewayRequest, { target }: Extract<TargetResult, { kind: "target" }>): Promise<Admission> {
    return admit(this.#deps, target, oneHeader(request, "e2b-traffic-access-token"));
  }
}

function forwarded(request: GatewayRequest, { mask }: Extract<Admission, { kind: "admitted" }>): Forwarded {
  const isEncrypted = "encrypted" in request.socket && request.socket.encrypted;
  return { client: request.socket.remoteAddress ?? "", proto: isEncrypted ? "https" : "http", host: hostOf(request), mask };
}

function told(...[request, response, answer, more]: Parameters<typeof sendAnswer>): number {
  sendAnswer(request, response, answer, more);
  return answer.status;
}

function ended(socket: Duplex, answer: Parameters<typeof endWith>[1]): number {
  endWith(socket, answer);
  return answer.status;
}
