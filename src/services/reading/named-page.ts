/** Pages of objects sorted by name. There are few objects, so they are sorted on request. */
import type { ApiObject } from "#model/meta.ts";
import { ServiceError } from "#services/service-error.ts";

export interface PageQuery {
  /** 1 to 1000; 100 when left out. */
  readonly limit?: number;
  /** The `next` of the page before. */
  readonly cursor?: string;
}

export interface NamedPage<T> {
  readonly items: readonly T[];
  readonly next?: string;
}

const maxLimit = 1000;

export function pageOf<T extends ApiObject>(objects: Iterable<T>, { limit = 100, cursor }: PageQuery): NamedPage<T> {
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > maxLimit) {
    throw new ServiceError("invalid_request", `limit must be a whole number from 1 to ${maxLimit}, not ${limit}`, { field: "limit" });
  }
  const after = cursor === undefined ? undefined : decode(cursor);
  const behind = [...objects].filter((object) => after === undefined || placeOf(object) > after);
  const sorted = behind.sort((left, right) => (placeOf(left) < placeOf(right) ? -1 : 1));
  const items = sorted.slice(0, limit);
  const last = items.at(-1);
  return { items, ...(last === undefined || sorted.length <= limit ? {} : { next: encode(placeOf(last)) }) };
}

function placeOf({ metadata: { namespace = "", name = "" } }: ApiObject): string {
  return `${namespace}/${name}`;
}

function encode(place: string): string {
  return Buffer.from(place).toString("base64url");
}

function decode(cursor: string): string {
  const place = Buffer.from(cursor, "base64url").toString();
  if (/^[a-z0-9.-]*\/[a-z0-9.-]+$/.test(place) && encode(place) === cursor) return place;
  const message = "the cursor is not one that a list gave out: pass it on unchanged, or leave it out to begin anew";
  throw new ServiceError("invalid_request", message, { field: "cursor" });
}
