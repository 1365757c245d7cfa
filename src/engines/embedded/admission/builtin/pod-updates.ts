/** Which fields of a pod may change after its creation: very few. */
import { isIP } from "node:net";
import { type Causes, immutable } from "../causes.ts";
import { asRecord, jsonEqual, type JsonRecord, withProperties } from "../json.ts";
import { dnsSubdomainMistakes, qualifiedNameMistakes, rangeMistakes } from "#model/names.ts";
import { validateImage } from "./container-validation.ts";
import type { StoredContainer, StoredPod, StoredPodSpec } from "#engines/embedded/stored-pod.ts";
import type { ContainerStatus, PodStatus, Toleration } from "#model/kubernetes.generated.ts";
import { notAnAddress } from "./pod-validation.ts";

const changeable = [
  "`spec.containers[*].image`",
  "`spec.initContainers[*].image`",
  "`spec.activeDeadlineSeconds`",
  "`spec.tolerations` (only additions to existing tolerations)",
  "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
].join(",");

export function validateSpecUpdate(next: StoredPodSpec, current: StoredPodSpec, causes: Causes): void {
  for (const field of ["containers", "initContainers"] as const) {
    const containers = next[field] ?? [];
    if (containers.length !== (current[field] ?? []).length) {
      causes.forbidden(`spec.${field}`, "pod updates may not add or remove containers");
      return;
    }
    for (const [index, container] of containers.entries()) validateImage(container.image ?? "", `spec.${field}[${index}].image`, causes);
  }
  if (!validateDeadline(next.activeDeadlineSeconds, current.activeDeadlineSeconds, causes)) return;
  validateTolerations(next.tolerations ?? [], current.tolerations ?? [], causes);
  validateGates(next, current, causes);
  const changed = changedFields(withoutChangeable(next, current), current);
  if (changed.length === 0) return;
  causes.forbidden("spec", `pod updates may not change fields other than ${changeable}\nchanged here: ${changed.join(", ")}`);
}

/** False when the server checks nothing more. */
function validateDeadline(next: number | undefined, current: number | undefined, causes: Causes): boolean {
  const field = "spec.activeDeadlineSeconds";
  if (next === undefined) {
    if (current !== undefined) causes.invalid(field, null, "must not update from a positive integer to nil value");
    return true;
  }
  const mistakes = rangeMistakes(next, 0, 2 ** 31 - 1);
  for (const mistake of mistakes) causes.invalid(field, next, mistake);
  if (mistakes.length > 0) return false;
  if (current === undefined || current >= next) return true;
  causes.invalid(field, next, "must be less than or equal to previous value");
  return false;
}

function validateTolerations(next: readonly Toleration[], current: readonly Toleration[], causes: Causes): void {
  const kept = next.map(withoutSeconds);
  const isKept = (old: Toleration): boolean => kept.some((toleration) => jsonEqual(toleration, withoutSeconds(old)));
  if (!current.every(isKept)) causes.forbidden("spec.tolerations", "existing toleration can not be modified except its tolerationSeconds");
}

function withoutSeconds(toleration: Toleration): Toleration {
  return withProperties(toleration, { tolerationSeconds: undefined });
}

function validateGates(next: StoredPodSpec, current: StoredPodSpec, causes: Causes): void {
  const before = new Set(current.schedulingGates?.map((gate) => gate.name));
  for (const [index, { name }] of (next.schedulingGates ?? []).entries()) {
    if (before.has(name)) continue;
    causes.forbidden(`spec.schedulingGates[${index}].name`, `only deletion is allowed, but found new scheduling gate '${name}'`);
  }
}

/** `next` with everything that may change put back to what it was. */
function withoutChangeable(next: StoredPodSpec, current: StoredPodSpec): StoredPodSpec {
  const graceCorrected = current.terminationGracePeriodSeconds < 0 && next.terminationGracePeriodSeconds === 1;
  // A pod with gates has no node yet, so it may still be bound to fewer nodes.
  const gated = current.schedulingGates !== undefined;
  return withProperties(next, {
    containers: withImagesOf(next.containers, current.containers),
    initContainers: withImagesOf(next.initContainers, current.initContainers),
    activeDeadlineSeconds: current.activeDeadlineSeconds,
    tolerations: current.tolerations,
    schedulingGates: current.schedulingGates,
    ...(graceCorrected && { terminationGracePeriodSeconds: current.terminationGracePeriodSeconds }),
    ...(gated && containsAll(next.nodeSelector, current.nodeSelector) && { nodeSelector: current.nodeSelector }),
  });
}

