import type { ClientRequest, HttpCaller } from "./http-caller.ts";

const largestPage = 1000;

export interface ListWish {
  readonly path: string;
  /** The field of a page that has the items. */
  readonly items: string;
  readonly query?: ClientRequest["query"];
  readonly signal?: AbortSignal | undefined;
}

/** Reads a list to its last page. */
export async function everyPage<Item>(http: HttpCaller, { path, items, query = {}, signal }: ListWish): Promise<readonly Item[]> {
  const found: Item[] = [];
  for (let cursor: string | undefined; ;) {
    const wanted = { ...query, cursor, limit: largestPage };
    const page = await http.json<Readonly<Record<string, unknown>>>({ method: "GET", path, query: wanted, signal });
    found.push(...(page[items] as readonly Item[]));
    if (page["next"] === undefined) return found;
    cursor = page["next"] as string;
  }
}
