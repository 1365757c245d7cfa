import type { Subresource } from "#engines/embedded/admission/kind-rules.ts";
import { deepFreeze } from "#lib/deep-freeze.ts";
import type { ApiObject, JsonObject } from "#model/meta.ts";
import { Namespaces, type Namespace } from "#model/core-kinds.ts";
import { asJson, asObject, shareStructure } from "./json-tree.ts";
import { nameOf } from "./keys.ts";
import type { ObjectTable } from "./object-table.ts";
import { invalid, modified, unnamedFailure, versionMissing } from "./refusals.ts";
import { updatedMetadata } from "./server-metadata.ts";
import type { StoreState } from "./store-state.ts";

export interface Replacement {
  readonly key: string;
  readonly current: ApiObject;
  /** What the client wants instead, as the kind knows it. */
  readonly wanted: ApiObject;
  readonly subresource: Subresource;
  readonly dryRun: boolean;
}

/**
 * Puts another object in place of the current one, as far as this write may. Updates, patches and scaling all end here.
 * A write that changes nothing is none: no version, no event.
 */
export function replaceObject(state: StoreState, table: ObjectTable, replacement: Replacement): ApiObject {
  const { key, current, subresource, dryRun } = replacement;
  checkVersion(table, replacement);
  const next = nextObject(table, replacement);
  const causes = table.rules.validateUpdate(next, current, subresource);
  if (causes.length > 0) throw invalid(table.type, nameOf(key), causes);

  const shared = asObject(shareStructure(asJson(current), asJson(next)) as JsonObject); // An object stays one.
  if (shared === current) return current;
  const final = counted(table, shared, current, subresource);
  if (dryRun) return deepFreeze(final);
  if (!endsWith(final, current)) return state.commit({ table, key, object: final }) ?? final;
  // The last finalizer goes, and the object with it. Watchers see the state before, and the client what it asked for.
  state.commit({ table, key, object: undefined });
  return deepFreeze(final);
}

function checkVersion({ type, traits }: ObjectTable, { key, current, wanted }: Replacement): void {
  const given = wanted.metadata.resourceVersion ?? "0";
  if (!/^\d+$/.test(given)) throw unnamedFailure(`strconv.ParseUint: parsing ${JSON.stringify(given)}: invalid syntax`);
  if (Number(given) === 0) {
    if (!traits.unconditionalUpdate) throw versionMissing(type, nameOf(key));
  } else if (Number(given) !== Number(current.metadata.resourceVersion)) {
    throw modified(type, nameOf(key));
  }
}

function nextObject({ rules }: ObjectTable, { current, wanted, subresource }: Replacement): ApiObject {
  const prepared = rules.prepareForUpdate(wanted, current, subresource);
  return { ...prepared, metadata: updatedMetadata(prepared.metadata, current.metadata) };
}

/** Raises the generation if anything but the metadata changed. Status writes never do; in others the rules kept the status. */
function counted({ traits }: ObjectTable, next: ApiObject, current: ApiObject, subresource: Subresource): ApiObject {
  if (!traits.countsGenerations || subresource !== "main" || !contentChanged(asJson(next), asJson(current))) return next;
  return { ...next, metadata: { ...next.metadata, generation: (current.metadata.generation ?? 0) + 1 } };
}

function contentChanged(next: JsonObject, current: JsonObject): boolean {
  const fields = new Set([...Object.keys(next), ...Object.keys(current)]);
  fields.delete("metadata");
  return [...fields].some((field) => next[field] !== current[field]);
}

/** True when this write takes away the last thing that held a deleted object back. */
function endsWith(next: ApiObject, current: ApiObject): boolean {
  if ((next.metadata.finalizers?.length ?? 0) > 0 || current.metadata.deletionTimestamp === undefined) return false;
  if (next.kind === Namespaces.kind && next.apiVersion === "v1" && heldByNamespaceFinalizers(next)) return false;
  return (current.metadata.deletionGracePeriodSeconds ?? 0) === 0;
}

function heldByNamespaceFinalizers(namespace: Namespace): boolean {
  return (namespace.spec?.finalizers?.length ?? 0) > 0;
}
