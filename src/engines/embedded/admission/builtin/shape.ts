/**
 * The fields of Kubernetes' own kinds, and what the API server makes of a JSON object when it reads it: fields that the
 * kind has not are dropped and named, wrong types are refused, empty values are left out or written as zeros, quantities
 * and times take their canonical form, defaults are filled in.
 *
 * A field is written as its type, followed by
 * - nothing: left out when empty (`""`, 0, false),
 * - `?`: kept when given, even if empty,
 * - `!`: always written, empty if not given,
 * - `=value`: this default when empty or not given (`?=value`: when not given).
 * Another shape is an object that may be given; `always` makes it one that is always written, `{}` if not given.
 */
import { deepFreeze } from "#lib/deep-freeze.ts";
import { dropped, isList, isRecord, type JsonRecord, mapList, mapRecord, put } from "../json.ts";
import { type Decode, goField, pathOf, type Place, scalarDecoder, type ScalarType, unreadable, zeroOf } from "./scalars.ts";

type ScalarField = `${ScalarType}${"" | "!" | "?"}${"" | `=${string}`}`;

export type FieldSpec = ScalarField | "any" | "ignored" | Shape | Field;

export interface Shape {
  readonly typeName: string;
  readonly fields: ReadonlyMap<string, Field>;
  /** Fields that are there even if they were not given. */
  readonly ensured: readonly (readonly [key: string, value: unknown])[];
}

export interface Field {
  readonly decode: Decode;
  /** What is written when the field is not given; undefined: nothing. */
  readonly absent?: unknown;
}

export function shape(typeName: string, specs: Readonly<Record<string, FieldSpec>>): Shape {
  const fields = new Map(Object.entries(specs).map(([key, spec]) => [key, fieldOf(spec)]));
  return { typeName, fields, ensured: [...fields].flatMap(([key, { absent }]) => (absent === undefined ? [] : [[key, absent]])) };
}

function fieldOf(spec: FieldSpec): Field {
  if (spec === "any") return { decode: (value) => value ?? dropped };
  if (spec === "ignored") return { decode: () => dropped };
  if (typeof spec === "string") return scalarField(spec);
  return "decode" in spec ? spec : { decode: optional(objectDecoder(spec)) };
}

/** An object that is written as `{}`, with its own defaults, when it is not given. */
export function always(below: Shape): Field {
  const decode = objectDecoder(below);
  const absent = deepFreeze(decodeFields(below, {}, { path: "", owner: below.typeName, unknown: [] }));
  return { decode: (value, place, key) => (value === null ? absent : decode(value, place, key)), absent };
}

/** A list, left out when empty. */
export function listOf(spec: FieldSpec): Field {
  const item = itemDecoder(spec);
  return {
    decode: (value, place, key) => {
      if (value === null) return dropped;
      if (!isList(value)) throw unreadable(value, goField(place, key), `[]${goName(spec)}`);
      return value.length === 0 ? dropped : mapList(value, (one, index) => item(one, place, `${key}[${index}]`));
    },
  };
}

/** A map with texts as keys, left out when empty. */
export function mapOf(spec: FieldSpec): Field {
  const item = itemDecoder(spec);
  return {
    decode: (value, place, key) => {
      if (value === null) return dropped;
      if (!isRecord(value)) throw unreadable(value, goField(place, key), `map[string]${goName(spec)}`);
      return Object.keys(value).length === 0 ? dropped : mapRecord(value, (one) => item(one, place, key));
    },
  };
}

/** Items have no presence of their own: null is their zero. */
function itemDecoder(spec: FieldSpec): Decode {
  if (typeof spec === "string" && spec !== "any" && spec !== "ignored") {
    const { type } = readSpec(spec);
    const decode = scalarDecoder(type);
    return (value, place, key) => (value === null ? zeroOf(type) : decode(value, place, key));
  }
  if (typeof spec === "object" && !("decode" in spec)) {
    const decode = objectDecoder(spec);
    return (value, place, key) => decode(value ?? {}, place, key);
  }
  return fieldOf(spec).decode;
}

function goName(spec: FieldSpec): string {
  if (typeof spec === "string") return spec === "bytes" ? "[]uint8" : spec;
  return "typeName" in spec ? `v1.${spec.typeName}` : "object";
}

function optional(decode: Decode): Decode {
  return (value, place, key) => (value === null ? dropped : decode(value, place, key));
}

function objectDecoder(below: Shape): Decode {
  return (value, place, key) => {
    if (!isRecord(value)) throw unreadable(value, goField(place, key), `v1.${below.typeName}`);
    return decodeFields(below, value, { path: pathOf(place, key), owner: below.typeName, unknown: place.unknown });
  };
}

function decodeFields(below: Shape, value: JsonRecord, place: Place): JsonRecord {
  const decoded = mapRecord(value, (child, key) => {
    const field = below.fields.get(key);
    if (field !== undefined) return field.decode(child, place, key);
    place.unknown.push(pathOf(place, key));
    return dropped;
  });
  let complete: Record<string, unknown> | undefined;
  for (const [key, absent] of below.ensured) {
    if (Object.hasOwn(decoded, key)) continue;
    complete ??= { ...decoded };
    put(complete, key, absent);
  }
  return complete ?? decoded;
}

/** Reads a whole object, or throws an UnreadableError that says which field does not fit. */
export function decodeObject(below: Shape, value: JsonRecord): { readonly value: JsonRecord; readonly unknownFields: readonly string[] } {
  const unknown: string[] = [];
  return { value: decodeFields(below, value, { path: "", owner: below.typeName, unknown }), unknownFields: unknown };
}

function scalarField(spec: ScalarField): Field {
  const { type, presence, fallback } = readSpec(spec);
  const decode = scalarDecoder(type);
  const zero = zeroOf(type);
  if (presence === "!") return { decode: (value, place, key) => (value === null ? zero : decode(value, place, key)), absent: zero };
  if (presence === "?") {
    return { decode: (value, place, key) => (value === null ? dropped : decode(value, place, key)), absent: fallback };
  }
  return {
    decode: (value, place, key) => {
      const decoded = value === null ? zero : decode(value, place, key);
      return decoded === zero ? dropped : decoded;
    },
    absent: fallback,
  };
}

function readSpec(spec: ScalarField): { type: ScalarType; presence: string; fallback: unknown } {
  const groups = /^(?<type>\w+)(?<presence>[!?]?)(?:=(?<fallback>.*))?$/.exec(spec)?.groups ?? {};
  const type = groups["type"] as ScalarType;
  const fallback = groups["fallback"];
  // A default is written like a value of its type: a text is a text, a number or a boolean is JSON.
  const value: unknown = fallback === undefined || type === "string" || type === "quantity" ? fallback : JSON.parse(fallback);
  return { type, presence: groups["presence"] ?? "", fallback: value };
}
