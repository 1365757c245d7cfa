import { parseFieldSelector, parseLabelSelector } from "#engines/embedded/admission/selectors.ts";
import type { ApiObject } from "#model/meta.ts";
import type { ObjectTable } from "./object-table.ts";
import { badRequest } from "./refusals.ts";

export type Selection = (object: ApiObject) => boolean;

export interface Selectors {
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
}

/** What the selectors say as one question about an object; undefined when they let everything through. */
export function selectionOf(table: ObjectTable, { labelSelector, fieldSelector }: Selectors): Selection | undefined {
  const parts: Selection[] = [];
  if (labelSelector !== undefined && labelSelector.trim() !== "") {
    const matches = parseLabelSelector(labelSelector);
    parts.push((object) => matches(object.metadata.labels ?? {}));
  }
  if (fieldSelector !== undefined && fieldSelector.trim() !== "") parts.push(fieldSelection(table, fieldSelector));
  if (parts.length === 0) return undefined;
  return (object) => parts.every((part) => part(object));
}

function fieldSelection(table: ObjectTable, text: string): Selection {
  const { rules } = table;
  const known = rules.selectableFields({ metadata: {} });
  const wishes = parseFieldSelector(text);
  for (const { key } of wishes) if (!Object.hasOwn(known, key)) throw badRequest(`field label not supported: ${key}`);
  return (object) => {
    const fields = rules.selectableFields(object);
    return wishes.every(({ key, op, value }) => (op === "=") === ((fields[key] ?? "") === value));
  };
}