function containsAll(next: JsonRecord = {}, current: JsonRecord = {}): boolean {
  return Object.entries(current).every(([key, value]) => next[key] === value);
}

function withImagesOf(next?: readonly StoredContainer[], current?: readonly StoredContainer[]): readonly StoredContainer[] | undefined {
  return next?.map((container, index) => withProperties(container, { image: current?.[index]?.image }));
}

function changedFields(next: StoredPodSpec, current: StoredPodSpec): readonly string[] {
  const left = asRecord(next);
  const right = asRecord(current);
  const keys = new Set([...Object.keys(left), ...Object.keys(right)]);
  return [...keys].filter((key) => !jsonEqual(left[key], right[key])).sort();
}

/** A status write does not change the spec, the owners, the quality of service, or whether the pod is being deleted. */
export function keepForStatus(next: StoredPod, current: StoredPod): StoredPod {
  return {
    ...next,
    metadata: withProperties(next.metadata, {
      ownerReferences: current.metadata.ownerReferences,
      deletionTimestamp: current.metadata.deletionTimestamp,
    }),
    spec: current.spec,
    status: withProperties(next.status, { qosClass: next.status.qosClass ?? current.status.qosClass }),
  };
}

export function validateStatusUpdate(next: StoredPod, current: StoredPod, causes: Causes): void {
  const { status } = next;
  const before = current.status;
  if (status === before) return;
  if (status.nominatedNodeName !== undefined) {
    causes.invalidEach("status.nominatedNodeName", status.nominatedNodeName, dnsSubdomainMistakes(status.nominatedNodeName));
  }
  for (const field of ["containerStatuses", "initContainerStatuses"] as const) {
    validateRestarts(status[field] ?? [], before[field] ?? [], { spec: next.spec, path: `status.${field}` }, causes);
  }
  for (const [index, { type }] of (status.conditions ?? []).entries()) {
    causes.invalidEach(`status.conditions[${index}].Type`, type, qualifiedNameMistakes(type));
  }
  validateAddresses(status, causes);
  if (before.qosClass !== undefined && status.qosClass !== before.qosClass) causes.invalid("status.qosClass", status.qosClass, immutable);
}

interface RestartRules {
  readonly spec: StoredPodSpec;
  readonly path: string;
}

/** A container that has ended for good stays ended. */
function validateRestarts(
  next: readonly ContainerStatus[],
  current: readonly ContainerStatus[],
  { spec, path }: RestartRules,
  causes: Causes,
): void {
  for (const [index, { name, state }] of current.entries()) {
    if (state?.terminated === undefined) continue;
    const now = next.find((status) => status.name === name);
    if (now === undefined || now.state?.terminated !== undefined || mayRestart(spec, name, state.terminated.exitCode)) continue;
    causes.forbidden(`${path}[${index}].state`, "may not be transitioned to non-terminated state");
  }
}

function mayRestart(spec: StoredPodSpec, name: string, exitCode: number): boolean {
  const container = [...(spec.containers ?? []), ...(spec.initContainers ?? [])].find((one) => one.name === name);
  const policy = container?.restartPolicy ?? spec.restartPolicy;
  return policy === "Always" || (policy === "OnFailure" && exitCode !== 0);
}

function validateAddresses({ podIPs = [], hostIP, hostIPs = [] }: PodStatus, causes: Causes): void {
  for (const [index, { ip }] of podIPs.entries()) if (isIP(ip) === 0) causes.invalid(`status.podIPs[${index}]`, ip, notAnAddress);
  const families = podIPs.map(({ ip }) => isIP(ip));
  if (families.length > 1 && new Set(families).size < families.length) {
    causes.invalid("status.podIPs", podIPs, "may specify no more than one IP for each IP family");
  }
  if (hostIPs[0] !== undefined && hostIPs[0].ip !== hostIP)
    causes.invalid("status.hostIPs[0].ip", hostIPs[0].ip, "must be equal to `hostIP`");
}
