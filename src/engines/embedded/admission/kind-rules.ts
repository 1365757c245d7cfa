import type { StatusCause } from "#kube/api-error.ts";
import type { ApiObject } from "#model/meta.ts";
import type { ResourceType } from "#model/resource.ts";

/**
 * What the store asks about a kind before it writes an object, and where the answers come from:
 *
 * - `kind-rules.ts` (this file) the questions; `all-rules.ts` the answers of every kind,
 * - `custom-kind-rules.ts` our own kinds, out of their structural schemas (`schema/`) with `scale-rules.ts`,
 * - `pod-template-rules.ts` the pods inside them,
 * - `builtin/` Kubernetes' own kinds: their fields (`shape.ts`, `kubernetes-shape.ts`, `fields.generated.ts`) and one `…-rules.ts` each, pods in several files (`pod-rules.ts` names them),
 * - `metadata-rules.ts` what all kinds have in common, `field-selector.ts` field selectors,
 * - `causes.ts` mistakes in the server's words, `json.ts` JSON values that share what does not change,
 * - `recorded/` what a real server answered, and the test that holds the rules to it.
 *
 * All of it is pure: the store owns identity (uid, resourceVersion, generation, timestamps), concurrency, finalizers and
 * history; the rules own what an object may say.
 */
export interface KindRules {
  readonly resource: ResourceType;

  /**
   * The object as this kind knows it: fields it does not have are dropped (and named by their path, `spec.foo`), defaults are
   * filled in. What cannot be read at all (a text where a number belongs) throws BadRequest; in a patch the server calls
   * the same thing Invalid, with the field `patch`.
   */
  normalize(object: ApiObject): { readonly object: ApiObject; readonly unknownFields: readonly string[] };

  /**
   * Sets or removes what a client may not decide in a create: status of kinds that have the subresource, a pod's first phase, …
   * The name must be there (generated, if need be). Throws Forbidden where a plugin of the server would refuse.
   */
  prepareForCreate(object: ApiObject): ApiObject;

  /** Keeps what this write may not touch as it is in `current`. */
  prepareForUpdate(next: ApiObject, current: ApiObject, subresource: Subresource): ApiObject;

  /**
   * Everything that is wrong, in document order; empty when the object may be stored. Metadata syntax is included.
   * The store has set the metadata that belongs to it before; a changed uid or time of deletion is refused here.
   */
  validateCreate(object: ApiObject): readonly StatusCause[];
  validateUpdate(next: ApiObject, current: ApiObject, subresource: Subresource): readonly StatusCause[];

  /** Values for field selectors; the same keys for every object (`{ metadata: {} }` shows them). Other keys are a bad request. */
  selectableFields(object: ApiObject): Readonly<Record<string, string>>;
}

/** Whether a write goes to the object itself or to its status subresource. */
export type Subresource = "main" | "status";
