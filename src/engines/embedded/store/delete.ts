import type { DeleteOptions, ObjectKey } from "#kube/object-client.ts";
import { kubernetesTime } from "#lib/clock.ts";
import { Namespaces } from "#model/core-kinds.ts";
import type { ApiObject, JsonObject } from "#model/meta.ts";
import type { Pod } from "#model/pod.ts";
import { collectorFinalizers, type Grace, graceOf, markedDeleted, withFinalizers } from "./deletion-marks.ts";
import { asJson, asObject, shareStructure } from "./json-tree.ts";
import { nameOf, storeKey } from "./keys.ts";
import { refuseToDelete, terminating, waitsForContents } from "./namespace-lifecycle.ts";
import type { ObjectTable } from "./object-table.ts";
import { conflict, deletePrecondition, notFound } from "./refusals.ts";
import type { Change, StoreState } from "./store-state.ts";

/** Removes an object, or marks it when finalizers, a grace period or (for namespaces) its contents hold it back. */
export function deleteObject(state: StoreState, table: ObjectTable, at: ObjectKey, options: DeleteOptions): void {
  const key = storeKey(table.type, at);
  const current = table.get(key);
  if (current === undefined) throw notFound(table.type, at.name);
  const target = { table, key, current };
  const changes = isNamespaces(table) ? namespaceChanges(state, target, options) : objectChanges(state, target, options);
  if (options.dryRun !== true && changes.length > 0) state.commit(...changes);
}

interface Target {
  readonly table: ObjectTable;
  readonly key: string;
  readonly current: ApiObject;
}

function objectChanges(state: StoreState, target: Target, options: DeleteOptions): readonly Change[] {
  const { table, key, current } = target;
  checkPreconditions(target, options);
  const now = state.clock.now();
  const grace: Grace = table.traits.graceful ? graceOf(current as Pod, options.gracePeriodSeconds, now) : { kind: "none" }; // Only pods are graceful.
  if (grace.kind === "pending") return [];
  const finalizers = collectorFinalizers(current, options.propagationPolicy, table.traits.collected);
  const removal: Change = { table, key, object: undefined };
  if (grace.kind === "granted") {
    const mark = changed(target, withFinalizers(grace.object, finalizers));
    return finalizers.length > 0 || grace.seconds > 0 ? mark : [...mark, removal];
  }
  return finalizers.length > 0 ? changed(target, markedDeleted(withFinalizers(current, finalizers), now)) : [removal];
}

function namespaceChanges(state: StoreState, target: Target, options: DeleteOptions): readonly Change[] {
  const { table, key, current } = target;
  checkNamespacePreconditions(current, options);
  refuseToDelete(key);
  if (current.metadata.deletionTimestamp === undefined) {
    const finalizers = collectorFinalizers(current, options.propagationPolicy, true);
    return [{ table, key, object: terminating(current, finalizers, kubernetesTime(state.clock.now())) }];
  }
  return waitsForContents(current) ? [] : objectChanges(state, target, options);
}

/** One change, or none if the object is like that already. */
function changed({ table, key, current }: Target, next: ApiObject): readonly Change[] {
  const shared = shareStructure(asJson(current), asJson(next));
  return shared === asJson(current) ? [] : [{ table, key, object: asObject(shared as JsonObject) }]; // An object stays one.
}

function checkPreconditions({ table: { type }, key, current: { metadata } }: Target, { preconditions }: DeleteOptions): void {
  const { uid, resourceVersion: rv } = preconditions ?? {};
  if (uid !== undefined && uid !== metadata.uid) {
    const said = `the UID in the precondition (${uid}) does not match the UID in record (${metadata.uid}).`;
    throw deletePrecondition(type, nameOf(key), `${said} The object might have been deleted and then recreated`);
  }
  if (rv !== undefined && rv !== metadata.resourceVersion) {
    const said = `the ResourceVersion in the precondition (${rv}) does not match the ResourceVersion in record (${metadata.resourceVersion}).`;
    throw deletePrecondition(type, nameOf(key), `${said} The object might have been modified`);
  }
}

function checkNamespacePreconditions({ metadata }: ApiObject, { preconditions }: DeleteOptions): void {
  const { uid, resourceVersion: rv } = preconditions ?? {};
  const refuse = (what: string, given: string, actual: string | undefined): never => {
    throw conflict(
      Namespaces,
      metadata.name ?? "",
      `Precondition failed: ${what} in precondition: ${given}, ${what} in object meta: ${actual}`,
    );
  };
  if (uid !== undefined && uid !== metadata.uid) refuse("UID", uid, metadata.uid);
  if (rv !== undefined && rv !== metadata.resourceVersion) refuse("ResourceVersion", rv, metadata.resourceVersion);
}

function isNamespaces({ type }: ObjectTable): boolean {
  return type.group === Namespaces.group && type.kind === Namespaces.kind;
}
