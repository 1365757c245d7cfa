/**
 * Table columns of each kind. Our kinds define printer columns; Kubernetes' kinds have the columns of an API server (core-columns.ts, pod-columns.ts); all
 * others have name and age.
 */
import type { Cell } from "../print/table-text.ts";
import { age } from "../print/human-duration.ts";
import type { ApiObject, Json } from "#model/meta.ts";
import { customKinds } from "#model/kinds.ts";
import { resourceName, type ResourceType } from "#model/resource.ts";
import type { PrinterColumn } from "#model/structural-schema.ts";
import { goJson } from "../print/go-json.ts";
import { coreColumns } from "./core-columns.ts";
import { compileJsonPath } from "./json-path.ts";

export interface Column<T extends ApiObject = ApiObject> {
  readonly name: string;
  /** Shown in wide output only. */
  readonly wide?: boolean;
  /** Declared as a method, so that columns of different kinds fit into one list: each is only called with objects of its kind. */
  cell(object: T, now: number): Cell;
}

export function columnsOf(type: ResourceType): readonly Column[] {
  const own = customKinds.find((kind) => resourceName(kind.resource) === resourceName(type));
  if (own !== undefined) return [nameColumn, ...own.printerColumns.map(printerColumn)];
  return coreColumns(resourceName(type)) ?? [nameColumn, ageColumn];
}

const nameColumn: Column = { name: "Name", cell: (object) => object.metadata.name };
const ageColumn: Column = { name: "Age", cell: (object, now) => age(object.metadata.creationTimestamp, now) };

export function printerColumn(column: PrinterColumn): Column {
  const find = compileJsonPath(column.jsonPath);
  return {
    name: column.name,
    wide: (column.priority ?? 0) > 0,
    cell: (object, now) => printerCell(column.type, find(object), now),
  };
}

/** As an API server does, a value of another type than the column's is left blank; text columns accept all types. */
function printerCell(type: PrinterColumn["type"], value: Json | undefined, now: number): Cell {
  if (value === undefined || value === null) return undefined;
  if (type === "string") return typeof value === "object" ? goJson(value) : String(value);
  if (type === "date") return typeof value === "string" ? age(value, now) : undefined;
  if (type === "boolean") return typeof value === "boolean" ? value : undefined;
  if (typeof value !== "number") return undefined;
  return type === "integer" ? Math.trunc(value) : value;
}
