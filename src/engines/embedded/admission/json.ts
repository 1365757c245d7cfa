/** What the rules need of JSON values: telling their sorts apart, comparing them, and changing them without touching the given ones. */
export type JsonRecord = Readonly<Record<string, unknown>>;

export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

/** Any object can be read by key; interfaces just do not say so. */
export function asRecord(object: object): JsonRecord {
  return object as JsonRecord;
}

/** Own properties only: an object that came as JSON may well have a key named like something on Object.prototype. */
export function own(record: JsonRecord, key: string): unknown {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}

/** Deep equality of JSON values; shared subtrees cost nothing. The order of keys does not count. */
export function jsonEqual(left: unknown, right: unknown): boolean {
  if (left === right) return true;
  if (isList(left)) return isList(right) && left.length === right.length && left.every((item, index) => jsonEqual(item, right[index]));
  if (!isRecord(left) || !isRecord(right)) return false;
  const keys = Object.keys(left);
  if (keys.length !== Object.keys(right).length) return false;
  return keys.every((key) => Object.hasOwn(right, key) && jsonEqual(left[key], right[key]));
}

/** Returned by a mapping for a property that shall not be there. */
export const dropped = Symbol("dropped");

/**
 * The record with each value mapped; the same record when the mapping changes nothing, so that readers keep sharing it.
 * A property that is undefined is no property: JSON cannot say it.
 */
export function mapRecord(record: JsonRecord, map: (value: unknown, key: string) => unknown): JsonRecord {
  const keys = Object.keys(record);
  let copy: Record<string, unknown> | undefined;
  for (let index = 0; index < keys.length; index += 1) {
    const key = keys[index] ?? "";
    const mapped = record[key] === undefined ? dropped : map(record[key], key);
    if (copy === undefined) {
      if (mapped === record[key]) continue;
      copy = {};
      for (let before = 0; before < index; before += 1) put(copy, keys[before] ?? "", record[keys[before] ?? ""]);
    }
    if (mapped !== dropped) put(copy, key, mapped);
  }
  return copy ?? record;
}

/** The list with each item mapped; the same list when the mapping changes nothing. */
export function mapList<T>(list: readonly T[], map: (item: T, index: number) => T): readonly T[] {
  let copy: T[] | undefined;
  for (const [index, item] of list.entries()) {
    const mapped = map(item, index);
    if (copy === undefined && mapped !== item) copy = list.slice(0, index);
    copy?.push(mapped);
  }
  return copy ?? list;
}

/** The record with these properties set (undefined removes one); the same record when it has them already. */
export function withProperties<T extends object>(record: T, changes: JsonRecord): T {
  const given = asRecord(record);
  const changed = Object.entries(changes).filter(([key, value]) => own(given, key) !== value);
  if (changed.length === 0) return record;
  const copy: Record<string, unknown> = { ...given };
  for (const [key, value] of changed) {
    if (value === undefined) delete copy[key];
    else put(copy, key, value);
  }
  // Still a T: the caller names properties of T, with values that T allows there.
  return copy as T;
}

/** A plain assignment to `__proto__` would change the prototype instead of adding a key. */
export function put(target: Record<string, unknown>, key: string, value: unknown): void {
  if (key === "__proto__") Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
  else target[key] = value;
}

/** `next`, or `current` in its place when both say the same: so that readers and later comparisons find the same object again. */
export function shared<T>(next: T, current: T): T {
  return jsonEqual(next, current) ? current : next;
}
