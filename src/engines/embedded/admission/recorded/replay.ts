/**
 * For tests: what a kube-apiserver 1.36.3 answered to the objects in the files beside this one, and how to get the same
 * answer from the rules. Each line of a file is JSON:
 *
 * - `pods.jsonl`, `kinds.jsonl`: one object that was created,
 * - `updates.jsonl`: one stored object, and what was done to it (a merge patch as `change`, or a whole object as `next`),
 * - `custom-kinds.jsonl`: one CustomResourceDefinition, with objects that were created and updated under it.
 *
 * An answer is the object that came back (without what differs from call to call), or the causes of a refusal as
 * `field reason`, or the reason of a refusal without causes. In the answers to patches, `Unreadable` stands for the
 * Invalid with the field `patch`. Names of cases say what the server was found to do.
 */
import { readFileSync } from "node:fs";
import { isApiError } from "#kube/api-error.ts";
import { deepFreeze } from "#lib/deep-freeze.ts";
import type { ApiObject } from "#model/meta.ts";
import type { ScalePaths } from "#model/resource.ts";
import type { StructuralSchema } from "#model/structural-schema.ts";
import { asRecord, isRecord, put } from "../json.ts";
import type { KindRules, Subresource } from "../kind-rules.ts";

export type Answer =
  | { readonly object: ApiObject; readonly unknown?: readonly string[] }
  | { readonly causes: readonly string[] }
  | { readonly refused: string };

export interface RecordedCreate {
  readonly name: string;
  readonly object: ApiObject;
  readonly answer: Answer;
}

export interface RecordedUpdates {
  readonly current: ApiObject;
  readonly cases: readonly RecordedUpdate[];
}

export interface RecordedUpdate {
  readonly name: string;
  readonly subresource: Subresource;
  readonly change?: object;
  readonly next?: ApiObject;
  readonly answer: Answer;
}

export interface RecordedKind {
  readonly kind: string;
  readonly schema: StructuralSchema;
  readonly scale?: ScalePaths;
  readonly creates: readonly RecordedCreate[];
  readonly updates: readonly RecordedUpdates[];
}

/** The lines of one of the files; the caller knows what is in which. */
export function recorded<T>(file: string): readonly T[] {
  const text = readFileSync(new URL(file, import.meta.url), "utf8");
  return text
    .trim()
    .split("\n")
    .map((line) => deepFreeze(JSON.parse(line) as T));
}

/** Creates an object in the namespace `default`, as a store would. */
export function createAnswer(rules: KindRules, object: ApiObject): Answer {
  return answered(() => {
    const { object: normal, unknownFields } = rules.normalize(object);
    const metadata = rules.resource.namespaced ? { ...normal.metadata, namespace: "default" } : normal.metadata;
    const prepared = deepFreeze(rules.prepareForCreate(deepFreeze({ ...normal, metadata })));
    return { object: prepared, unknownFields, causes: rules.validateCreate(prepared) };
  });
}

export function updateAnswer(rules: KindRules, stored: ApiObject, { change, next, subresource }: RecordedUpdate): Answer {
  const current = deepFreeze(rules.normalize(stored).object);
  const written = (next ?? mergePatched(stored, change)) as ApiObject;
  const answer = answered(() => {
    const { object, unknownFields } = rules.normalize(deepFreeze(written));
    const prepared = deepFreeze(rules.prepareForUpdate(deepFreeze(object), current, subresource));
    return { object: prepared, unknownFields, causes: rules.validateUpdate(prepared, current, subresource) };
  });
  const isPatch = next === undefined;
  return isPatch && "refused" in answer && answer.refused === "BadRequest" ? { refused: "Unreadable" } : answer;
}

type Outcome = { object: ApiObject; unknownFields: readonly string[]; causes: ReturnType<KindRules["validateCreate"]> };

function answered(write: () => Outcome): Answer {
  try {
    const { object, unknownFields, causes } = write();
    if (causes.length > 0) return { causes: [...new Set(causes.map(({ field, reason }) => `${field} ${reason}`))].sort() };
    return { object: withoutIdentity(object), ...(unknownFields.length > 0 && { unknown: unknownFields.toSorted() }) };
  } catch (error) {
    if (isApiError(error)) return { refused: error.reason };
    throw error;
  }
}

function withoutIdentity(object: ApiObject): ApiObject {
  const { uid: _uid, resourceVersion: _version, generation: _generation, creationTimestamp: _created, ...metadata } = object.metadata;
  return { ...object, metadata };
}

function mergePatched(value: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return patch;
  const merged: Record<string, unknown> = isRecord(value) ? { ...value } : {};
  for (const [key, change] of Object.entries(asRecord(patch))) {
    if (change === null) delete merged[key];
    else put(merged, key, mergePatched(merged[key], change));
  }
  return merged;
}
