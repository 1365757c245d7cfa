import { parseFieldSelector } from "#engines/embedded/admission/field-selector.ts";
import { type LabelRequirement, LabelSelectorError, matchesLabels, parseLabelSelector } from "#model/label-selector.ts";
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
    const requirements = readLabelSelector(labelSelector);
    parts.push((object) => matchesLabels(requirements, object.metadata.labels));
  }
  if (fieldSelector !== undefined && fieldSelector.trim() !== "") parts.push(fieldSelection(table, fieldSelector));
  if (parts.length === 0) return undefined;
  return (object) => parts.every((part) => part(object));
}

function readLabelSelector(text: string): readonly LabelRequirement[] {
  try {
    return parseLabelSelector(text);
  } catch (error) {
    throw error instanceof LabelSelectorError ? badRequest(error.complaint) : error;
  }
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
