/** Label selectors in their text form, as `kubectl -l` and list calls take them: parsed once, then asked of many objects. */
export type LabelRequirement =
  | { readonly key: string; readonly operator: "In" | "NotIn"; readonly values: readonly string[] }
  | { readonly key: string; readonly operator: "Exists" | "DoesNotExist" }
  | { readonly key: string; readonly operator: "GreaterThan" | "LessThan"; readonly bound: number };

export class LabelSelectorError extends Error {
  override readonly name = "LabelSelectorError";
}

const label = "[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?";
const domain = "[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?";
const keySyntax = new RegExp(`^(?:(?<prefix>${domain})/)?(?<word>${label})$`);
const valueSyntax = new RegExp(`^(?:${label})?$`);

const forms: readonly (readonly [RegExp, (key: string, argument: string) => LabelRequirement | undefined])[] = [
  [/^!\s*(?<key>[^\s=!<>()]+)$/, (key) => ({ key, operator: "DoesNotExist" })],
  [/^(?<key>[^\s=!<>()]+)$/, (key) => ({ key, operator: "Exists" })],
  [/^(?<key>[^\s=!<>()]+)\s*==?\s*(?<argument>[^\s=!<>()]*)$/, (key, value) => oneOf("In", key, value)],
  [/^(?<key>[^\s=!<>()]+)\s*!=\s*(?<argument>[^\s=!<>()]*)$/, (key, value) => oneOf("NotIn", key, value)],
  [/^(?<key>[^\s=!<>()]+)\s+in\s*\((?<argument>[^()]*)\)$/, (key, list) => oneOf("In", key, list)],
  [/^(?<key>[^\s=!<>()]+)\s+notin\s*\((?<argument>[^()]*)\)$/, (key, list) => oneOf("NotIn", key, list)],
  [/^(?<key>[^\s=!<>()]+)\s*>\s*(?<argument>-?\d+)$/, (key, bound) => ({ key, operator: "GreaterThan", bound: Number(bound) })],
  [/^(?<key>[^\s=!<>()]+)\s*<\s*(?<argument>-?\d+)$/, (key, bound) => ({ key, operator: "LessThan", bound: Number(bound) })],
];

/** The requirements of a selector, all of which an object must meet. The empty selector has none. */
export function parseLabelSelector(text: string): readonly LabelRequirement[] {
  if (text.trim() === "") return [];
  // A comma inside parentheses separates values, not requirements.
  return text.split(/,(?![^(]*\))/).map((part) => parseRequirement(part.trim(), text));
}

function parseRequirement(part: string, selector: string): LabelRequirement {
  for (const [syntax, build] of forms) {
    const groups = syntax.exec(part)?.groups;
    if (groups === undefined) continue;
    const key = groups["key"] ?? "";
    if (!isLabelKey(key)) {
      throw new LabelSelectorError(
        `label selector "${selector}": "${key}" is no label key; a key is up to 63 letters, digits, "-", "_" and ".", with an optional "domain/" before it`,
      );
    }
    const requirement = build(key, groups["argument"] ?? "");
    if (requirement !== undefined) return requirement;
    throw new LabelSelectorError(
      `label selector "${selector}": "${part}" has a value that no label can have; values are up to 63 letters, digits, "-", "_" and "."`,
    );
  }
  throw new LabelSelectorError(
    `label selector "${selector}": "${part}" is no requirement; write key, !key, key=value, key!=value, key in (a,b), key notin (a,b), key>1 or key<1`,
  );
}

function isLabelKey(key: string): boolean {
  const groups = keySyntax.exec(key)?.groups;
  return groups !== undefined && (groups["prefix"] ?? "").length <= 253 && (groups["word"] ?? "").length <= 63;
}

function oneOf(operator: "In" | "NotIn", key: string, list: string): LabelRequirement | undefined {
  const values = list.split(",").map((value) => value.trim());
  return values.every((value) => value.length <= 63 && valueSyntax.test(value)) ? { key, operator, values } : undefined;
}

/** True when the labels meet every requirement. As in Kubernetes, a label that is not there is "not in" any list. */
export function matchesLabels(requirements: readonly LabelRequirement[], labels: Readonly<Record<string, string>> = {}): boolean {
  return requirements.every((requirement) =>
    meets(requirement, Object.hasOwn(labels, requirement.key) ? labels[requirement.key] : undefined),
  );
}

function meets(requirement: LabelRequirement, value: string | undefined): boolean {
  if ("values" in requirement) {
    const isListed = value !== undefined && requirement.values.includes(value);
    return requirement.operator === "In" ? isListed : !isListed;
  }
  if ("bound" in requirement) {
    if (!isInteger(value)) return false;
    return requirement.operator === "GreaterThan" ? Number(value) > requirement.bound : Number(value) < requirement.bound;
  }
  return requirement.operator === "Exists" ? value !== undefined : value === undefined;
}

function isInteger(value: string | undefined): value is string {
  return value !== undefined && /^-?\d+$/.test(value);
}
