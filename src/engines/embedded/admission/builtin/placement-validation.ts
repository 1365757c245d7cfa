/** Where a pod may run: tolerations, affinity and spreading. */
import type { Causes } from "../causes.ts";
import { labelValueMistakes, qualifiedNameMistakes } from "#model/names.ts";
import type { StoredPodSpec } from "#engines/embedded/stored-pod.ts";
import type {
  Affinity,
  NodeSelectorRequirement,
  NodeSelectorTerm,
  PodAffinity,
  PodAffinityTerm,
  Toleration,
  TopologySpreadConstraint,
} from "#model/kubernetes.generated.ts";

const effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

export function validatePlacement(spec: StoredPodSpec, causes: Causes): void {
  for (const [index, toleration] of (spec.tolerations ?? []).entries())
    validateToleration(toleration, `spec.tolerations[${index}]`, causes);
  if (spec.affinity !== undefined) validateAffinity(spec.affinity, causes);
  validateSpreading(spec.topologySpreadConstraints ?? [], causes);
}

function validateToleration(toleration: Toleration, path: string, causes: Causes): void {
  const { key = "", operator = "", effect = "", tolerationSeconds } = toleration;
  if (key !== "") causes.invalidEach(`${path}.key`, key, qualifiedNameMistakes(key));
  else if (operator !== "Exists") {
    const detail = 'operator must be Exists when `key` is empty, which means "match all values and all keys"';
    causes.invalid(`${path}.operator`, operator, detail);
  }
  if (tolerationSeconds !== undefined && effect !== "NoExecute") {
    causes.invalid(`${path}.effect`, effect, "effect must be 'NoExecute' when `tolerationSeconds` is set");
  }
  validateToleratedValue(toleration, `${path}.operator`, causes);
  if (effect !== "" && !effects.includes(effect)) causes.notSupported(`${path}.effect`, effect, effects);
}

/** The server reports values at the operator. */
function validateToleratedValue({ operator = "Equal", value = "" }: Toleration, field: string, causes: Causes): void {
  if (operator === "Equal") causes.invalidEach(field, value, labelValueMistakes(value));
  else if (operator !== "Exists") causes.notSupported(field, operator, ["Equal", "Exists"]);
  else if (value !== "") causes.invalid(field, value, "value must be empty when `operator` is 'Exists'");
}

function validateAffinity({ nodeAffinity, podAffinity, podAntiAffinity }: Affinity, causes: Causes): void {
  const required = nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  if (required !== undefined) {
    const path = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms";
    if (required.nodeSelectorTerms === undefined) causes.required(path, "must have at least one node selector term");
    for (const [index, term] of (required.nodeSelectorTerms ?? []).entries()) validateNodeTerm(term, `${path}[${index}]`, causes);
  }
  for (const [index, { weight, preference }] of (nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).entries()) {
    const path = `spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[${index}]`;
    validateWeight(weight, path, causes);
    validateNodeTerm(preference, `${path}.preference`, causes);
  }
  if (podAffinity !== undefined) validatePodAffinity(podAffinity, "spec.affinity.podAffinity", causes);
  if (podAntiAffinity !== undefined) validatePodAffinity(podAntiAffinity, "spec.affinity.podAntiAffinity", causes);
}

function validateWeight(weight: number, path: string, causes: Causes): void {
  if (weight < 1 || weight > 100) causes.invalid(`${path}.weight`, weight, "must be in the range 1-100");
}

function validateNodeTerm({ matchExpressions = [], matchFields = [] }: NodeSelectorTerm, path: string, causes: Causes): void {
  for (const [index, requirement] of matchExpressions.entries())
    validateRequirement(requirement, `${path}.matchExpressions[${index}]`, causes);
  for (const [index, requirement] of matchFields.entries()) validateFieldRequirement(requirement, `${path}.matchFields[${index}]`, causes);
}

/** A term can ask for one field of a node: its name. */
function validateFieldRequirement({ key, operator, values = [] }: NodeSelectorRequirement, path: string, causes: Causes): void {
  if (operator !== "In" && operator !== "NotIn") causes.invalid(`${path}.operator`, operator, "not a valid selector operator");
  else if (values.length !== 1) {
    causes.required(`${path}.values`, "must be only one value when `operator` is 'In' or 'NotIn' for node field selector");
  }
  if (key !== "metadata.name") causes.invalid(`${path}.key`, key, "not a valid field selector key");
}

function validateRequirement({ key, operator, values = [] }: NodeSelectorRequirement, path: string, causes: Causes): void {
  const field = `${path}.values`;
  if (operator === "In" || operator === "NotIn") {
    if (values.length === 0) causes.required(field, "must be specified when `operator` is 'In' or 'NotIn'");
  } else if (operator === "Exists" || operator === "DoesNotExist") {
    if (values.length > 0) causes.forbidden(field, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
  } else if (operator === "Gt" || operator === "Lt") {
    if (values.length !== 1) causes.required(field, "must be specified single value when `operator` is 'Lt' or 'Gt'");
  } else causes.invalid(`${path}.operator`, operator, "not a valid selector operator");
  causes.invalidEach(`${path}.key`, key, qualifiedNameMistakes(key));
}

function validatePodAffinity(affinity: PodAffinity, path: string, causes: Causes): void {
  for (const [index, term] of (affinity.requiredDuringSchedulingIgnoredDuringExecution ?? []).entries()) {
    validatePodTerm(term, `${path}.requiredDuringSchedulingIgnoredDuringExecution[${index}]`, causes);
  }
  for (const [index, { weight, podAffinityTerm }] of (affinity.preferredDuringSchedulingIgnoredDuringExecution ?? []).entries()) {
    const at = `${path}.preferredDuringSchedulingIgnoredDuringExecution[${index}]`;
    validateWeight(weight, at, causes);
    validatePodTerm(podAffinityTerm, `${at}.podAffinityTerm`, causes);
  }
}

function validatePodTerm({ topologyKey }: PodAffinityTerm, path: string, causes: Causes): void {
  if (topologyKey === "") causes.required(`${path}.topologyKey`, "can not be empty");
  causes.invalidEach(`${path}.topologyKey`, topologyKey, qualifiedNameMistakes(topologyKey));
}

function validateSpreading(constraints: readonly TopologySpreadConstraint[], causes: Causes): void {
  const pairs = constraints.map(({ topologyKey, whenUnsatisfiable }) => `{${topologyKey}, ${whenUnsatisfiable}}`);
  for (const [index, { maxSkew, topologyKey, whenUnsatisfiable }] of constraints.entries()) {
    const path = `spec.topologySpreadConstraints[${index}]`;
    const pair = pairs[index] ?? "";
    if (maxSkew <= 0) causes.invalid(`${path}.maxSkew`, maxSkew, "must be greater than zero");
    if (topologyKey === "") causes.required(`${path}.topologyKey`, "can not be empty");
    if (!["DoNotSchedule", "ScheduleAnyway"].includes(whenUnsatisfiable)) {
      causes.notSupported(`${path}.whenUnsatisfiable`, whenUnsatisfiable, ["DoNotSchedule", "ScheduleAnyway"]);
    }
    // Of two equal constraints the server names the first.
    if (pairs.includes(pair, index + 1)) causes.duplicate(`${path}.{topologyKey, whenUnsatisfiable}`, pair);
  }
}
