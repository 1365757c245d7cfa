/**
 * What every object has on both engines, in its JSON form (times are RFC 3339 texts).
 * Everything is readonly: objects are shared between readers, and changing one means making another.
 */
import type { ObjectMeta } from "./kubernetes.generated.ts";

export type { LabelSelector, ObjectMeta, OwnerReference } from "./kubernetes.generated.ts";

export interface ApiObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
}

/** metav1.Condition. */
export interface Condition {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly observedGeneration?: number;
  readonly lastTransitionTime: string;
  readonly reason: string;
  readonly message: string;
}

export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };
export type JsonObject = { readonly [key: string]: Json };
