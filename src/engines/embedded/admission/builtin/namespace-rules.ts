import { type Namespace, Namespaces } from "#model/core-kinds.ts";
import type { ApiObject } from "#model/meta.ts";
import { Causes } from "../causes.ts";
import { shared, withProperties } from "../json.ts";
import type { KindRules } from "../kind-rules.ts";
import { metadataFields, validateFinalizerDomain, validateMetadata, validateMetadataUpdate } from "../metadata-rules.ts";
import { dnsLabelMistakes } from "#model/names.ts";
import { builtInMetadata } from "./built-in-metadata.ts";
import { kindShape } from "./kubernetes-shape.ts";
import { readBuiltIn } from "./read-shape.ts";

const metadata = builtInMetadata(Namespaces, { nameMistakes: dnsLabelMistakes });

const namespaceShape = kindShape(Namespaces);

const nameLabel = "kubernetes.io/metadata.name";

/** Its own name is a label of every namespace, so that selectors can name one. */
function withNameLabel(object: ApiObject): ApiObject {
  const { name, labels } = object.metadata;
  if (name === undefined || labels?.[nameLabel] === name) return object;
  return { ...object, metadata: { ...object.metadata, labels: { ...labels, [nameLabel]: name } } };
}

function asNamespace(object: ApiObject): Namespace {
  return object;
}

export const namespaceRules: KindRules = {
  resource: Namespaces,

  normalize(object) {
    const { object: read, unknownFields } = readBuiltIn(Namespaces, namespaceShape, object);
    return { object: withNameLabel(read), unknownFields };
  },

  prepareForCreate(object) {
    const given = asNamespace(object).spec?.finalizers ?? [];
    const finalizers = given.includes("kubernetes") ? given : [...given, "kubernetes"];
    return withProperties(withNameLabel(object), { spec: { finalizers }, status: { phase: "Active" } });
  },

  prepareForUpdate(next, current, subresource) {
    const { spec, status } = asNamespace(current);
    return withProperties(next, { spec, status: subresource === "status" ? shared(asNamespace(next).status, status) : status });
  },

  validateCreate(object) {
    const causes = new Causes();
    validateMetadata(metadata, object.metadata, causes);
    for (const finalizer of asNamespace(object).spec?.finalizers ?? []) validateFinalizerDomain(finalizer, "spec.finalizers", causes);
    return causes.all;
  },

  validateUpdate(next, current, subresource) {
    const causes = new Causes();
    validateMetadataUpdate(metadata, next.metadata, current.metadata, causes);
    if (subresource === "status") validatePhase(asNamespace(next), current.metadata.deletionTimestamp !== undefined, causes);
    return causes.all;
  },

  selectableFields(object) {
    return { ...metadataFields(Namespaces, object.metadata), "status.phase": asNamespace(object).status?.phase ?? "" };
  },
};

function validatePhase({ status }: Namespace, isGoing: boolean, causes: Causes): void {
  const wanted = isGoing ? "Terminating" : "Active";
  if (status?.phase === wanted) return;
  causes.invalid("status.Phase", status?.phase ?? "", `may only be '${wanted}' if \`deletionTimestamp\` is ${isGoing ? "not " : ""}empty`);
}
