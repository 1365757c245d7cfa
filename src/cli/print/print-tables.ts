import type { ApiObject } from "#model/meta.ts";
import type { ResourceType } from "#model/resource.ts";
import { kindName } from "../kind-name.ts";
import { type Column, columnsOf } from "../table/columns.ts";
import { type Cell, TableText } from "./table-text.ts";

export interface TableOptions {
  readonly output: string;
  readonly headers: boolean;
  /** Undefined if objects of all namespaces are shown: then each row names its namespace. */
  readonly namespace: string | undefined;
  readonly now: number;
}

export interface Group {
  readonly type: ResourceType;
  readonly objects: readonly ApiObject[];
}

/** One table per kind, with an empty line between. With several kinds, names include the kind. */
export function printTables(groups: readonly Group[], options: TableOptions): string {
  const tables = joinEqual(groups).filter(({ objects }) => objects.length > 0);
  const withKind = new Set(groups.map(({ type }) => type)).size > 1;
  return tables
    .map(({ type, objects }) => new ObjectTable(type, options, withKind).rows(objects, options.now))
    .join(options.headers ? "\n" : "");
}

/** A table of one kind that may grow. The header is printed with the first rows. */
export class ObjectTable {
  readonly #columns: readonly Column[];
  readonly #text = new TableText();
  #headers: boolean;

  constructor(type: ResourceType, options: Pick<TableOptions, "output" | "headers" | "namespace">, withKind = false) {
    const shown = columnsOf(type).filter(({ wide }) => wide !== true || options.output === "wide");
    const named = withKind ? shown.map((column) => (column.name === "Name" ? kindColumn(type, column) : column)) : shown;
    this.#columns = options.namespace === undefined && type.namespaced ? [namespaceColumn, ...named] : named;
    this.#headers = options.headers;
  }

  rows(objects: readonly ApiObject[], now: number): string {
    const rows: Cell[][] = objects.map((object) => this.#columns.map((column) => column.cell(object, now)));
    if (rows.length === 0) return "";
    if (this.#headers) rows.unshift(this.#columns.map(({ name }) => name.toUpperCase()));
    this.#headers = false;
    return this.#text.lay(rows);
  }
}

const namespaceColumn: Column = { name: "Namespace", cell: (object) => object.metadata.namespace };

function kindColumn(type: ResourceType, column: Column): Column {
  return { name: column.name, cell: (object, now) => `${kindName(type)}/${column.cell(object, now) ?? ""}` };
}

/** Adjacent objects of one kind share a table: lists arrive in pages, and names one by one. */
function joinEqual(groups: readonly Group[]): readonly Group[] {
  const joined: { type: ResourceType; objects: ApiObject[] }[] = [];
  for (const { type, objects } of groups) {
    const last = joined.at(-1);
    if (last?.type === type) last.objects.push(...objects);
    else joined.push({ type, objects: [...objects] });
  }
  return joined;
}
