/** Converts JSON from the wire to the schema's types, by the rules of proto3 JSON, or reports where it is wrong. */
import { enums, isScalar, jsonName, mapType, messages, type Field, type Fields, type Scalar } from "#envd-protocol/schema.ts";
import { ConnectError } from "./connect-error.ts";

export type Json = Readonly<Record<string, unknown>>;

export function readMessage(type: string, value: unknown, where = type): Json {
  const fields: Fields | undefined = messages[type];
  if (fields === undefined) throw new Error(`the schema has no message ${type}`);
  const given = objectAt(value, where);
  const result: Record<string, unknown> = {};
  const chosen = new Set<string>();
  for (const [name, field] of Object.entries(fields)) {
    const key = jsonName(name);
    const own = given[key] ?? given[name];
    if (own === undefined || own === null) continue;
    if (field.oneof !== undefined && chosen.size > 0) throw bad(where, `has more than one of ${[...chosen, key].join(", ")}`);
    if (field.oneof !== undefined) chosen.add(key);
    result[key] = readField(field, own, `${where}.${key}`);
  }
  return result;
}

function readField(field: Field, value: unknown, where: string): unknown {
  if (field.type === mapType) return readMap(value, where);
  if (field.repeated !== true) return readSingle(field.type, value, where);
  if (!Array.isArray(value)) throw bad(where, "must be a list");
  return value.map((own: unknown, index) => readSingle(field.type, own, `${where}[${index}]`));
}

function readSingle(type: string, value: unknown, where: string): unknown {
  if (isScalar(type)) return readScalar(type, value, where);
  const values = enums[type];
  return values === undefined ? readMessage(type, value, where) : readEnum(values, value, where);
}

function readMap(value: unknown, where: string): Json {
  const given = objectAt(value, where);
  for (const [key, own] of Object.entries(given)) if (typeof own !== "string") throw bad(`${where}.${key}`, "must be a text");
  return given;
}

function readScalar(type: Scalar, value: unknown, where: string): unknown {
  if (type === "bool") {
    if (typeof value !== "boolean") throw bad(where, "must be true or false");
    return value;
  }
  if (type === "uint32" || type === "sint32")
    return readInteger(value, where, type === "uint32" ? [0, 2 ** 32 - 1] : [-(2 ** 31), 2 ** 31 - 1]);
  if (typeof value !== "string") throw bad(where, "must be a text");
  if (type === "bytes" && !/^[A-Za-z0-9+/_-]*={0,2}$/.test(value)) throw bad(where, "must be base64");
  return value;
}

function readInteger(value: unknown, where: string, [least, most]: readonly [number, number]): number {
  const number = typeof value === "string" && /^-?\d{1,10}$/.test(value) ? Number(value) : value;
  if (typeof number === "number" && Number.isInteger(number) && number >= least && number <= most) return number;
  throw bad(where, `must be a whole number from ${least} to ${most}`);
}

/** The name of an enum value; an unknown number stays a number. */
function readEnum(values: Readonly<Record<string, number>>, value: unknown, where: string): string | number {
  if (typeof value === "string" && Object.hasOwn(values, value)) return value;
  if (typeof value === "number" && Number.isInteger(value))
    return Object.entries(values).find(([, number]) => number === value)?.[0] ?? value;
  throw bad(where, `must be one of ${Object.keys(values).join(", ")}`);
}

function objectAt(value: unknown, where: string): Json {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Json;
  throw bad(where, "must be an object");
}

function bad(where: string, what: string): ConnectError {
  return new ConnectError("invalid_argument", `${where} ${what}`);
}
