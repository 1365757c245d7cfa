import { Causes } from "../causes.ts";
import { isList, isRecord, type JsonRecord, jsonEqual } from "../json.ts";
import type { SchemaNode } from "./schema-node.ts";
import { checkValue, fieldAt, type Report } from "./value-checks.ts";

/** In place of a stored value where there is none to compare with. Null would be a value. */
export const nothingStored = Symbol("nothing stored");

/**
 * Everything in `value` that its schema does not allow. Mistakes that are in the stored object already do not count:
 * a schema that has become stricter must not stand in the way of unrelated changes.
 */
export function validate(node: SchemaNode, value: unknown, stored: unknown, report: Report): void {
  validateAt({ node, value, stored, path: "" }, report);
}

interface Place {
  readonly node: SchemaNode;
  readonly value: unknown;
  readonly stored: unknown;
  readonly path: string;
}

function validateAt(place: Place, report: Report): void {
  const { node, value, stored, path } = place;
  if (value === stored) return;
  const before = report.causes.count;
  checkValue(node, value, path, report);
  checkAlternatives(place, report);
  if (isRecord(value)) validateRecord(place, value, report);
  else if (isList(value)) validateList(place, value, report);
  if (report.causes.count > before && stored !== nothingStored && jsonEqual(value, stored)) report.causes.backTo(before);
}

function validateRecord({ node, stored, path }: Place, value: JsonRecord, report: Report): void {
  checkSize(node, Object.keys(value).length, path, report);
  for (const key of Object.keys(value)) {
    const below = node.properties.get(key) ?? node.additional;
    if (below === undefined) continue;
    const childPath = path === "" ? key : `${path}.${key}`;
    const childStored = isRecord(stored) && Object.hasOwn(stored, key) ? stored[key] : nothingStored;
    validateAt({ node: below, value: value[key], stored: childStored, path: childPath }, report);
  }
  for (const key of node.required) {
    if (!Object.hasOwn(value, key)) report.causes.required(fieldAt(report, path === "" ? key : `${path}.${key}`));
  }
}

function checkSize({ schema }: SchemaNode, size: number, path: string, report: Report): void {
  const { minProperties, maxProperties } = schema;
  const field = fieldAt(report, path);
  if (minProperties !== undefined && size < minProperties) {
    report.causes.invalid(field, size, `${path} in body should have at least ${minProperties} properties`);
  }
  if (maxProperties !== undefined && size > maxProperties) report.causes.tooMany(field, size, maxProperties);
}

function validateList({ node, stored, path }: Place, value: readonly unknown[], report: Report): void {
  const { minItems, maxItems } = node.schema;
  const items = node.items;
  if (items !== undefined) {
    const storedItem = storedItems(node, stored);
    for (const [index, item] of value.entries()) {
      validateAt({ node: items, value: item, stored: storedItem(item), path: `${path}[${index}]` }, report);
    }
  }
  const field = fieldAt(report, path);
  if (minItems !== undefined && value.length < minItems) {
    report.causes.invalid(field, value.length, `${path} in body should have at least ${minItems} items`);
  }
  if (maxItems !== undefined && value.length > maxItems) report.causes.tooMany(field, value.length, maxItems);
}

/** Finds the stored version of an item. Only items of keyed lists have an identity; others have no version to compare with. */
export function storedItems(node: SchemaNode, stored: unknown): (item: unknown) => unknown {
  const keys = node.mapKeys;
  if (keys === undefined || !isList(stored) || stored.length === 0) return () => nothingStored;
  return (item) => {
    if (!isRecord(item)) return nothingStored;
    return stored.find((other) => isRecord(other) && keys.every((key) => jsonEqual(other[key], item[key]))) ?? nothingStored;
  };
}

/** At least one alternative must hold. If none does, the first one says why: the server picks among them likewise. */
function checkAlternatives({ node, value, path }: Place, report: Report): void {
  if (node.alternatives.length === 0) return;
  const holds = node.alternatives.some((alternative) => {
    const attempt: Report = { ...report, causes: new Causes() };
    validateAt({ node: alternative, value, stored: nothingStored, path }, attempt);
    return attempt.causes.count === 0;
  });
  const first = node.alternatives[0];
  if (holds || first === undefined) return;
  report.causes.invalid(fieldAt(report, ""), "", `"${path}" must validate at least one schema (anyOf)`);
  validateAt({ node: first, value, stored: nothingStored, path }, report);
}
