/**
 * What the API server makes of a JSON object when it reads it as one of its own kinds: fields that the kind has not are dropped
 * and named, wrong types are refused, empty values are left out or written as zeros, quantities and times take their canonical
 * form, defaults are filled in.
 *
 * A table says it for the fields of each type. A field is written as the name of its type, `[]` and the name for a list, `{}` and
 * the name for a map with texts as keys, followed by
 * - nothing: left out when empty (`""`, 0, false, no items),
 * - `?`: kept when given, even if empty,
 * - `!`: always written, empty if not given; an object is then `{}` with its own defaults,
 * - `=value`: this default when empty or not given (`?=value`: when not given).
 * `any` is carried along without being looked at, `dropped` is known and not kept.
 */
import { deepFreeze } from "#lib/deep-freeze.ts";
import { dropped, isList, isRecord, type JsonRecord, mapList, mapRecord, put } from "../json.ts";
import { type Decode, goField, isScalarType, pathOf, type Place, scalarDecoder, type ScalarType, unreadable, zeroOf } from "./scalars.ts";

export type FieldTables = Readonly<Record<string, Readonly<Record<string, string>>>>;

export interface Shape {
  readonly typeName: string;
  readonly fields: ReadonlyMap<string, Field>;
  /** Fields that are there even if they were not given. */
  readonly ensured: readonly (readonly [key: string, value: unknown])[];
}

interface Field {
  readonly decode: Decode;
  /** What is written when the field is not given; undefined: nothing. */
  readonly absent?: unknown;
}

type ShapeOf = (typeName: string) => Shape;

/** Gives the shape of each type in the tables. No type may contain itself. */
export function shapesOf(tables: FieldTables): ShapeOf {
  const made = new Map<string, Shape>();
  const shapeOf: ShapeOf = (typeName) => {
    const before = made.get(typeName);
    if (before !== undefined) return before;
    const specs = tables[typeName];
    if (specs === undefined) throw new Error(`no table says what the fields of ${typeName} are`);
    const fields = new Map(Object.entries(specs).map(([key, text]) => [key, fieldOf(readSpec(text), shapeOf)]));
    const ensured = [...fields].flatMap(([key, { absent }]) => (absent === undefined ? [] : [[key, absent] as const]));
    const shape = { typeName, fields, ensured };
    made.set(typeName, shape);
    return shape;
  };
  return shapeOf;
}

interface FieldSpec {
  readonly many: "" | "[]" | "{}";
  readonly type: string;
  readonly presence: "" | "?" | "!";
  readonly fallback: string | undefined;
}

function readSpec(text: string): FieldSpec {
  const groups = /^(?<many>\[\]|\{\})?(?<type>\w+)(?<presence>[!?]?)(?:=(?<fallback>.*))?$/.exec(text)?.groups;
  if (groups === undefined) throw new Error(`${JSON.stringify(text)} is not how a field is written`);
  const { many = "", type = "", presence = "", fallback } = groups;
  return { many, type, presence, fallback } as FieldSpec;
}

function fieldOf(spec: FieldSpec, shapeOf: ShapeOf): Field {
  const { many, type, presence } = spec;
  if (many === "[]") return listField(type, shapeOf);
  if (many === "{}") return mapField(type, shapeOf);
  if (type === "any") return { decode: (value) => value ?? dropped };
  if (type === "dropped") return { decode: () => dropped };
  if (isScalarType(type)) return scalarField(type, spec);
  return presence === "!" ? writtenObject(shapeOf(type)) : { decode: optional(objectDecoder(shapeOf(type))) };
}

/** An object that is written as `{}`, with its own defaults, when it is not given. */
function writtenObject(below: Shape): Field {
  const decode = objectDecoder(below);
  const absent = deepFreeze(decodeFields(below, {}, { path: "", owner: below.typeName, unknown: [] }));
  return { decode: (value, place, key) => (value === null ? absent : decode(value, place, key)), absent };
}

function listField(type: string, shapeOf: ShapeOf): Field {
  const item = itemDecoder(type, shapeOf);
  return {
    decode: (value, place, key) => {
      if (value === null) return dropped;
      if (!isList(value)) throw unreadable(value, goField(place, key), `[]${goName(type)}`);
      return value.length === 0 ? dropped : mapList(value, (one, index) => item(one, place, `${key}[${index}]`));
    },
  };
}

function mapField(type: string, shapeOf: ShapeOf): Field {
  const item = itemDecoder(type, shapeOf);
  return {
    decode: (value, place, key) => {
      if (value === null) return dropped;
      if (!isRecord(value)) throw unreadable(value, goField(place, key), `map[string]${goName(type)}`);
      return Object.keys(value).length === 0 ? dropped : mapRecord(value, (one) => item(one, place, key));
    },
  };
}

/** Items have no presence of their own: null is their zero. */
function itemDecoder(type: string, shapeOf: ShapeOf): Decode {
  if (isScalarType(type)) {
    const decode = scalarDecoder(type);
    return (value, place, key) => (value === null ? zeroOf(type) : decode(value, place, key));
  }
  const decode = objectDecoder(shapeOf(type));
  return (value, place, key) => decode(value ?? {}, place, key);
}

function goName(type: string): string {
  if (type === "bytes") return "[]uint8";
  return isScalarType(type) ? type : `v1.${type}`;
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

function scalarField(type: ScalarType, { presence, fallback: text }: FieldSpec): Field {
  const decode = scalarDecoder(type);
  const zero = zeroOf(type);
  if (presence === "!") return { decode: (value, place, key) => (value === null ? zero : decode(value, place, key)), absent: zero };
  const absent = fallbackOf(type, text);
  if (presence === "?") return { decode: (value, place, key) => (value === null ? dropped : decode(value, place, key)), absent };
  return {
    decode: (value, place, key) => {
      const decoded = value === null ? zero : decode(value, place, key);
      return decoded === zero ? dropped : decoded;
    },
    absent,
  };
}

/** A default is written like a value of its type: a text is a text, a number or a boolean is JSON. */
function fallbackOf(type: ScalarType, text: string | undefined): unknown {
  return text === undefined || type === "string" || type === "quantity" ? text : JSON.parse(text);
}
