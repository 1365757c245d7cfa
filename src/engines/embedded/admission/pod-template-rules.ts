/**
 * The pod template inside our own kinds, held to the rules of pods and to what the node can do. A CustomResourceDefinition cannot say them. The
 * embedded server refuses such a template, with the path of the field; on Kubernetes the REST API does (`cmd/cluster/check-pod-template.ts`), and what is
 * written past it is told by its status (`controllers/template`).
 */
import { isDeepStrictEqual } from "node:util";
import { isApiError, type StatusCause } from "#kube/api-error.ts";
import { labelKeys } from "#model/keys.ts";
import type { ApiObject } from "#model/meta.ts";
import type { Pod } from "#model/pod.ts";
import { nodePod } from "../node/agent/node-pod.ts";
import { unsupported } from "../node/agent/plan/unsupported.ts";
import { podRules } from "./builtin/pod-rules.ts";
import { Causes } from "./causes.ts";
import { asRecord, isRecord, type JsonRecord } from "./json.ts";
import type { KindRules } from "./kind-rules.ts";

/** The same rules, and those of pods for `spec.template`. */
export function withPodTemplate(rules: KindRules): KindRules {
  return {
    ...rules,
    validateCreate: (object) => {
      const causes = rules.validateCreate(object);
      return causes.length > 0 ? causes : podTemplateCauses(object, unsupportedHere);
    },
    validateUpdate: (next, current, subresource) => {
      const causes = rules.validateUpdate(next, current, subresource);
      if (causes.length > 0 || subresource === "status" || hasSameSpec(next, current)) return causes;
      return podTemplateCauses(next, unsupportedHere);
    },
  };
}

/** What was stored by an earlier version may stay, so that the rest of the object can be changed. */
export function hasSameSpec(next: ApiObject, current: ApiObject): boolean {
  return isDeepStrictEqual(specOf(next), specOf(current));
}

function unsupportedHere(pod: Pod): readonly string[] {
  return unsupported(nodePod(pod));
}

function recordAt(record: JsonRecord, field: string): JsonRecord {
  const value = record[field];
  return isRecord(value) ? value : {};
}

function specOf(object: ApiObject): JsonRecord {
  return recordAt(asRecord(object), "spec");
}

/**
 * A pool that names a template may say no more than what is different in its pods: that is no pod by itself. `lacking`: what the node cannot do,
 * each as a path and perhaps a value; a cluster's nodes can do all of it.
 */
export function podTemplateCauses(object: ApiObject, lacking: (pod: Pod) => readonly string[] = () => []): readonly StatusCause[] {
  const spec = specOf(object);
  const template = recordAt(spec, "template");
  const podSpec = recordAt(template, "spec");
  const containers = podSpec["containers"];
  if (spec["templateName"] !== undefined || !Array.isArray(containers) || containers.length === 0) return [];
  const { labels, annotations } = recordAt(template, "metadata");
  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: "pod",
      namespace: "default",
      labels: { ...(isRecord(labels) ? labels : {}), [labelKeys.sandboxPool]: "pool" },
      annotations,
    },
    spec: { ...podSpec, containers: containers.map(withImage) },
  } as unknown as ApiObject;
  return mistakesOf(pod, lacking).map(({ field, ...rest }) => ({ ...rest, field: `spec.template.${field}` }));
}

/** A template may leave the image of a container to requests. */
function withImage(container: unknown): unknown {
  return isRecord(container) && (container["image"] ?? "") === "" ? { ...container, image: "any" } : container;
}

function mistakesOf(pod: ApiObject, lacking: (pod: Pod) => readonly string[]): readonly StatusCause[] {
  const causes = new Causes();
  try {
    const { object, unknownFields } = podRules.normalize(pod);
    for (const field of unknownFields) causes.invalid(field, undefined, "a pod has no such field");
    const made = podRules.prepareForCreate(object);
    const found = [...causes.all, ...podRules.validateCreate(made)];
    if (found.length > 0) return found;
    for (const entry of lacking(made as Pod)) {
      const [field = "", value] = entry.split(" ", 2);
      causes.forbidden(
        field,
        value === undefined ? "sandboxes on this machine cannot have it" : `sandboxes on this machine cannot have ${value}`,
      );
    }
  } catch (error) {
    if (!isApiError(error, "BadRequest", "Forbidden", "Invalid")) throw error;
    causes.invalid("spec", undefined, error.message);
  }
  return causes.all;
}
