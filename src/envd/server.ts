/**
 * The daemon inside every sandbox. Each idle sandbox pays for a waiting daemon in memory, so a waiting daemon loads only `node:` modules.
 * - `helper/`: answers while it waits,
 * - `armed-state.ts`: the sandbox that it serves, - `init-request.ts`: arms it, - `retire-request.ts`, `end-processes.ts`: its end,
 * - `open-answers.ts`: broken off at the end,
 * - `own-program.ts`: the program that the container would run without it, - `idle-memory.ts`: keeps it small while it waits,
 * - `part-server.ts`, `interpreter-server.ts`, `swerex-server.ts`: ports of the code interpreter and of SWE-ReX, - `main.ts`: the process.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { header } from "#envd-protocol/arming.ts";
import type { ArmedOptions } from "./armed/armed-server.ts";
import type { ArmedState } from "./armed-state.ts";
import { answerInit, type Answer, type Identity } from "./init-request.ts";
import { breakOffAtEnd } from "./open-answers.ts";
import { answerRetire, type EndProcesses } from "./retire-request.ts";

/** Clients and gateways keep connections open, and streams may be silent for long. */
const idleConnectionMs = 640_000;

type Armed = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

export interface EnvdOptions extends ArmedOptions {
  readonly endProcesses: EndProcesses;
}

export function envdServer(identity: Identity, options: EnvdOptions): Server {
  const { state } = options;
  let armed: Promise<Armed> | undefined;
  const load = (): Promise<Armed> => {
    armed ??= import("./armed/armed-server.ts").then(({ armedHandler }) => armedHandler(options));
    return armed;
  };
  // In the next turn, so that the request that armed the daemon is answered first.
  state.onArmed(() => void setImmediate(() => state.isRetired || void load()));
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const own = route(identity, options, request, response);
    if (own !== undefined) {
      send(response, await own);
      return;
    }
    const handle = await load();
    await handle(request, response);
  };
  const server = createServer({ keepAliveTimeout: idleConnectionMs, requestTimeout: 0 }, (request, response) => {
    if (pathOf(request) === "/retire") {
      // Tells the client not to reuse this connection.
      response.setHeader("connection", "close");
      // Ends the streams of clients that still listen to the ended sandbox.
      response.once("finish", () => state.isRetired && server.closeAllConnections());
    }
    // A client that disconnects during its request needs no handling.
    serve(request, response).catch(() => response.destroy());
  });
  breakOffAtEnd(server, state, (request) => pathOf(request) === "/retire" || pathOf(request) === "/health");
  return server;
}

function pathOf({ url = "/" }: IncomingMessage): string | undefined {
  return url.split("?", 1)[0];
}

/** Undefined if the request is for an armed daemon and this one is armed. */
function route(identity: Identity, options: EnvdOptions, request: IncomingMessage, response: ServerResponse): Promise<Answer> | undefined {
  const { state } = options;
  const path = pathOf(request);
  if (path === "/health") return Promise.resolve(health(identity, state, request, response));
  if (path === "/init" || path === "/retire") {
    if (request.method !== "POST") return Promise.resolve({ status: 405, message: "use POST" });
    return path === "/init" ? answerInit(identity, state, request) : answerRetire(identity, options, request);
  }
  if (state.isRetired) return Promise.resolve({ status: 503, message: "this sandbox has ended" });
  if (state.sandboxId === undefined) return Promise.resolve({ status: 503, message: "this sandbox waits to be claimed" });
  return undefined;
}

function health({ bootId, podUid }: Identity, state: ArmedState, request: IncomingMessage, response: ServerResponse): Answer {
  if (request.method !== "GET" && request.method !== "HEAD") return { status: 405, message: "use GET" };
  response.setHeader(header.bootId, bootId);
  response.setHeader(header.podUid, podUid);
  response.setHeader(header.armed, state.sandboxId === undefined ? "no" : "yes");
  if (state.sandboxId !== undefined) response.setHeader(header.sandboxId, state.sandboxId);
  return { status: 204 };
}

function send(response: ServerResponse, { status, message }: Answer): void {
  response.statusCode = status;
  if (message === undefined) {
    response.end();
    return;
  }
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify({ code: status, message }));
}
