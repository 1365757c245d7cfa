import type { ServerResponse } from "node:http";
import type { Codec } from "./codec.ts";
import { type ConnectError } from "./connect-error.ts";
import { endFlag, frame } from "./frames.ts";

/** The answer to a streaming call. It ends normally, with an error, or when the client disconnects. */
export class ServerStream {
  readonly #response: ServerResponse;
  readonly #codec: Codec;
  readonly #type: string;
  readonly #gone = new AbortController();
  #isEnded = false;

  constructor(response: ServerResponse, codec: Codec, type: string) {
    this.#response = response;
    this.#codec = codec;
    this.#type = type;
    response.on("close", () => this.#gone.abort());
  }

  /** Aborted when the client has disconnected, or when everything has been sent. */
  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  /** Bytes that the client has not read yet. */
  get backlog(): number {
    return this.#response.writableLength;
  }

  send(message: object): void {
    if (!this.#isEnded && !this.#response.destroyed) this.#response.write(frame(0, this.#codec.encode(this.#type, message)));
  }

  /** Called whenever the client has read everything. */
  onDrain(listener: () => void): void {
    this.#response.on("drain", listener);
  }

  end(error?: ConnectError): void {
    if (this.#isEnded || this.#response.destroyed) return;
    this.#isEnded = true;
    this.#response.end(frame(endFlag, endOfStream(error)));
  }
}

function endOfStream(error: ConnectError | undefined): Buffer {
  return Buffer.from(JSON.stringify(error === undefined ? {} : { error: { code: error.code, message: error.message } }));
}
