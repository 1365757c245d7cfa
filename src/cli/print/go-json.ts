/**
 * JSON as kubectl writes it: sorted keys, and the same escapes as Go. The form matters where it is stored (kubectl and we both read and write the
 * annotation of apply) and where outputs are compared.
 */
import type { Json } from "#model/meta.ts";

/** Without `indent` all on one line without spaces. */
export function goJson(value: unknown, indent = ""): string {
  return text(value as Json, indent, "\n");
}

/** JSON.stringify does not work for objects: JavaScript puts number-like keys first, whatever their order was. */
function text(value: Json, indent: string, newLine: string): string {
  if (typeof value !== "object" || value === null) return escaped(JSON.stringify(value));
  const inner = newLine + indent;
  if (Array.isArray(value))
    return enclosed(
      "[",
      value.map((item: Json) => text(item, indent, inner)),
      "]",
      [indent, newLine],
    );
  const entries = Object.entries(value).filter(([, entry]) => entry !== undefined);
  const colon = indent === "" ? ":" : ": ";
  const members = entries
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, entry]) => escaped(JSON.stringify(key)) + colon + text(entry, indent, inner));
  return enclosed("{", members, "}", [indent, newLine]);
}

function enclosed(open: string, members: readonly string[], close: string, [indent, newLine]: readonly [string, string]): string {
  if (members.length === 0) return open + close;
  if (indent === "") return open + members.join(",") + close;
  return `${open}${newLine}${indent}${members.join(`,${newLine}${indent}`)}${newLine}${close}`;
}

function escaped(json: string): string {
  return json.replaceAll(/[<>&\u2028\u2029]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
