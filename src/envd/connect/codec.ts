/** The two encodings of messages. Inside the daemon a message is a plain JSON value. */
import { ConnectError } from "./connect-error.ts";
import { readMessage, type Json } from "./json-message.ts";

export interface Codec {
  readonly name: "json" | "proto";
  /** Throws ConnectError. */
  decode(type: string, bytes: Buffer): Json;
  encode(type: string, message: object): Buffer;
}

export const jsonCodec: Codec = {
  name: "json",
  decode: (type, bytes) => {
    let value: unknown;
    try {
      // An empty body is an empty message.
      value = bytes.length === 0 ? {} : JSON.parse(bytes.toString("utf8"));
    } catch (error) {
      throw new ConnectError("invalid_argument", `the message is not JSON: ${error instanceof Error ? error.message : String(error)}`);
    }
    return readMessage(type, value);
  },
  encode: (_, message) => Buffer.from(JSON.stringify(message)),
};

/** The SDKs send JSON. The binary codec is loaded at first use, so that other sandboxes do not pay for it. */
export async function codecOf(name: string): Promise<Codec> {
  return name === "json" ? jsonCodec : (await import("./binary-codec.ts")).binaryCodec;
}
