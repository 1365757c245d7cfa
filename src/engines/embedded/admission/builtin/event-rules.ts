import { Events, type ObjectEvent } from "#model/core-kinds.ts";
import type { ApiObject } from "#model/meta.ts";
import { Causes } from "../causes.ts";
import type { KindRules } from "../kind-rules.ts";
import { metadataFields, validateMetadata, validateMetadataUpdate } from "../metadata-rules.ts";
import { pathSegmentMistakes, qualifiedNameMistakes } from "#model/names.ts";
import { builtInMetadata } from "./built-in-metadata.ts";
import { kindShape } from "./kubernetes-shape.ts";
import { readBuiltIn } from "./read-shape.ts";

const metadata = builtInMetadata(Events, { nameMistakes: pathSegmentMistakes });

const eventShape = kindShape(Events);

/** Objects that reach the rules below have been through `normalize`. */
function asEvent(object: ApiObject): ObjectEvent {
  return object as ObjectEvent;
}

export const eventRules: KindRules = {
  resource: Events,

  normalize: (object) => readBuiltIn(Events, eventShape, object),

  prepareForCreate: (object) => object,

  prepareForUpdate: (next) => next,

  validateCreate(object) {
    const causes = new Causes();
    validateMetadata(metadata, object.metadata, causes);
    validateEvent(asEvent(object), causes);
    return causes.all;
  },

  validateUpdate(next, current) {
    const causes = new Causes();
    validateMetadataUpdate(metadata, next.metadata, current.metadata, causes);
    validateEvent(asEvent(next), causes);
    return causes.all;
  },

  selectableFields(object) {
    const { involvedObject, reason, type, source, reportingComponent } = object as Partial<ObjectEvent>;
    const involved = { kind: "", namespace: "", name: "", uid: "", apiVersion: "", resourceVersion: "", fieldPath: "", ...involvedObject };
    return {
      ...metadataFields(Events, object.metadata),
      ...Object.fromEntries(Object.entries(involved).map(([field, value]) => [`involvedObject.${field}`, value])),
      reason: reason ?? "",
      type: type ?? "",
      source: source?.component ?? reportingComponent ?? "",
      reportingComponent: reportingComponent ?? "",
    };
  },
};

/** Events with an eventTime follow the newer, stricter form; events without one may say nearly anything. */
function validateEvent(event: ObjectEvent, causes: Causes): void {
  const isNewForm = (event.eventTime ?? null) !== null;
  validateInvolvedNamespace(event, isNewForm, causes);
  if (isNewForm) validateNewForm(event, causes);
}

function validateNewForm({ reportingComponent = "", reportingInstance, action, reason, message = "" }: ObjectEvent, causes: Causes): void {
  if (reportingComponent === "") causes.required("reportingComponent");
  causes.invalidEach("reportingComponent", reportingComponent, qualifiedNameMistakes(reportingComponent));
  for (const [field, text = ""] of Object.entries({ reportingInstance, action, reason })) {
    if (text === "") causes.required(field);
    if (Buffer.byteLength(text) > 128) causes.invalid(field, "", "can have at most 128 characters");
  }
  if (Buffer.byteLength(message) > 1024) causes.invalid("message", "", "can have at most 1024 characters");
}

/** An event is in the namespace of its object; an event about an object without a namespace is in the default namespace. */
function validateInvolvedNamespace(
  { metadata: { namespace: own = "" }, involvedObject }: ObjectEvent,
  isNewForm: boolean,
  causes: Causes,
): void {
  const involved = involvedObject.namespace ?? "";
  const homes = involved === "" ? ["", "default", ...(isNewForm ? ["kube-system"] : [])] : isNewForm ? [own] : [involved];
  if (!homes.includes(own)) causes.invalid("involvedObject.namespace", involved, "does not match event.namespace");
}
