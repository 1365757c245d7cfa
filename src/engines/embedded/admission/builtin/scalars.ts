import { isList, isRecord } from "../json.ts";
import { canonicalQuantity, QuantityError } from "#model/quantity.ts";
import { isDateTime } from "../schema/formats.ts";

export type ScalarType = "string" | "int32" | "int64" | "bool" | "quantity" | "intOrString" | "time" | "microTime" | "bytes";

/** The object that is being read. Paths of its fields are put together only for an error. */
export interface Place {
  readonly path: string;
  /** The Go type of the object: the server names it when it cannot read a field. */
  readonly owner: string;
  /** Paths of fields that do not exist. */
  readonly unknown: string[];
}

/** The value of the field `key` of the object at `place` as the server keeps it, or `dropped`. Throws an UnreadableError. */
export type Decode = (value: unknown, place: Place, key: string) => unknown;

export function pathOf({ path }: Place, key: string): string {
  return path === "" ? key : `${path}.${key}`;
}

/** The object cannot be read at all; an object with wrong values is refused later, by the rules of its kind. */
export class UnreadableError extends Error {
  override readonly name = "UnreadableError";
}

/** Thrown by the caller, which knows what it wanted. The server's paths have no indexes here. */
export function unreadable(value: unknown, field: string, wanted: string): UnreadableError {
  return new UnreadableError(`json: cannot unmarshal ${described(value)} into Go struct field ${field} of type ${wanted}`);
}

export function goField(place: Place, key: string): string {
  return `${place.owner}.${pathOf(place, key).replaceAll(/\[\d+\]/g, "")}`;
}

function described(value: unknown): string {
  if (isList(value)) return "array";
  if (isRecord(value)) return "object";
  if (typeof value === "boolean") return "bool";
  return typeof value;
}

const zeros: Readonly<Record<ScalarType, unknown>> = {
  string: "",
  int32: 0,
  int64: 0,
  bool: false,
  quantity: "0",
  intOrString: 0,
  time: null,
  microTime: null,
  bytes: "",
};

export function isScalarType(type: string): type is ScalarType {
  return Object.hasOwn(zeros, type);
}

export function zeroOf(type: ScalarType): unknown {
  return zeros[type];
}

const decoders: Readonly<Record<ScalarType, Decode>> = {
  string: ofType("string", "string"),
  bool: ofType("boolean", "bool"),
  int32: integer("int32", 2 ** 31),
  int64: integer("int64", 2 ** 63),
  quantity: decodeQuantity,
  intOrString: decodeIntOrString,
  time: decodeTime,
  microTime: decodeMicroTime,
  bytes: decodeBytes,
};

export function scalarDecoder(type: ScalarType): Decode {
  return decoders[type];
}

function ofType(type: "string" | "boolean", wanted: string): Decode {
  return (value, place, key) => {
    if (typeof value === type) return value;
    throw unreadable(value, goField(place, key), wanted);
  };
}

function integer(wanted: string, limit: number): Decode {
  return (value, place, key) => {
    if (typeof value !== "number") throw unreadable(value, goField(place, key), wanted);
    if (Number.isInteger(value) && value >= -limit && value < limit) return value;
    throw new UnreadableError(unreadable(value, goField(place, key), wanted).message.replace("number", `number ${value}`));
  };
}

function decodeIntOrString(value: unknown, place: Place, key: string): unknown {
  return typeof value === "string" ? value : decoders.int32(value, place, key);
}

function decodeQuantity(value: unknown): unknown {
  try {
    return canonicalQuantity(typeof value === "string" ? value : JSON.stringify(value));
  } catch (error) {
    throw error instanceof QuantityError ? new UnreadableError(error.message, { cause: error }) : error;
  }
}

/** The server keeps whole seconds in UTC. */
function decodeTime(value: unknown, place: Place, key: string): unknown {
  if (typeof value !== "string") throw unreadable(value, goField(place, key), "string");
  if (/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(value) && isDateTime(value)) return value;
  if (!/^\d{4}-\d\d-\d\dT/.test(value) || !isDateTime(value)) {
    throw new UnreadableError(`parsing time ${JSON.stringify(value)} as "2006-01-02T15:04:05Z07:00": it is no RFC 3339 time`);
  }
  return `${new Date(value).toISOString().slice(0, 19)}Z`;
}

/** Exactly six digits after the point: the server takes no other number of them. */
function decodeMicroTime(value: unknown, place: Place, key: string): unknown {
  if (typeof value !== "string") throw unreadable(value, goField(place, key), "string");
  const parts = /^(?<seconds>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.(?<micros>\d{6})(?<zone>Z|[+-]\d\d:\d\d)$/.exec(value)?.groups;
  if (parts === undefined || !isDateTime(value)) {
    throw new UnreadableError(
      `parsing time ${JSON.stringify(value)} as "2006-01-02T15:04:05.000000Z07:00": it is no RFC 3339 time with six digits after the point`,
    );
  }
  if (parts["zone"] === "Z") return value;
  return `${new Date(`${parts["seconds"]}${parts["zone"]}`).toISOString().slice(0, 19)}.${parts["micros"]}Z`;
}

function decodeBytes(value: unknown, place: Place, key: string): unknown {
  if (typeof value !== "string") throw unreadable(value, goField(place, key), "[]uint8");
  const text = value.replaceAll(/[\r\n]/g, "");
  if (!/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text)) {
    throw new UnreadableError("illegal base64 data at input byte 0");
  }
  return text;
}
