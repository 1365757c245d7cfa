/**
 * The catalogue of instance types: sizes that members of Envs name instead of writing resources. It is one ConfigMap of the system
 * namespace with a key for each type, which every process follows. Pure.
 *
 * A value is YAML or JSON:
 *
 *     small: |
 *       resources: { limits: { cpu: "1", memory: 512Mi }, requests: { cpu: 100m, memory: 128Mi } }
 *       maxMultiplier: 16
 *       nodeSelector: { disk: ssd }
 *       pricePerHour: 0.02
 *       description: One core and half a gigabyte
 */
import { parse } from "yaml";
import type { ConfigMap } from "./core-kinds.ts";
import type { ResourceRequirements } from "./pod.ts";
import { multipliedQuantity, quantityNumber } from "./quantity.ts";

export interface InstanceType {
  readonly name: string;
  /** For a multiplier of 1. */
  readonly resources: ResourceRequirements;
  readonly minMultiplier: number;
  readonly maxMultiplier: number;
  /** Nodes that its pods run on. */
  readonly nodeSelector?: Readonly<Record<string, string>>;
  /** For a multiplier of 1, in the currency of the installation. */
  readonly pricePerHour?: number;
  readonly description?: string;
}

/** What was read, and why entries were left out. */
export interface InstanceTypes {
  readonly types: ReadonlyMap<string, InstanceType>;
  /** By the name of the entry: what is wrong with it and what would be right. */
  readonly problems: ReadonlyMap<string, string>;
}

export const instanceTypesConfigMapName = "agentbox-instance-types";
export const noInstanceTypes: InstanceTypes = { types: new Map(), problems: new Map() };

/** What `maxMultiplier` is when left out. */
export const usualMaxMultiplier = 64;
const highestMultiplier = 100_000;

/** An entry that cannot be read is left out, with the reason among the problems; the others stay usable. */
export function readInstanceTypes({ data = {} }: Pick<ConfigMap, "data">): InstanceTypes {
  const types = new Map<string, InstanceType>();
  const problems = new Map<string, string>();
  for (const [name, text] of Object.entries(data).sort(([left], [right]) => (left < right ? -1 : 1))) {
    const read = readInstanceType(name, text);
    if ("type" in read) types.set(name, read.type);
    else problems.set(name, read.problem);
  }
  return { types, problems };
}

type ReadType = { readonly type: InstanceType } | { readonly problem: string };
type Fields = Readonly<Record<string, unknown>>;

const fieldNames: readonly string[] = ["resources", "minMultiplier", "maxMultiplier", "nodeSelector", "pricePerHour", "description"];

function readInstanceType(name: string, text: string): ReadType {
  let value: unknown;
  try {
    // Anchors that grow without bound are refused by the parser.
    value = parse(text, { maxAliasCount: 10, logLevel: "error" });
  } catch (error) {
    return { problem: `it is neither YAML nor JSON: ${firstLine(error)}` };
  }
  if (!isFields(value)) return { problem: "it must be an object with the field resources" };
  const problem = problemOf(value);
  if (problem !== undefined) return { problem };
  const { minMultiplier = 1, maxMultiplier = Math.max(usualMaxMultiplier, Number(minMultiplier)), ...rest } = value;
  // Checked field by field above.
  return { type: { name, ...rest, minMultiplier, maxMultiplier } as unknown as InstanceType };
}

function problemOf(value: Fields): string | undefined {
  const unknown = Object.keys(value).find((field) => !fieldNames.includes(field));
  if (unknown !== undefined) return `there is no field ${unknown}: the fields are ${fieldNames.join(", ")}`;
  return resourcesProblem(value["resources"]) ?? multiplierProblem(value) ?? otherProblem(value);
}

