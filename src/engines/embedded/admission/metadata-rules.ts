import type { ObjectMeta, OwnerReference } from "#model/meta.ts";
import { type Causes, immutable } from "./causes.ts";
import { jsonEqual } from "./json.ts";
import { dnsLabelMistakes, labelValueMistakes, prefixMistakes, qualifiedNameMistakes } from "#model/names.ts";

/** What metadata may say depends a little on the kind. */
export interface MetadataRules {
  readonly namespaced: boolean;
  readonly nameMistakes: (name: string) => readonly string[];
  /** Kubernetes' own kinds take only finalizers of a domain, beside the ones that it defines itself. */
  readonly qualifiedFinalizers: boolean;
}

const maxAnnotationBytes = 256 * 1024;

const standardFinalizers = new Set(["kubernetes", "orphan", "foregroundDeletion"]);

export function validateMetadata(rules: MetadataRules, metadata: ObjectMeta, causes: Causes): void {
  const { name = "", generateName = "", generation = 0 } = metadata;
  if (generateName !== "") {
    causes.invalidEach("metadata.generateName", generateName, prefixMistakes(rules.nameMistakes, generateName));
  }
  if (name === "") causes.required("metadata.name", "name or generateName is required");
  else causes.invalidEach("metadata.name", name, rules.nameMistakes(name));
  validateNamespace(rules, metadata.namespace ?? "", causes);
  if (generation < 0) causes.invalid("metadata.generation", generation, "must be greater than or equal to 0");
  validateCommon(rules, metadata, causes);
}

function validateNamespace(rules: MetadataRules, namespace: string, causes: Causes): void {
  if (!rules.namespaced) {
    if (namespace !== "") causes.forbidden("metadata.namespace", "not allowed on this type");
  } else if (namespace === "") causes.required("metadata.namespace");
  else causes.invalidEach("metadata.namespace", namespace, dnsLabelMistakes(namespace));
}

/** On update, only what differs from the stored metadata is checked; the rest was checked when it was stored. */
export function validateMetadataUpdate(rules: MetadataRules, next: ObjectMeta, current: ObjectMeta, causes: Causes): void {
  if (next === current) return;
  if (current.deletionTimestamp !== undefined) validateNoNewFinalizers(next, current, causes);
  for (const field of ["name", "namespace", "uid", "deletionTimestamp", "deletionGracePeriodSeconds"] as const) {
    const value = next[field];
    // An object that is being deleted keeps its time of deletion: another one is ignored.
    const ignored = field === "deletionTimestamp" && current.deletionTimestamp !== undefined;
    if (value !== undefined && value !== current[field] && !ignored) causes.invalid(`metadata.${field}`, value, immutable);
  }
  validateCommon(rules, onlyChanges(next, current), causes);
}

function onlyChanges(next: ObjectMeta, current: ObjectMeta): ObjectMeta {
  const { labels, annotations, ownerReferences, finalizers } = next;
  return {
    ...(labels !== undefined && !jsonEqual(labels, current.labels) && { labels }),
    ...(annotations !== undefined && !jsonEqual(annotations, current.annotations) && { annotations }),
    ...(ownerReferences !== undefined && !jsonEqual(ownerReferences, current.ownerReferences) && { ownerReferences }),
    ...(finalizers !== undefined && !jsonEqual(finalizers, current.finalizers) && { finalizers }),
  };
}

function validateNoNewFinalizers(next: ObjectMeta, current: ObjectMeta, causes: Causes): void {
  const before = new Set(current.finalizers);
  const added = (next.finalizers ?? []).filter((finalizer) => !before.has(finalizer)).sort();
  if (added.length === 0) return;
  const list = `[]string{${added.map((finalizer) => JSON.stringify(finalizer)).join(", ")}}`;
  causes.forbidden("metadata.finalizers", `no new finalizers can be added if the object is being deleted, found new finalizers ${list}`);
}

