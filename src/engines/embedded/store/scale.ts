import { ApiError } from "#kube/api-error.ts";
import type { ObjectKey, Scale, WriteOptions } from "#kube/object-client.ts";
import { deepFreeze } from "#lib/deep-freeze.ts";
import type { ApiObject, Json, JsonObject } from "#model/meta.ts";
import type { ScalePaths } from "#model/resource.ts";
import { asJson, asObject, copyJson, isJsonObject } from "./json-tree.ts";
import { storeKey } from "./keys.ts";
import type { ObjectTable } from "./object-table.ts";
import { readBody } from "./read-body.ts";
import { invalidPatch, noSuchResource, notFound } from "./refusals.ts";
import { replaceObject } from "./replace.ts";
import type { StoreState } from "./store-state.ts";
import { applyPatch, checkPlace, checkUid, type PatchRequest } from "./update.ts";

/** How many replicas an object wants and has, read from where its kind keeps the numbers. */
export function readScale(table: ObjectTable, at: ObjectKey): Scale {
  const { current, paths } = find(table, at);
  return scaleOf(current, paths);
}

export interface ScaleRequest {
  readonly at: ObjectKey;
  readonly scale: Scale;
}

export function updateScale(state: StoreState, table: ObjectTable, { at, scale }: ScaleRequest, options: WriteOptions): Scale {
  const { key, current, paths } = find(table, at);
  const wanted = copyJson(scale);
  checkPlace(wanted, current);
  checkUid(table, key, wanted.metadata.uid, current);
  return writeScale(state, table, { key, current, paths, wanted, options });
}

export function patchScale(state: StoreState, table: ObjectTable, { at, patch }: PatchRequest, options: WriteOptions): Scale {
  const { key, current, paths } = find(table, at);
  const wanted = asObject(applyPatch(asJson(scaleOf(current, paths)), patch)) as Scale; // Checked where it is used.
  const replicas = readPath(asJson(wanted), ".spec.replicas") ?? 0;
  if (!Number.isInteger(replicas)) throw invalidPatch(wanted, "spec.replicas must be a whole number");
  checkPlace(wanted, current);
  return writeScale(state, table, { key, current, paths, wanted, options });
}

interface ScaleWrite {
  readonly key: string;
  readonly current: ApiObject;
  readonly paths: ScalePaths;
  readonly wanted: Scale;
  readonly options: WriteOptions;
}

/** Sets the wanted replicas in the object itself, by an ordinary update that is conditional if the scale names a version. */
function writeScale(state: StoreState, table: ObjectTable, { key, current, paths, wanted, options }: ScaleWrite): Scale {
  const scaled = withPath(asJson(current), paths.specReplicasPath.split(".").slice(1), wanted.spec?.replicas ?? 0);
  const read = readBody(table, scaled, { fieldValidation: options.fieldValidation, patched: false });
  const { resourceVersion = current.metadata.resourceVersion } = wanted.metadata;
  const conditional = { ...read, metadata: { ...read.metadata, ...(resourceVersion === undefined ? {} : { resourceVersion }) } };
  const next = replaceObject(state, table, { key, current, wanted: conditional, subresource: "main", dryRun: options.dryRun === true });
  return scaleOf(next, paths);
}

function find(table: ObjectTable, at: ObjectKey): { readonly key: string; readonly current: ApiObject; readonly paths: ScalePaths } {
  const paths = table.type.scale;
  if (paths === undefined) throw noSuchResource();
  const key = storeKey(table.type, at);
  const current = table.get(key);
  if (current === undefined) throw notFound(table.type, at.name);
  return { key, current, paths };
}

function scaleOf(object: ApiObject, paths: ScalePaths): Scale {
  const json = asJson(object);
  const replicas = readPath(json, paths.specReplicasPath);
  if (typeof replicas !== "number") {
    const message = `the spec replicas field "${paths.specReplicasPath}" does not exist`;
    throw new ApiError("InternalError", `Internal error occurred: ${message}`);
  }
  const has = readPath(json, paths.statusReplicasPath);
  const selector = paths.labelSelectorPath === undefined ? undefined : readPath(json, paths.labelSelectorPath);
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  return deepFreeze({
    kind: "Scale",
    apiVersion: "autoscaling/v1",
    metadata: copyJson({ name, namespace, uid, resourceVersion, creationTimestamp }) as Scale["metadata"],
    spec: { replicas },
    status: { replicas: typeof has === "number" ? has : 0, ...(typeof selector === "string" && selector !== "" ? { selector } : {}) },
  });
}

/** The value at a path such as `.spec.replicas`. */
function readPath(object: JsonObject, path: string): Json | undefined {
  return path
    .split(".")
    .slice(1)
    .reduce<Json | undefined>((value, key) => (isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined), object);
}

function withPath(object: JsonObject, path: readonly string[], value: Json): JsonObject {
  const [key = "", ...rest] = path;
  if (rest.length === 0) return { ...object, [key]: value };
  const child = object[key];
  return { ...object, [key]: withPath(isJsonObject(child) ? child : {}, rest, value) };
}