function resourcesProblem(resources: unknown): string | undefined {
  if (!isFields(resources)) return "resources is needed: an object with limits, requests or both";
  const unknown = Object.keys(resources).find((field) => field !== "limits" && field !== "requests");
  if (unknown !== undefined) return `resources.${unknown} is not known: resources has limits and requests`;
  if (Object.keys(resources).length === 0) return "resources is empty: it needs limits, requests or both";
  for (const [list, amounts] of Object.entries(resources)) {
    if (!isFields(amounts)) return `resources.${list} must be an object such as { cpu: "1", memory: 512Mi }`;
    for (const [resource, amount] of Object.entries(amounts)) {
      if (isAmount(amount)) continue;
      return `resources.${list}.${resource} must be a quantity of at least 0 such as 500m or 512Mi, not ${JSON.stringify(amount)}`;
    }
  }
  return aboveLimit(resources);
}

function aboveLimit({ limits = {}, requests = {} }: Fields): string | undefined {
  type Amounts = Readonly<Record<string, string | number>>;
  for (const [resource, request] of Object.entries(requests as Amounts)) {
    const limit = (limits as Amounts)[resource];
    if (limit === undefined || (quantityNumber(request) ?? 0) <= (quantityNumber(limit) ?? 0)) continue;
    return `resources.requests.${resource} (${request}) must not be above its limit (${limit})`;
  }
  return undefined;
}

function multiplierProblem({ minMultiplier = 1, maxMultiplier }: Fields): string | undefined {
  if (!isMultiplier(minMultiplier)) return `minMultiplier must be a whole number from 1 to ${highestMultiplier}`;
  if (maxMultiplier === undefined) return undefined;
  if (!isMultiplier(maxMultiplier)) return `maxMultiplier must be a whole number from 1 to ${highestMultiplier}`;
  return minMultiplier > maxMultiplier ? `minMultiplier (${minMultiplier}) must not be above maxMultiplier (${maxMultiplier})` : undefined;
}

function otherProblem({ nodeSelector, pricePerHour, description }: Fields): string | undefined {
  if (nodeSelector !== undefined && !isTexts(nodeSelector)) return "nodeSelector must be an object of texts: label to value";
  const isPrice = typeof pricePerHour === "number" && Number.isFinite(pricePerHour) && pricePerHour >= 0;
  if (pricePerHour !== undefined && !isPrice) return "pricePerHour must be a number of at least 0";
  return description === undefined || typeof description === "string" ? undefined : "description must be a text";
}

function isTexts(value: unknown): boolean {
  return isFields(value) && Object.values(value).every((one) => typeof one === "string");
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isAmount(value: unknown): boolean {
  return (typeof value === "string" || typeof value === "number") && (quantityNumber(value) ?? -1) >= 0;
}

function isMultiplier(value: unknown): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= highestMultiplier;
}

function firstLine(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split("\n", 1)[0] ?? "";
}

/** The resources of a pod: the type's, multiplied. The multiplier has been checked (`multiplierFault`). */
export function resourcesOf({ resources: { limits, requests } }: InstanceType, multiplier: number): ResourceRequirements {
  return {
    ...(limits !== undefined && { limits: multiplied(limits, multiplier) }),
    ...(requests !== undefined && { requests: multiplied(requests, multiplier) }),
  };
}

function multiplied(amounts: NonNullable<ResourceRequirements["limits"]>, by: number): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(amounts).map(([resource, amount]) => [resource, multipliedQuantity(amount, by)]));
}

/** What is wrong with a multiplier for this type, and what would be right; undefined: it is good. */
export function multiplierFault({ name, minMultiplier, maxMultiplier }: InstanceType, multiplier: number): string | undefined {
  if (Number.isInteger(multiplier) && multiplier >= minMultiplier && multiplier <= maxMultiplier) return undefined;
  return `instance type ${name} takes a multiplier from ${minMultiplier} to ${maxMultiplier}, not ${multiplier}`;
}

/** What is wrong with the name of a type: no entry, or one that cannot be read; undefined: it is good. */
export function instanceTypeFault({ types, problems }: InstanceTypes, name: string): string | undefined {
  if (types.has(name)) return undefined;
  const problem = problems.get(name);
  if (problem !== undefined) return `instance type ${name} cannot be used: ${problem}`;
  const names = [...types.keys()];
  const there = names.length === 0 ? `ConfigMap ${instanceTypesConfigMapName} has none` : `there are ${names.join(", ")}`;
  return `there is no instance type ${JSON.stringify(name)}: ${there}; name one of the catalogue, or give inlineResources instead`;
}
