import { spawn } from "node:child_process";
import { createServer, type IncomingMessage, type RequestOptions } from "node:http";
import { request as plainRequest } from "node:http";
import { request as tlsRequest } from "node:https";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { apiClient, gatewayUrl } from "../api-client.ts";
import type { Command } from "../command.ts";
import type { CliContext } from "../context.ts";
import { CliError, UsageError } from "../failure.ts";

export const port: Command = {
  usage: ["port ID [LOCAL:]PORT [--address ADDRESS] [--open]"],
  about:
    "Forwards a port of this machine to a port of a sandbox until Ctrl-C: HTTP/1.1 and WebSockets, through the server's gateway. " +
    "Without LOCAL, the same port number is used here; 0 selects any free port. A sandbox with private traffic needs its token in AGENTBOX_TRAFFIC_TOKEN.",
  examples: [
    { does: "Forward port 8000 to port 8000 of a sandbox", line: "agentbox port ID 8000" },
    { does: "Use another local port, and open the browser", line: "agentbox port ID 3000:8000 --open" },
  ],
  flags: {
    address: { value: "ADDRESS", help: "Local address to listen on (default: 127.0.0.1)" },
    open: { help: "Open the address in the browser" },
  },
  run: async (context, args) => {
    const [id, word, ...more] = args.words;
    if (id === undefined || word === undefined || more.length > 0)
      throw new UsageError("port needs the ID of a sandbox and a port: agentbox port ID 8000");
    const ports = portsIn(word);
    const { sandboxes } = await apiClient(context);
    const { status } = await sandboxes.get(id, context.signal);
    if (status !== "Running" && status !== "Paused")
      throw new CliError(`sandbox ${id} is ${status}: only running sandboxes have open ports`);
    const gateway = await gatewayUrl(context);
    if (gateway === undefined) {
      throw new CliError("the address of the gateway is not known: agentbox config set NAME --gateway URL, or set AGENTBOX_GATEWAY_URL");
    }
    const target = { id, port: ports.remote, gateway: new URL(gateway), token: context.env["AGENTBOX_TRAFFIC_TOKEN"] };
    return await forward(context, target, { host: args.text("address") ?? "127.0.0.1", port: ports.local, open: args.isOn("open") });
  },
};

function portsIn(word: string): { readonly local: number; readonly remote: number } {
  const [, local, remote = ""] = /^(?:(\d{1,5}):)?(\d{1,5})$/.exec(word) ?? [];
  const ports = { local: Number(local ?? remote), remote: Number(remote) };
  if (remote === "" || ports.remote < 1 || ports.remote > 65_535 || ports.local > 65_535) {
    throw new UsageError(`a port is a number from 1 to 65535, or LOCAL:PORT, not ${JSON.stringify(word)}`);
  }
  return ports;
}

export interface PortTarget {
  readonly id: string;
  readonly port: number;
  readonly gateway: URL;
  readonly token: string | undefined;
}

interface Listening {
  readonly host: string;
  readonly port: number;
  readonly open: boolean;
}

async function forward(context: CliContext, target: PortTarget, { host, port: local, open }: Listening): Promise<number> {
  const server = portForwarder(target);
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) =>
      reject(
        error.code === "EADDRINUSE"
          ? new CliError(`port ${local} is in use here: choose another one, such as agentbox port ${target.id} 0:${target.port}`)
          : error,
      ),
    );
    server.listen(local, host, resolve);
  });
  const { port: taken } = server.address() as AddressInfo;
  const url = `http://${host.includes(":") ? `[${host}]` : host}:${taken}`;
  context.stdout.write(`${url} is port ${target.port} of sandbox ${target.id}\n`);
  if (open) openBrowser(context, url);
  await new Promise<void>((resolve) => context.signal.addEventListener("abort", () => resolve(), { once: true }));
  server.closeAllConnections();
  server.close();
  return 0;
}

/** A local server whose requests and upgrades go to one port of a sandbox. */
export function portForwarder(target: PortTarget) {
  const server = createServer((request, response) => {
    const sent = send(target, request, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.statusMessage, answer.rawHeaders);
      answer.pipe(response);
      answer.on("error", () => response.destroy());
    });
    request.pipe(sent);
    response.on("close", () => sent.destroy());
    sent.on("error", (error) => {
      if (response.headersSent) return void response.destroy();
      response.writeHead(502, { "content-type": "text/plain" });
      response.end(`the gateway at ${target.gateway.origin} cannot be reached: ${error.message}\n`);
    });
  });
  server.on("upgrade", (request, socket, head) => upgrade(target, request, socket, head));
  return server;
}

function send({ id, port: number, gateway, token }: PortTarget, request: IncomingMessage, onAnswer: (answer: IncomingMessage) => void) {
  const options: RequestOptions = {
    method: request.method,
    path: request.url,
    headers: {
      ...request.headers,
      "e2b-sandbox-id": id,
      "e2b-sandbox-port": String(number),
      ...(token !== undefined && token !== "" && { "e2b-traffic-access-token": token }),
    },
    setHost: false,
  };
  return (gateway.protocol === "https:" ? tlsRequest : plainRequest)(gateway, options, onAnswer);
}

function upgrade(target: PortTarget, request: IncomingMessage, socket: Duplex, head: Buffer): void {
  const refuse = (answer: IncomingMessage): void => {
    socket.write(headText(answer));
    answer.pipe(socket);
  };
  const sent = send(target, request, refuse);
  sent.on("upgrade", (answer, other, otherHead) => {
    socket.write(headText(answer));
    socket.write(otherHead);
    other.write(head);
    other.pipe(socket).pipe(other);
    for (const one of [other, socket]) one.on("error", () => [other, socket].forEach((each) => each.destroy()));
    for (const one of [other, socket]) one.on("close", () => [other, socket].forEach((each) => each.destroy()));
  });
  sent.on("error", () => socket.destroy());
  sent.end();
}

function headText({ statusCode = 502, statusMessage = "", rawHeaders }: IncomingMessage): string {
  const lines = rawHeaders.flatMap((name, at) => (at % 2 === 0 ? [`${name}: ${rawHeaders[at + 1] ?? ""}`] : []));
  return [`HTTP/1.1 ${statusCode} ${statusMessage}`, ...lines, "", ""].join("\r\n");
}

function openBrowser({ stderr }: CliContext, url: string): void {
  const program = process.platform === "darwin" ? "open" : "xdg-open";
  const opened = spawn(program, [url], { stdio: "ignore", detached: true });
  opened.on("error", () => stderr.write(`${program} is not here: open ${url} yourself\n`));
  opened.unref();
}
