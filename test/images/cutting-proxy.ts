/** A TCP proxy that breaks connections: each one after so many bytes towards the client. */
import { createServer, connect, type AddressInfo, type Server, type Socket } from "node:net";

export class CuttingProxy implements AsyncDisposable {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** How many connections were broken. */
  cuts = 0;
  /** Bytes of the next connections; none are broken when it is empty. */
  readonly allowances: number[];

  private constructor(target: string, allowances: readonly number[]) {
    this.allowances = [...allowances];
    const [host = "", port = ""] = target.split(":");
    this.#server = createServer((client) => this.#serve(client, connect(Number(port), host)));
  }

  static async start(target: string, allowances: readonly number[]): Promise<CuttingProxy> {
    const proxy = new CuttingProxy(target, allowances);
    await new Promise<void>((resolve) => proxy.#server.listen(0, "127.0.0.1", resolve));
    return proxy;
  }

  get host(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  #serve(client: Socket, upstream: Socket): void {
    for (const socket of [client, upstream]) {
      this.#sockets.add(socket);
      socket.on("error", () => undefined);
      socket.on("close", () => {
        this.#sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    client.pipe(upstream);
    // Small answers do not count: what is to be broken is the transfer of a layer.
    let passed = 0;
    upstream.on("data", (chunk: Buffer) => {
      passed += chunk.length;
      const allowance = this.allowances[0];
      if (allowance === undefined || passed <= allowance) {
        if (!client.write(chunk)) {
          upstream.pause();
          client.once("drain", () => upstream.resume());
        }
        return;
      }
      this.allowances.shift();
      this.cuts++;
      client.destroy();
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
