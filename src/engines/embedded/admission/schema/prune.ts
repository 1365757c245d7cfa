import { dropped, isList, isRecord, mapList, mapRecord } from "../json.ts";
import type { SchemaNode } from "./schema-node.ts";

/** The value without fields that its schema does not have. Their paths are added to `unknown`. */
export function prune(node: SchemaNode | undefined, value: unknown, path: string, unknown: string[]): unknown {
  if (isRecord(value)) {
    return mapRecord(value, (child, key) => {
      const below = node?.properties.get(key) ?? node?.additional;
      const childPath = path === "" ? key : `${path}.${key}`;
      if (below !== undefined) return prune(below, child, childPath, unknown);
      if (node?.preservesUnknown === true) return child;
      unknown.push(childPath);
      return dropped;
    });
  }
  if (!isList(value) || (node?.items === undefined && node?.preservesUnknown === true)) return value;
  return mapList(value, (item, index) => prune(node?.items, item, `${path}[${index}]`, unknown));
}
