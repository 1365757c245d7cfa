/** A terminal in a sandbox over a WebSocket: sends what is typed, receives the output. */
import type { ErrorCode } from "#model/error-codes.ts";
import { ClientError } from "./client-error.ts";
import type { ExecEnd } from "./exec-stream.ts";

type EndMessage = ({ readonly type: "exit" } & ExecEnd) | { readonly type: "error"; readonly code: ErrorCode; readonly detail: string };

export interface TerminalEvents {
  readonly onOutput: (bytes: Uint8Array) => void;
  /** Closes the connection, which ends the command, unless the terminal goes on without one. */
  readonly signal?: AbortSignal | undefined;
}

export class ClientTerminal {
  /** How the command ended. Rejects with ClientError if the connection ends first. */
  readonly ended: Promise<ExecEnd>;
  readonly #socket: WebSocket;

  /** The socket may still be connecting; nothing may be sent before `opened`. */
  constructor(socket: WebSocket, { onOutput, signal }: TerminalEvents) {
    this.#socket = socket;
    socket.binaryType = "arraybuffer";
    const exit = Promise.withResolvers<ExecEnd>();
    this.ended = exit.promise;
    exit.promise.catch(() => {});
    socket.addEventListener("message", (event) => {
      const data = event.data as unknown;
      if (data instanceof ArrayBuffer) return onOutput(new Uint8Array(data));
      const message = JSON.parse(String(data)) as EndMessage;
      if (message.type === "error") exit.reject(new ClientError(message.code, message.detail));
      else exit.resolve(message);
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
    await Promise.race([new Promise((resolve) => this.#socket.addEventListener("open", resolve, { once: true })), this.ended]);
    return this;
  }

  type(typed: string | Uint8Array<ArrayBuffer>): void {
    if (typeof typed === "string") this.#send({ type: "stdin", data: typed });
    else if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(typed);
  }

  resize(rows: number, cols: number): void {
    this.#send({ type: "resize", rows, cols });
  }

  #send(message: object): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(message));
  }
}
