/**
 * Pods. Users of AgentBox write nearly all of a pod themselves, so all of its rules are here:
 *
 * - `kubernetes-shape.ts` its fields with their fixed defaults, `../../stored-pod.ts` a pod that has them, as a type,
 * - `pod-defaults.ts` defaults that follow from other fields, `pod-plugins.ts` what the server's plugins add, `pod-qos.ts` its class of service,
 * - `pod-validation.ts` what it may say, `pod-updates.ts` what of it may change.
 *
 * Not checked: whether priority classes and runtime classes exist, the values in volumes of older types, and the values of
 * resources of a whole pod.
 */
import type { ApiObject } from "#model/meta.ts";
import { Pods } from "#model/pod.ts";
import { Causes } from "../causes.ts";
import { shared, withProperties } from "../json.ts";
import type { KindRules } from "../kind-rules.ts";
import { metadataFields, validateMetadata, validateMetadataUpdate } from "../metadata-rules.ts";
import { builtInMetadata } from "./built-in-metadata.ts";
import { kindShape } from "./kubernetes-shape.ts";
import { completePod } from "./pod-defaults.ts";
import type { StoredPod, StoredPodSpec } from "#engines/embedded/stored-pod.ts";
import type { PodStatus } from "#model/kubernetes.generated.ts";
import { addNodeTolerations, resolvePriority } from "./pod-plugins.ts";
import { qosClass } from "./pod-qos.ts";
import { keepForStatus, validateSpecUpdate, validateStatusUpdate } from "./pod-updates.ts";
import { validatePodSpec } from "./pod-validation.ts";
import { readBuiltIn } from "./read-shape.ts";

const metadata = builtInMetadata(Pods);

const podShape = kindShape(Pods);

/** Objects that reach the rules below have been through `normalize`, now or when they were stored. */
function asPod(object: ApiObject): StoredPod {
  return object as unknown as StoredPod;
}

function asObject(pod: StoredPod): ApiObject {
  return pod;
}

export const podRules: KindRules = {
  resource: Pods,

  normalize(object) {
    const { object: read, unknownFields } = readBuiltIn(Pods, podShape, object);
    return { object: asObject(completePod(asPod(read))), unknownFields };
  },

  prepareForCreate(object) {
    const pod = asPod(object);
    const spec = addNodeTolerations(resolvePriority(pod));
    return asObject(withProperties(pod, { spec, status: { phase: "Pending", qosClass: qosClass(spec) } }));
  },

  prepareForUpdate(nextObject, currentObject, subresource) {
    const current = asPod(currentObject);
    const next = asPod(nextObject);
    if (subresource === "status") return asObject(keepForStatus(next, current));
    const spec = addNodeTolerations(
      withProperties(next.spec, {
        priority: next.spec.priority ?? current.spec.priority,
        preemptionPolicy: next.spec.preemptionPolicy ?? current.spec.preemptionPolicy,
      }),
    );
    return asObject(withProperties(next, { spec: shared(spec, current.spec), status: current.status }));
  },

  validateCreate(object) {
    const causes = new Causes();
    const { spec } = asPod(object);
    validateMetadata(metadata, object.metadata, causes);
    validatePodSpec(spec, causes);
    if (spec.ephemeralContainers !== undefined) causes.forbidden("spec.ephemeralContainers", "cannot be set on create");
    return causes.all;
  },

  validateUpdate(nextObject, currentObject, subresource) {
    const causes = new Causes();
    const next = asPod(nextObject);
    const current = asPod(currentObject);
    validateMetadataUpdate(metadata, next.metadata, current.metadata, causes);
    if (subresource === "status") validateStatusUpdate(next, current, causes);
    else if (next.spec !== current.spec) {
      validatePodSpec(next.spec, causes);
      validateSpecUpdate(next.spec, current.spec, causes);
    }
    return causes.all;
  },

  selectableFields(object) {
    const { spec, status } = object as Partial<StoredPod>;
    return { ...metadataFields(Pods, object.metadata), ...specFields(spec), ...statusFields(status) };
  },
};

function specFields(spec?: StoredPodSpec): Readonly<Record<string, string>> {
  const { nodeName = "", restartPolicy = "", schedulerName = "", serviceAccountName = "", hostNetwork = false } = spec ?? {};
  return {
    "spec.nodeName": nodeName,
    "spec.restartPolicy": restartPolicy,
    "spec.schedulerName": schedulerName,
    "spec.serviceAccountName": serviceAccountName,
    "spec.hostNetwork": String(hostNetwork),
  };
}

function statusFields({ phase, podIP = "", nominatedNodeName = "" }: PodStatus = {}): Readonly<Record<string, string>> {
  return { "status.phase": phase ?? "", "status.podIP": podIP, "status.podIPs": podIP, "status.nominatedNodeName": nominatedNodeName };
}
