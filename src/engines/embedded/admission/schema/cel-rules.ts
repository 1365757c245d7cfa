import { Environment, EvaluationError } from "@marcbachmann/cel-js";
import type { CelRule } from "#model/structural-schema.ts";
import { type Causes, noField } from "../causes.ts";
import { isList, isRecord, jsonEqual, type JsonRecord } from "../json.ts";
import { celConversion, type ToCel } from "./cel-values.ts";
import type { SchemaNode } from "./schema-node.ts";
import { nothingStored, storedItems } from "./validate.ts";

/** The rules of a schema, compiled, in the shape of the schema. Parts without rules are left out. */
export interface RuleTree {
  readonly node: SchemaNode;
  readonly rules: readonly CompiledRule[];
  readonly toCel: ToCel;
  /** Whether a rule here or below looks at the stored value. Such rules are asked even when nothing has changed. */
  readonly hasTransitions: boolean;
  readonly properties: ReadonlyMap<string, RuleTree>;
  readonly additional: RuleTree | undefined;
  readonly items: RuleTree | undefined;
}

interface CompiledRule {
  readonly rule: CelRule;
  readonly isTransition: boolean;
  readonly evaluate: (variables: { readonly self: unknown; readonly oldSelf?: unknown }) => unknown;
}

const environment = new Environment({ enableOptionalTypes: true }).registerVariable("self", "dyn").registerVariable("oldSelf", "dyn");

/** Undefined when there is no rule in the schema. Throws for a rule that cannot be understood: our kinds are wrong then, not an object. */
export function compileRules(node: SchemaNode, path = ""): RuleTree | undefined {
  const rules = (node.schema["x-kubernetes-validations"] ?? []).map((rule) => compileRule(rule, path));
  const properties = new Map(
    [...node.properties].flatMap(([key, below]) => {
      const tree = compileRules(below, path === "" ? key : `${path}.${key}`);
      return tree === undefined ? [] : [[key, tree] as const];
    }),
  );
  const additional = node.additional === undefined ? undefined : compileRules(node.additional, `${path}[*]`);
  const items = node.items === undefined ? undefined : compileRules(node.items, `${path}[*]`);
  const below = [...properties.values(), additional, items].filter((tree) => tree !== undefined);
  if (rules.length === 0 && below.length === 0) return undefined;
  return {
    node,
    rules,
    toCel: celConversion(node) ?? ((value) => value),
    hasTransitions: rules.some((rule) => rule.isTransition) || below.some((tree) => tree.hasTransitions),
    properties,
    additional,
    items,
  };
}

function compileRule(rule: CelRule, path: string): CompiledRule {
  try {
    const evaluate = environment.parse(rule.rule);
    const { valid, error } = evaluate.check();
    if (!valid) throw error ?? new Error("no reason given");
    return { rule, isTransition: /\boldSelf\b/.test(rule.rule), evaluate };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`the rule "${rule.rule}" at "${path}" does not compile: ${reason}`, { cause: error });
  }
}

export interface RulePlace {
  readonly value: unknown;
  /** `nothingStored` on create, and for items of lists that have no identity. */
  readonly stored: unknown;
  readonly path: string;
  /** Whether something that this is a part of is known to be as it was stored. */
  readonly unchanged: boolean;
}

/** Asks every rule of the tree about the value. A broken rule is forgiven where nothing has changed, like any other mistake. */
export function checkRules(tree: RuleTree, place: RulePlace, causes: Causes): void {
  const { value, stored } = place;
  if (value === null || value === undefined) return;
  const unchanged = place.unchanged || value === stored || isSameAtomicList(tree, value, stored);
  if (unchanged && !tree.hasTransitions) return;
  askRules(tree, { ...place, unchanged }, causes);
  if (isRecord(value)) checkProperties(tree, value, { ...place, unchanged }, causes);
  else if (isList(value) && tree.items !== undefined) {
    const storedItem = storedItems(tree.node, stored);
    for (const [index, item] of value.entries()) {
      checkRules(tree.items, { value: item, stored: storedItem(item), path: `${place.path}[${index}]`, unchanged }, causes);
    }
  }
}

