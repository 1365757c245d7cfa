import type { Causes } from "../causes.ts";
import { isList, isRecord } from "../json.ts";
import type { SchemaNode } from "./schema-node.ts";

/** Duplicates in sets, and items of keyed lists that share their key. What is the same as in the stored object is not looked at. */
export function checkLists(place: ListPlace, causes: Causes): void {
  const { node, value, stored, path } = place;
  if (!node.hasUniqueLists || value === stored) return;
  if (isRecord(value)) {
    const was = isRecord(stored) ? stored : {};
    for (const key of Object.keys(value)) {
      const named = node.properties.get(key);
      const below = named ?? node.additional;
      if (below === undefined) continue;
      const childPath = named === undefined ? `${path}[${key}]` : path === "" ? key : `${path}.${key}`;
      checkLists({ node: below, value: value[key], stored: was[key], path: childPath }, causes);
    }
  } else if (isList(value)) {
    if (node.isSet) reportDuplicates(value, path, (item) => item, causes);
    else if (node.mapKeys !== undefined) checkKeyedList(node.mapKeys, value, path, causes);
    const items = node.items;
    if (items === undefined) return;
    for (const [index, item] of value.entries())
      checkLists({ node: items, value: item, stored: undefined, path: `${path}[${index}]` }, causes);
  }
}

export interface ListPlace {
  readonly node: SchemaNode;
  readonly value: unknown;
  readonly stored: unknown;
  readonly path: string;
}

function checkKeyedList(keys: readonly string[], list: readonly unknown[], path: string, causes: Causes): void {
  const stranger = list.findIndex((item) => item !== null && !isRecord(item));
  if (stranger !== -1) {
    causes.invalid(`${path}[${stranger}]`, list[stranger], "must be an object for an array of list-type map");
    return;
  }
  const sorted = keys.toSorted();
  const keyOf = (item: unknown): unknown =>
    Object.fromEntries(sorted.flatMap((key) => (isRecord(item) && Object.hasOwn(item, key) ? [[key, item[key]]] : [])));
  reportDuplicates(list, path, keyOf, causes);
}

/** Reports the second of equal items, and not the third, as the server does. */
function reportDuplicates(list: readonly unknown[], path: string, keyOf: (item: unknown) => unknown, causes: Causes): void {
  if (list.length < 2) return;
  const seen = new Map<string, number>();
  for (const [index, item] of list.entries()) {
    const key = keyOf(item);
    const text = JSON.stringify(key);
    const times = seen.get(text) ?? 0;
    seen.set(text, times + 1);
    if (times === 1) causes.duplicate(`${path}[${index}]`, key);
  }
}
