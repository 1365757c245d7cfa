/** A gateway before programs that listen on this machine's loopback, as if each were in a sandbox: real sockets, no containers. */
import { once } from "node:events";
import { createServer, type IncomingMessage, request as httpRequest, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { connect, type Socket } from "node:net";
import { Registry } from "prom-client";
import { TrafficLog } from "#gateway/activity.ts";
import { Gateway, type GatewayDeps } from "#gateway/gateway.ts";
import { type GatewayServer, listen, type Listening } from "#gateway/listen.ts";
import { prometheusMetrics } from "#lib/metrics.ts";
import { annotationKeys, labelKeys } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import { recordedLog } from "./recorded-log.ts";
import { SteppedClock } from "./stepped-clock.ts";

export interface GatewayWorld extends AsyncDisposable {
  readonly clock: SteppedClock;
  readonly traffic: TrafficLog;
  readonly server: GatewayServer;
  readonly url: string;
  /** Starts a program on a port; resolves with the port. */
  program(given: Program | Server): Promise<number>;
  /** A sandbox that there is from now on. */
  sandbox(sandboxId: string, more?: SandboxOptions): void;
  remove(sandboxId: string): void;
  /** A connection on which anything may be written. */
  raw(): Promise<Socket>;
}

export type Program = (request: IncomingMessage, response: ServerResponse) => unknown;

export interface SandboxOptions {
  readonly phase?: "starting" | "running" | "stopping";
  readonly ip?: string;
  readonly annotations?: Readonly<Record<string, string>>;
  /** Where its daemon listens. */
  readonly daemonPort?: number;
  /** Where its daemon serves the interpreter; left out: it does not. */
  readonly interpreterPort?: number;
  readonly swerexPort?: number;
}

export async function gatewayWorld(over: Partial<GatewayDeps> = {}, listening: Partial<Listening> = {}): Promise<GatewayWorld> {
  const pods = new Map<string, Pod>();
  const clock = new SteppedClock();
  const traffic = new TrafficLog(clock);
  const programs: Server[] = [];
  const gateway = new Gateway({
    cache: { podsOfSandbox: (id) => [pods.get(id)].filter((pod) => pod !== undefined).values() },
    ended: async () => undefined,
    wake: () => Promise.reject(new Error("this gateway cannot wake sandboxes")),
    trafficTokenOf: (id) => `traffic-${id}`,
    accessTokenOf: (id) => `access-${id}`,
    clock,
    traffic,
    log: recordedLog().log,
    metrics: prometheusMetrics(new Registry()),
    ...over,
  });
  const server = await listen(gateway, { host: "127.0.0.1", port: 0, ...listening });
  return {
    clock,
    traffic,
    server,
    url: `http://127.0.0.1:${server.port}`,
    program: async (given) => {
      const program = typeof given === "function" ? createServer((request, response) => void given(request, response)) : given;
      await new Promise<void>((resolve) => program.listen(0, "127.0.0.1", resolve));
      programs.push(program);
      return (program.address() as AddressInfo).port;
    },
    sandbox: (id, options) => void pods.set(id, podOf(id, options)),
    remove: (id) => void pods.delete(id),
    raw: () =>
      new Promise((resolve) => {
        const socket = connect({ host: "127.0.0.1", port: server.port, allowHalfOpen: true }, () => resolve(socket));
      }),
    [Symbol.asyncDispose]: async () => {
      await server.close(0);
      gateway.close();
      for (const program of programs) {
        program.closeAllConnections();
        program.close();
      }
    },
  };
}

function podOf(id: string, { phase = "running", ip = "127.0.0.1", annotations = {}, ...ports }: SandboxOptions = {}): Pod {
  const env = [
    ...(ports.daemonPort === undefined ? [] : [{ name: "AGENTBOX_ENVD_PORT", value: String(ports.daemonPort) }]),
    ...(ports.swerexPort === undefined ? [] : [{ name: "AGENTBOX_SWEREX_PORT", value: String(ports.swerexPort) }]),
    ...(ports.interpreterPort === undefined ? [] : [{ name: "AGENTBOX_INTERPRETER_PORT", value: String(ports.interpreterPort) }]),
  ];
  return {
    metadata: {
      namespace: "default",
      name: `pod-${id}`,
      uid: `uid-${id}`,
      labels: { [labelKeys.sandboxId]: id, [labelKeys.sandboxPhase]: phase },
      annotations: { [annotationKeys.sandboxId]: id, ...annotations },
    },
    spec: { containers: [{ name: "main", image: "host", env }] },
    status: { phase: "Running", podIP: ip },
  };
}

export const to = (id: string, port: number): Record<string, string> => ({ "e2b-sandbox-id": id, "e2b-sandbox-port": String(port) });

export async function get(world: GatewayWorld, path: string, headers: Record<string, string>): Promise<{ status: number; body: unknown }> {
  const response = await fetch(world.url + path, { headers });
  const body = await response.text();
  return { status: response.status, body: body.startsWith("{") ? (JSON.parse(body) as unknown) : body };
}

/** Like fetch, for what fetch does not do: hosts, trailers, expectations. */
export function send(world: GatewayWorld, options: { method?: string; path?: string; headers?: Record<string, string>; body?: string }) {
  const { port } = world.server;
  const outgoing = httpRequest({
    host: "127.0.0.1",
    port,
    method: options.method ?? "GET",
    path: options.path ?? "/",
    headers: options.headers ?? {},
  });
  outgoing.end(options.body);
  return once(outgoing, "response") as Promise<[IncomingMessage]>;
}
