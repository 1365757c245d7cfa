/** How an object is changed without sending it whole. Stands here, not at the port, so that pure code can say what is to be changed. */
import type { Json, JsonObject } from "./meta.ts";

export type Patch = JsonPatch | MergePatch;

/** RFC 6902: all operations or none. A `test` that does not hold refuses the whole patch. */
export interface JsonPatch {
  readonly type: "json";
  readonly operations: readonly JsonPatchOperation[];
}

/** RFC 7386. */
export interface MergePatch {
  readonly type: "merge";
  readonly body: JsonObject;
}

export type JsonPatchOperation =
  | { readonly op: "add" | "replace" | "test"; readonly path: string; readonly value: Json }
  | { readonly op: "remove"; readonly path: string }
  | { readonly op: "move" | "copy"; readonly from: string; readonly path: string };
