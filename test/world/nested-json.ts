import type { Json } from "#model/meta.ts";

/** Objects and lists in each other, `levels` deep. */
export function nested(levels: number): Json {
  let value: Json = "x";
  for (let level = 0; level < levels; level++) value = level % 2 === 0 ? { a: value } : [value];
  return value;
}

/** The same as text, which JSON.stringify could not write. */
export function nestedText(levels: number): string {
  return `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;
}
