import type { Causes } from "../causes.ts";
import { configKeyMistakes, dnsSubdomainMistakes, environmentNameMistakes, qualifiedNameMistakes } from "#model/names.ts";
import type { StoredContainer } from "#engines/embedded/stored-pod.ts";
import type { ConfigMapKeySelector, EnvFromSource, EnvVar, ObjectFieldSelector } from "#model/kubernetes.generated.ts";

const environmentFields = [
  "metadata.name",
  "metadata.namespace",
  "metadata.uid",
  "spec.nodeName",
  "spec.serviceAccountName",
  "status.hostIP",
  "status.hostIPs",
  "status.podIP",
  "status.podIPs",
];

/** Readable as a file, but not as one variable. */
const fileFields = new Set(["metadata.annotations", "metadata.labels"]);

const environmentResources = [
  "limits.cpu",
  "limits.ephemeral-storage",
  "limits.memory",
  "requests.cpu",
  "requests.ephemeral-storage",
  "requests.memory",
];

export function validateEnvironment(container: StoredContainer, path: string, causes: Causes): void {
  for (const [index, variable] of (container.env ?? []).entries()) validateVariable(variable, `${path}.env[${index}]`, causes);
  for (const [index, source] of (container.envFrom ?? []).entries()) validateSource(source, `${path}.envFrom`, index, causes);
}

function validateVariable(variable: EnvVar, path: string, causes: Causes): void {
  if (variable.name === "") causes.required(`${path}.name`);
  else causes.invalidEach(`${path}.name`, variable.name, environmentNameMistakes(variable.name));
  const from = variable.valueFrom;
  if (from === undefined) return;
  const at = `${path}.valueFrom`;
  if (from.fieldRef !== undefined) validateFieldReference(from.fieldRef, environmentFields, `${at}.fieldRef`, causes);
  if (from.resourceFieldRef !== undefined) validateResourceReference(from.resourceFieldRef.resource, `${at}.resourceFieldRef`, causes);
  if (from.configMapKeyRef !== undefined) validateObjectKey(from.configMapKeyRef, `${at}.configMapKeyRef`, causes);
  if (from.secretKeyRef !== undefined) validateObjectKey(from.secretKeyRef, `${at}.secretKeyRef`, causes);
  const sources = Object.keys(from).length;
  if (variable.value !== undefined) {
    if (sources > 0) causes.invalid(at, "", "may not be specified when `value` is not empty");
  } else if (sources === 0) {
    causes.invalid(at, "", "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`");
  } else if (sources > 1) causes.invalid(at, "", "may not have more than one field specified at a time");
}

function validateObjectKey({ name = "", key }: ConfigMapKeySelector, path: string, causes: Causes): void {
  causes.invalidEach(`${path}.name`, name, dnsSubdomainMistakes(name));
  if (key === "") causes.required(`${path}.key`);
  else causes.invalidEach(`${path}.key`, key, configKeyMistakes(key));
}

function validateResourceReference(resource: string, path: string, causes: Causes): void {
  if (resource === "") causes.required(`${path}.resource`);
  else if (!environmentResources.includes(resource) && !/^(?:limits|requests)\.hugepages-/.test(resource)) {
    causes.notSupported(`${path}.resource`, resource, environmentResources);
  }
}

/** A reference to a field of the pod. `usable` are the fields that can be read at this place. */
export function validateFieldReference(reference: ObjectFieldSelector, usable: readonly string[], path: string, causes: Causes): void {
  const { apiVersion, fieldPath } = reference;
  if (apiVersion === "") causes.required(`${path}.apiVersion`);
  else if (fieldPath === "") causes.required(`${path}.fieldPath`);
  else if (apiVersion !== "v1") {
    causes.invalid(`${path}.fieldPath`, fieldPath, `error converting fieldPath: unsupported pod version: ${apiVersion}`);
  } else {
    const subscript = /^(?<map>metadata\.(?:labels|annotations))\['(?<key>.*)'\]$/.exec(fieldPath)?.groups;
    if (subscript !== undefined)
      causes.invalidEach(path, subscript["key"] ?? "", qualifiedNameMistakes((subscript["key"] ?? "").toLowerCase()));
    else if (usable.includes(fieldPath)) return;
    else if (environmentFields.includes(fieldPath) || fileFields.has(fieldPath)) {
      causes.notSupported(`${path}.fieldPath`, fieldPath, usable);
    } else {
      causes.invalid(`${path}.fieldPath`, fieldPath, `error converting fieldPath: field label not supported: ${fieldPath}`);
    }
  }
}

/** What a file in a volume can be filled with. */
export const downwardFileFields = ["metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"];

function validateSource(source: EnvFromSource, path: string, index: number, causes: Causes): void {
  const at = `${path}[${index}]`;
  if (source.prefix !== undefined) causes.invalidEach(`${at}.prefix`, source.prefix, environmentNameMistakes(source.prefix));
  const { configMapRef, secretRef } = source;
  if (configMapRef !== undefined) validateObjectName(configMapRef.name, `${at}.configMapRef`, causes);
  if (secretRef !== undefined) validateObjectName(secretRef.name, `${at}.secretRef`, causes);
  // The server leaves the index out of these two.
  if (configMapRef === undefined && secretRef === undefined) causes.invalid(path, "", "must specify one of: `configMapRef` or `secretRef`");
  else if (configMapRef !== undefined && secretRef !== undefined)
    causes.invalid(path, "", "may not have more than one field specified at a time");
}

function validateObjectName(name: string | undefined, path: string, causes: Causes): void {
  if (name === undefined) causes.required(`${path}.name`);
  else causes.invalidEach(`${path}.name`, name, dnsSubdomainMistakes(name));
}