function checkProperties(tree: RuleTree, value: JsonRecord, { stored, path, unchanged }: RulePlace, causes: Causes): void {
  for (const key of Object.keys(value)) {
    const isNamed = tree.node.properties.has(key);
    const below = isNamed ? tree.properties.get(key) : tree.additional;
    if (below === undefined) continue;
    const namedPath = path === "" ? key : `${path}.${key}`;
    const was = isRecord(stored) && Object.hasOwn(stored, key) ? stored[key] : nothingStored;
    checkRules(below, { value: value[key], stored: was, path: isNamed ? namedPath : `${path}[${key}]`, unchanged }, causes);
  }
}

/** Items of a list without keys have nothing stored to be compared with, so what is known of the list must do. */
function isSameAtomicList(tree: RuleTree, value: unknown, stored: unknown): boolean {
  return tree.items !== undefined && tree.node.mapKeys === undefined && isList(value) && jsonEqual(value, stored);
}

function askRules(tree: RuleTree, place: RulePlace, causes: Causes): void {
  const { value, stored, unchanged } = place;
  const comparable = stored !== nothingStored && stored !== null && stored !== undefined;
  const asked = tree.rules.filter((rule) => (rule.isTransition ? comparable : !unchanged));
  if (asked.length === 0) return;
  const variables = { self: tree.toCel(value), oldSelf: comparable && tree.hasTransitions ? tree.toCel(stored) : undefined };
  for (const rule of asked) {
    const broken = brokenRule(rule, variables);
    if (broken === undefined) continue;
    if (broken.error !== undefined) reportError(rule.rule, broken.error, tree.node, { ...place, causes });
    else if (rule.isTransition || !comparable || !jsonEqual(value, stored)) reportBroken(rule.rule, tree.node, place, causes);
  }
}

/** Undefined when the rule holds. A rule that cannot be evaluated is broken too, and says why. */
function brokenRule(rule: CompiledRule, variables: { self: unknown; oldSelf: unknown }): { readonly error?: string } | undefined {
  try {
    return rule.evaluate(variables) === true ? undefined : {};
  } catch (error) {
    if (error instanceof EvaluationError) return { error: serverWording(error) };
    throw error;
  }
}

function serverWording(error: EvaluationError): string {
  const index = /index (?<index>\d+) >= size/.exec(error.summary)?.groups?.["index"];
  if (index !== undefined) return `index out of bounds: ${index}`;
  return error.summary.replace(/^No such key/, "no such key").replace(/^integer overflow: .*/, "integer overflow");
}

function reportError(rule: CelRule, error: string, node: SchemaNode, { path, causes }: RulePlace & { causes: Causes }): void {
  const text = rule.message ?? rule.rule;
  causes.invalid(path || noField, node.schema.type ?? "", `${error} evaluating rule: ${text.trim()}`);
}

function reportBroken(rule: CelRule, node: SchemaNode, { path, value }: RulePlace, causes: Causes): void {
  const field = fieldOf(rule, path);
  const shown = node.schema.type === "object" || node.schema.type === "array" ? undefined : value;
  const message = rule.message?.trim() ?? `failed rule: ${rule.rule.trim()}`;
  switch (rule.reason) {
    case "FieldValueForbidden":
      causes.forbidden(field, message);
      break;
    case "FieldValueRequired":
      causes.required(field, message);
      break;
    case "FieldValueDuplicate":
      causes.duplicate(field, shown);
      break;
    case "FieldValueInvalid":
    case undefined:
      causes.invalid(field, shown, message);
  }
}

function fieldOf(rule: CelRule, path: string): string {
  const below = rule.fieldPath?.replaceAll(/\['(?<key>[^']*)'\]/g, ".$<key>").replace(/^\./, "");
  if (below === undefined) return path || noField;
  return path === "" ? below : `${path}.${below}`;
}
