/**
 * The JSONPath of printer columns: fields (`.spec.replicas`, `.metadata.labels.app\.kubernetes\.io/name`, `['a.b']`), positions (`[0]`, `[*]`) and
 * choices (`[?(@.type=="Ready")]`). A CustomResourceDefinition allows no more.
 */
import type { Json } from "#model/meta.ts";

type Step =
  | { readonly to: "field"; readonly name: string }
  | { readonly to: "item"; readonly index: number }
  | { readonly to: "all" }
  | { readonly to: "matching"; readonly path: readonly Step[]; readonly equal: boolean; readonly value: Json };

/** Parses a path once; the result finds the first value at it, or undefined. */
export function compileJsonPath(path: string): (root: unknown) => Json | undefined {
  const all = compileJsonPaths(path);
  return (root) => all(root)[0];
}

/** Like this, but finds every value. */
export function compileJsonPaths(path: string): (root: unknown) => readonly Json[] {
  const steps = parseSteps(path);
  return (root) => find(root as Json, steps);
}

function find(root: Json, steps: readonly Step[]): Json[] {
  return steps.reduce<Json[]>((found, step) => found.flatMap((value) => take(value, step)), [root]);
}

function take(value: Json, step: Step): readonly Json[] {
  if (step.to === "field") {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return [];
    const field = (value as Record<string, Json | undefined>)[step.name];
    return field === undefined ? [] : [field];
  }
  if (!Array.isArray(value)) return [];
  const items: readonly Json[] = value;
  if (step.to === "all") return items;
  if (step.to === "item") return items.slice(step.index).slice(0, 1);
  return items.filter((item) => (find(item, step.path)[0] === step.value) === step.equal);
}

const patterns = {
  field: /^\.?((?:\\.|[^.[\]\\])+)/,
  quoted: /^\[(?:'([^']*)'|"([^"]*)")\]/,
  item: /^\[(-?\d+)\]/,
  all: /^\[\*\]/,
  matching: /^\[\?\(\s*@((?:\.[^\s=!]+)+)\s*(==|!=)\s*("[^"]*"|'[^']*'|[^)]+?)\s*\)\]/,
};

function parseSteps(path: string): readonly Step[] {
  const steps: Step[] = [];
  for (let rest = path.replace(/^\$/, ""); rest !== "" && rest !== ".";) {
    const [step, length] = parseStep(rest, path);
    steps.push(step);
    rest = rest.slice(length);
  }
  return steps;
}

function parseStep(rest: string, path: string): [Step, number] {
  const quoted = patterns.quoted.exec(rest);
  if (quoted !== null) return [{ to: "field", name: quoted[1] ?? quoted[2] ?? "" }, quoted[0].length];
  const item = patterns.item.exec(rest);
  if (item !== null) return [{ to: "item", index: Number(item[1]) }, item[0].length];
  const all = patterns.all.exec(rest);
  if (all !== null) return [{ to: "all" }, all[0].length];
  const matching = patterns.matching.exec(rest);
  if (matching !== null) {
    const [whole, inner = "", operator, value = ""] = matching;
    return [{ to: "matching", path: parseSteps(inner), equal: operator === "==", value: literal(value) }, whole.length];
  }
  const field = patterns.field.exec(rest);
  if (field === null) throw new Error(`cannot read the JSONPath ${path} at ${JSON.stringify(rest)}`);
  return [{ to: "field", name: (field[1] ?? "").replaceAll(/\\(.)/g, "$1") }, field[0].length];
}

function literal(text: string): Json {
  if (/^(".*"|'.*')$/.test(text)) return text.slice(1, -1);
  return JSON.parse(text) as Json;
}
