import { dropped, isList, isRecord, type JsonRecord, mapList, mapRecord, put } from "../json.ts";
import type { SchemaNode } from "./schema-node.ts";

/**
 * The value with its schema's defaults, from the top down into what is there: an object that is missing and has no default
 * of its own stays missing. A null where none may be counts as missing.
 */
export function applyDefaults(node: SchemaNode, value: unknown): unknown {
  if (isRecord(value))
    return addMissing(
      node,
      mapRecord(value, (child, key) => defaultProperty(node, child, key)),
    );
  const items = node.items;
  if (!isList(value) || items === undefined) return value;
  return mapList(value, (item) => (standsForMissing(items, item) ? (items.fallback ?? item) : applyDefaults(items, item)));
}

function defaultProperty(node: SchemaNode, child: unknown, key: string): unknown {
  const below = node.properties.get(key) ?? node.additional;
  if (below === undefined) return child;
  return standsForMissing(below, child) ? (below.fallback ?? dropped) : applyDefaults(below, child);
}

function standsForMissing(node: SchemaNode, value: unknown): boolean {
  return value === null && !node.nullable;
}

function addMissing(node: SchemaNode, value: JsonRecord): JsonRecord {
  let filled: Record<string, unknown> | undefined;
  for (const [key, fallback] of node.fallbacks) {
    if (Object.hasOwn(value, key)) continue;
    filled ??= { ...value };
    put(filled, key, fallback);
  }
  return filled ?? value;
}
