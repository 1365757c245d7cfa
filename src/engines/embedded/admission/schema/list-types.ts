import type { Causes } from "../causes.ts";
import { isList, isRecord, type JsonRecord } from "../json.ts";
import type { SchemaNode } from "./schema-node.ts";

export interface ListPlace {
  readonly node: SchemaNode;
  readonly value: unknown;
  readonly stored: unknown;
  readonly path: string;
}

/** Duplicates in sets, and items of keyed lists that share their key. What is the same as in the stored object is not looked at. */
export function checkLists(place: ListPlace, causes: Causes): void {
  const { node, value, stored } = place;
  if (!node.hasUniqueLists || value === stored) return;
  if (isRecord(value)) checkProperties(place, value, causes);
  else if (isList(value)) checkList(place, value, causes);
}

function checkProperties({ node, stored, path }: ListPlace, value: JsonRecord, causes: Causes): void {
  const was = isRecord(stored) ? stored : {};
  for (const key of Object.keys(value)) {
    const named = node.properties.get(key);
    const below = named ?? node.additional;
    if (below === undefined) continue;
    const namedPath = path === "" ? key : `${path}.${key}`;
    const childPath = named === undefined ? `${path}[${key}]` : namedPath;
    checkLists({ node: below, value: value[key], stored: was[key], path: childPath }, causes);
  }
}

function checkList({ node, path }: ListPlace, list: readonly unknown[], causes: Causes): void {
  if (node.isSet) reportDuplicates(list, path, (item) => item, causes);
  else if (node.mapKeys !== undefined) checkKeyedList(node.mapKeys, list, path, causes);
  const items = node.items;
  if (items === undefined) return;
  for (const [index, item] of list.entries())
    checkLists({ node: items, value: item, stored: undefined, path: `${path}[${index}]` }, causes);
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
