/** Protocol buffers, converted through JSON. Loaded at the first binary request. */
import { fromBinary, fromJson, toBinary, toJson, type DescMessage, type JsonValue } from "@bufbuild/protobuf";
import type { Codec } from "./codec.ts";
import { ConnectError } from "./connect-error.ts";
import { schemaRegistry } from "./descriptors.ts";
import { readMessage } from "./json-message.ts";

export const binaryCodec: Codec = {
  name: "proto",
  decode: (type, bytes) => {
    const description = messageOf(type);
    let json: JsonValue;
    try {
      json = toJson(description, fromBinary(description, bytes));
    } catch (error) {
      throw new ConnectError("invalid_argument", `the message is not a ${type}: ${error instanceof Error ? error.message : String(error)}`);
    }
    return readMessage(type, json);
  },
  encode: (type, message) => {
    const description = messageOf(type);
    // Our messages contain only JSON values.
    return Buffer.from(toBinary(description, fromJson(description, message as JsonValue)));
  },
};

function messageOf(type: string): DescMessage {
  const description = schemaRegistry().getMessage(type);
  if (description === undefined) throw new Error(`the schema has no message ${type}`);
  return description;
}
