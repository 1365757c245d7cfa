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
import { traitsOf } from "../../store/kind-traits.ts";
import { newMetadata, updatedMetadata } from "../../store/server-metadata.ts";
import { asRecord, isRecord, put } from "../json.ts";
import type { KindRules, Subresource } from "../kind-rules.ts";

type Answer =
  | { readonly object: ApiObject; readonly unknown?: readonly string[] }
  | { readonly causes: readonly string[] }
  | { readonly refused: string };

interface RecordedCreate {
  readonly name: string;
  readonly object: ApiObject;
  readonly answer: Answer;
}

interface RecordedUpdates {
  readonly current: ApiObject;
  readonly cases: readonly RecordedUpdate[];
}

interface RecordedUpdate {
  readonly name: string;
  readonly subresource: Subresource;
  readonly change?: object;
  readonly next?: ApiObject;
  readonly answer: Answer;
}

interface RecordedKind {
  readonly kind: string;
  readonly schema: StructuralSchema;
  readonly scale?: ScalePaths;
  readonly creates: readonly RecordedCreate[];
  readonly updates: readonly RecordedUpdates[];
}

interface Recordings {
  readonly "pods.jsonl": RecordedCreate;
  readonly "kinds.jsonl": RecordedCreate;
  readonly "updates.jsonl": RecordedUpdates;
  readonly "custom-kinds.jsonl": RecordedKind;
}

export function recorded<File extends keyof Recordings>(file: File): readonly Recordings[File][] {
  const lines = readFileSync(new URL(file, import.meta.url), "utf8")
    .trim()
    .split("\n");
  return lines.map((line) => deepFreeze(JSON.parse(line) as Recordings[File]));
}

/** Creates an object in the namespace `default`, as the store does. */
export function createAnswer(rules: KindRules, object: ApiObject): Answer {
  const { namespaced } = rules.resource;
  return answered(() => {
    const { object: normal, unknownFields } = rules.normalize(object);
    const metadata = { ...newMetadata(normal.metadata, 0), ...(namespaced && { namespace: "default" }) };
    const prepared = rules.prepareForCreate(deepFreeze({ ...normal, metadata }));
    const counted = traitsOf(rules.resource).countsGenerations
      ? { ...prepared, metadata: { ...prepared.metadata, generation: 1 } }
      : prepared;
    return { object: counted, unknownFields, causes: rules.validateCreate(deepFreeze(counted)) };
  });
}

export function updateAnswer(rules: KindRules, stored: ApiObject, { change, next, subresource }: RecordedUpdate): Answer {
  const current = deepFreeze(rules.normalize(stored).object);
  const written = (next ?? mergePatched(stored, change)) as ApiObject;
  const answer = answered(() => {
    const { object, unknownFields } = rules.normalize(deepFreeze(written));
    const prepared = rules.prepareForUpdate(deepFreeze(object), current, subresource);
    const complete = deepFreeze({ ...prepared, metadata: updatedMetadata(prepared.metadata, current.metadata) });
    return { object: complete, unknownFields, causes: rules.validateUpdate(complete, current, subresource) };
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