function validateCommon(rules: MetadataRules, metadata: ObjectMeta, causes: Causes): void {
  if (metadata.labels !== undefined) validateLabels(metadata.labels, "metadata.labels", causes);
  if (metadata.annotations !== undefined) validateAnnotations(metadata.annotations, causes);
  if (metadata.ownerReferences !== undefined) validateOwners(metadata.ownerReferences, causes);
  if (metadata.finalizers !== undefined) validateFinalizers(rules, metadata.finalizers, causes);
}

export function validateLabels(labels: Readonly<Record<string, string>>, path: string, causes: Causes): void {
  for (const [key, value] of Object.entries(labels)) {
    causes.invalidEach(path, key, qualifiedNameMistakes(key));
    causes.invalidEach(path, value, labelValueMistakes(value));
  }
}

function validateAnnotations(annotations: Readonly<Record<string, string>>, causes: Causes): void {
  let bytes = 0;
  for (const [key, value] of Object.entries(annotations)) {
    // Annotation keys may have capitals where labels may not: in the domain.
    causes.invalidEach("metadata.annotations", key, qualifiedNameMistakes(key.toLowerCase()));
    bytes += Buffer.byteLength(key) + Buffer.byteLength(value);
  }
  if (bytes > maxAnnotationBytes) causes.tooLong("metadata.annotations", maxAnnotationBytes);
}

function validateOwners(owners: readonly OwnerReference[], causes: Causes): void {
  let controller: string | undefined;
  for (const owner of owners) {
    validateOwner(owner, causes);
    if (owner.controller !== true) continue;
    const name = `${owner.kind}/${owner.name}`;
    if (controller !== undefined) {
      causes.invalid(
        "metadata.ownerReferences",
        owners,
        `Only one reference can have Controller set to true. Found "true" in references for ${controller} and ${name}`,
      );
    }
    controller ??= name;
  }
}

function validateOwner(owner: OwnerReference, causes: Causes): void {
  const path = "metadata.ownerReferences";
  const parts = owner.apiVersion.split("/");
  if (owner.apiVersion === "" || parts.length > 2 || parts.at(-1) === "") {
    causes.invalid(`${path}.apiVersion`, owner.apiVersion, "version must not be empty");
  }
  for (const field of ["kind", "name", "uid"] as const) {
    if (owner[field] === "") causes.invalid(`${path}.${field}`, "", "must not be empty");
  }
  if (owner.apiVersion === "v1" && owner.kind === "Event") {
    causes.invalid(path, owner, "/v1, Kind=Event is disallowed from being an owner");
  }
}

function validateFinalizers(rules: MetadataRules, finalizers: readonly string[], causes: Causes): void {
  for (const finalizer of finalizers) causes.invalidEach("metadata.finalizers", finalizer, qualifiedNameMistakes(finalizer));
  if (finalizers.includes("orphan") && finalizers.includes("foregroundDeletion")) {
    causes.invalid("metadata.finalizers", finalizers, "finalizer orphan and foregroundDeletion cannot be both set");
  }
  if (!rules.qualifiedFinalizers) return;
  for (const [index, finalizer] of finalizers.entries()) validateFinalizerDomain(finalizer, `metadata.finalizers[${index}]`, causes);
}

export function validateFinalizerDomain(finalizer: string, path: string, causes: Causes): void {
  if (finalizer.includes("/") || standardFinalizers.has(finalizer)) return;
  causes.invalid(path, finalizer, "name is neither a standard finalizer name nor is it fully qualified");
}

/** The fields that select objects of every kind. Kinds without namespaces cannot be selected by namespace. */
export function metadataFields(
  rules: Pick<MetadataRules, "namespaced">,
  { name = "", namespace = "" }: ObjectMeta,
): Readonly<Record<string, string>> {
  return rules.namespaced ? { "metadata.name": name, "metadata.namespace": namespace } : { "metadata.name": name };
}
