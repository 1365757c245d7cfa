/**
 * YAML as kubectl prints it: block style, lists not indented under their key, plain text where that is safe. Written here instead of with a library so
 * that outputs can be compared with kubectl's byte by byte, and because printing then loads no parser. yaml-scalar.ts writes strings, yaml-plain.ts
 * decides which may stay unquoted, yaml-key-order.ts sorts.
 */
import type { Json } from "#model/meta.ts";
import { scalarText } from "./yaml-scalar.ts";
import { compareKeys } from "./yaml-key-order.ts";

export function yamlText(value: unknown): string {
  const lines = block(value as Json, "");
  return `${lines.join("\n")}\n`;
}

/** The lines of a value that starts on its own line. */
function block(value: Json, indent: string): string[] {
  if (isFilledList(value)) return value.flatMap((item) => listItem(item, indent));
  const entries = filledEntries(value);
  if (entries.length > 0) return entries.flatMap(([key, entry]) => mapEntry(key, entry, indent));
  const [first = "", ...rest] = inline(value, indent, indent.length);
  return [indent + first, ...rest];
}

function listItem(item: Json, indent: string): string[] {
  const inner = `${indent}  `;
  const [first = "", ...rest] = block(item, inner);
  return [`${indent}- ${first.slice(inner.length)}`, ...rest];
}

function mapEntry(key: string, value: Json, indent: string): string[] {
  const name = `${indent}${scalarText(key, { key: true, indent, column: 0 }).join("")}:`;
  if (isFilledList(value)) return [name, ...block(value, indent)];
  if (filledEntries(value).length > 0) return [name, ...block(value, `${indent}  `)];
  const [first = "", ...rest] = inline(value, `${indent}  `, name.length + 1);
  return [`${name} ${first}`, ...rest];
}

/** A value after `key:` or `- `. Further lines include their own indent. */
function inline(value: Json, indent: string, column: number): string[] {
  if (value === null) return ["null"];
  if (typeof value === "string") return scalarText(value, { key: false, indent, column });
  if (typeof value === "number") return [numberText(value)];
  if (typeof value === "boolean") return [String(value)];
  return [Array.isArray(value) ? "[]" : "{}"];
}

function isFilledList(value: Json): value is readonly Json[] {
  return Array.isArray(value) && value.length > 0;
}

function filledEntries(value: Json): [string, Json][] {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return [];
  const entries = Object.entries(value).filter(([, entry]) => entry !== undefined);
  return entries.sort(([a], [b]) => compareKeys(a, b));
}

/** Whole numbers as they are; others with an exponent from six digits before the point or four zeros behind it. */
function numberText(value: number): string {
  if (Number.isInteger(value) && Math.abs(value) < 1e21) return String(value);
  const [digits = "", exponent = "0"] = value.toExponential().split("e");
  const power = Number(exponent);
  if (power >= -4 && power < 6) return String(value);
  return `${digits}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
}
