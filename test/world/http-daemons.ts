/**
 * Daemons over HTTP without containers behind them, each at an address of its own on loopback: for processes that are not this one.
 * Whatever else is asked of an address is answered with what it is, as a program in the sandbox would.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { header } from "#envd-protocol/arming.ts";
import type { Daemons } from "./simulated-kubelet.ts";

interface Daemon {
  readonly podUid: string;
  readonly bootId: string;
  sandboxId?: string;
}

export class HttpDaemons implements Daemons, AsyncDisposable {
  readonly #server: Server;
  readonly #daemons = new Map<string, Daemon>();
  #boots = 0;

  private constructor() {
    this.#server = createServer((request, response) => this.#answer(request, response));
  }

  /** On any port that is free, unless told otherwise. */
  static async listen(port = 0): Promise<HttpDaemons> {
    const daemons = new HttpDaemons();
    await new Promise<void>((resolve, reject) => daemons.#server.once("error", reject).listen(port, "0.0.0.0", 4096, resolve));
    return daemons;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** The n-th address, for SimulatedKubelet. */
  readonly addressOf = (number: number): string => `127.${1 + (number >> 16)}.${(number >> 8) & 255}.${number & 255}`;

  boot(ip: string, podUid: string): void {
    this.#daemons.set(ip, { podUid, bootId: `boot-${++this.#boots}` });
  }

  down(ip: string): void {
    this.#daemons.delete(ip);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    request.resume();
    const daemon = this.#daemons.get(request.socket.localAddress ?? "");
    if (daemon === undefined) response.destroy();
    else if (request.url === "/init") this.#init(daemon, request, response);
    else if (request.url === "/retire") response.writeHead(204).end();
    else if (request.url === "/health") response.writeHead(204, headersOf(daemon)).end();
    else response.end(`sandbox ${daemon.sandboxId ?? "none"}`);
  }

  #init(daemon: Daemon, request: IncomingMessage, response: ServerResponse): void {
    const sandboxId = String(request.headers[header.sandboxId]);
    daemon.sandboxId ??= sandboxId;
    response.writeHead(daemon.sandboxId === sandboxId ? 204 : 409).end();
  }
}

function headersOf({ podUid, bootId, sandboxId }: Daemon): Record<string, string> {
  const armed = sandboxId === undefined ? "no" : "yes";
  return {
    [header.podUid]: podUid,
    [header.bootId]: bootId,
    [header.armed]: armed,
    ...(sandboxId === undefined ? {} : { [header.sandboxId]: sandboxId }),
  };
}
