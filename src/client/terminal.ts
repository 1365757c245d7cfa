/** A terminal in a sandbox: what is typed goes in, what its command writes comes out, over a WebSocket. */
import { ClientError } from "./client-error.ts";

export interface TerminalEvents {
  readonly onOutput: (text: string) => void;
  /** Closes the terminal, and with it ends its command. */
  readonly signal?: AbortSignal | undefined;
}

export class ClientTerminal {
  /** Of its command. Rejects with ClientError when the connection ends before. */
  readonly exitCode: Promise<number>;
  readonly #socket: WebSocket;

  /** The socket may still be connecting; nothing may be sent before `opened`. */
  constructor(socket: WebSocket, { onOutput, signal }: TerminalEvents) {
    this.#socket = socket;
    socket.binaryType = "arraybuffer";
    const decoder = new TextDecoder();
    const exit = Promise.withResolvers<number>();
    this.exitCode = exit.promise;
    exit.promise.catch(() => {});
    socket.addEventListener("message", (event) => {
      const data = event.data as unknown;
      if (data instanceof ArrayBuffer) onOutput(decoder.decode(data, { stream: true }));
      else exit.resolve((JSON.parse(String(data)) as { readonly exitCode: number }).exitCode);
    });
    const close = (): void => socket.close();
    signal?.addEventListener("abort", close);
    socket.addEventListener("close", ({ reason }) => {
      signal?.removeEventListener("abort", close);
      exit.reject(new ClientError("unavailable", `the terminal's connection ended${reason === "" ? "" : `: ${reason}`}`));
    });
  }

  /** Resolves when it can be used. */
  async opened(): Promise<this> {
    await Promise.race([new Promise((resolve) => this.#socket.addEventListener("open", resolve, { once: true })), this.exitCode]);
    return this;
  }

  type(text: string): void {
    this.#send({ type: "stdin", data: text });
  }

  resize(rows: number, cols: number): void {
    this.#send({ type: "resize", rows, cols });
  }

  #send(message: object): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(message));
  }
}
