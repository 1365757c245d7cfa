import type { Causes } from "../causes.ts";
import { qualifiedNameMistakes } from "#model/names.ts";
import { parseQuantity } from "#model/quantity.ts";
import type { StoredPodSpec } from "#engines/embedded/stored-pod.ts";
import type { ResourceRequirements } from "#model/kubernetes.generated.ts";

type Amount = string | number;

const containerResources = new Set(["cpu", "memory", "ephemeral-storage"]);

/** Resources that the API knows, but not in containers. */
const otherResources = new Set(
  "storage pods services replicationcontrollers resourcequotas secrets configmaps persistentvolumeclaims services.nodeports services.loadbalancers requests.cpu requests.memory requests.storage requests.ephemeral-storage limits.cpu limits.memory limits.ephemeral-storage".split(
    " ",
  ),
);

export function validateResources(resources: ResourceRequirements, containerPath: string, spec: StoredPodSpec, causes: Causes): void {
  const { limits = {}, requests = {}, claims = [] } = resources;
  const path = `${containerPath}.resources`;
  for (const [name, amount] of Object.entries(limits)) validateAmount(name, amount, `${path}.limits[${name}]`, causes);
  for (const [name, amount] of Object.entries(requests)) {
    validateAmount(name, amount, `${path}.requests[${name}]`, causes);
    compareWithLimit({ name, amount, limit: limits[name] }, path, causes);
  }
  const names = [...Object.keys(limits), ...Object.keys(requests)];
  if (names.some(isHugePages) && !names.some((name) => name === "cpu" || name === "memory")) {
    causes.forbidden(path, "HugePages require cpu or memory");
  }
  validateClaims(claims, `${path}.claims`, spec, causes);
}

function validateClaims(claims: NonNullable<ResourceRequirements["claims"]>, path: string, spec: StoredPodSpec, causes: Causes): void {
  const known = new Set(spec.resourceClaims?.map((claim) => claim.name));
  for (const [index, { name }] of claims.entries()) {
    if (name === "") causes.required(`${path}[${index}]`);
    else if (!known.has(name)) causes.notFound(`${path}[${index}]`, name);
  }
}

function validateAmount(name: string, amount: Amount, field: string, causes: Causes): void {
  validateResourceName(name, field, causes);
  const { nanos } = parseQuantity(amount);
  if (nanos < 0n) causes.invalid(field, amount, "must be greater than or equal to 0");
  if (isCountable(name) && nanos % 1_000_000_000n !== 0n) causes.invalid(field, amount, "must be an integer");
  if (isHugePages(name)) validateHugePages(name, amount, field, causes);
}

function validateResourceName(name: string, field: string, causes: Causes): void {
  const mistakes = qualifiedNameMistakes(name);
  causes.invalidEach(field, name, mistakes);
  if (name.includes("/") || containerResources.has(name) || isHugePages(name)) return;
  if (mistakes.length === 0 && !otherResources.has(name))
    causes.invalid(field, name, "must be a standard resource type or fully qualified");
  causes.invalid(field, name, "must be a standard resource for containers");
}

/** True for resources that come in whole pieces: devices that a vendor's plugin offers, and kinds of objects. */
function isCountable(name: string): boolean {
  if (name.includes("/")) return !(name.split("/")[0] ?? "").endsWith("kubernetes.io");
  return otherResources.has(name) && !/storage|cpu|memory/.test(name);
}

function isHugePages(name: string): boolean {
  return name.startsWith("hugepages-");
}

function validateHugePages(name: string, amount: Amount, field: string, causes: Causes): void {
  const page = parseQuantity(name.slice("hugepages-".length)).nanos;
  if (page > 0n && parseQuantity(amount).nanos % page === 0n) return;
  causes.invalid(field, amount, `${amount} is not positive integer multiple of ${name}`);
}

interface Request {
  readonly name: string;
  readonly amount: Amount;
  readonly limit: Amount | undefined;
}

/** Pieces cannot be shared between containers, so their request and limit must be the same number. */
function compareWithLimit({ name, amount, limit }: Request, path: string, causes: Causes): void {
  const canOvercommit = !isHugePages(name) && (!name.includes("/") || !isCountable(name));
  if (limit === undefined) {
    if (!canOvercommit) causes.required(`${path}.limits`, "Limit must be set for non overcommitable resources");
    return;
  }
  const asked = parseQuantity(amount).nanos;
  const allowed = parseQuantity(limit).nanos;
  if (asked !== allowed && !canOvercommit) causes.invalid(`${path}.requests`, amount, `must be equal to ${name} limit of ${limit}`);
  else if (asked > allowed) causes.invalid(`${path}.requests`, amount, `must be less than or equal to ${name} limit of ${limit}`);
}
