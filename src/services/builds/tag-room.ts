import { ServiceError } from "#services/service-error.ts";
import type { StoredTemplate } from "./build-records.ts";

/** Each is in the template's record, and keeps its build. */
const mostTags = 200;

/** Throws limit_reached for tags that would be too many. */
export function checkTagRoom({ name, tags: known }: Pick<StoredTemplate, "name" | "tags">, wanted: readonly string[]): void {
  const count = new Set([...Object.keys(known), ...wanted]).size;
  if (count <= mostTags || wanted.every((tag) => Object.hasOwn(known, tag))) return;
  throw new ServiceError("limit_reached", `template ${name} may have ${mostTags} tags: remove some that are not needed`, { field: "tags" });
}
