import { type Namespace, Namespaces } from "#model/core-kinds.ts";
import type { ResourceType } from "#model/resource.ts";
import { forbidden, notFound } from "./refusals.ts";
import type { StoreState } from "./store-state.ts";

/** There from the start, and made again should one go. */
export const systemNamespaces = ["default", "kube-system", "kube-public", "kube-node-lease"];

const undeletable = new Set(["default", "kube-system", "kube-public"]);

/** New objects need a namespace that is there and stays. */
export function requireNamespace(state: StoreState, type: ResourceType, namespace: string, name: string): void {
  const found: Namespace | undefined = state.table(Namespaces).get(namespace);
  if (found === undefined) throw notFound(Namespaces, namespace);
  if (found.status?.phase !== "Terminating") return;
  const field = "metadata.namespace";
  throw forbidden(type, name, `unable to create new content in namespace ${namespace} because it is being terminated`, [
    { field, reason: "NamespaceTerminating", message: `namespace ${namespace} is being terminated` },
  ]);
}

export function refuseToDelete(name: string): void {
  if (undeletable.has(name)) throw forbidden(Namespaces, name, "this namespace may not be deleted");
}

/** A namespace on its way out, as it stays until everything in it is gone. */
export function terminating(namespace: Namespace, finalizers: readonly string[], now: string): Namespace {
  const { finalizers: _, ...metadata } = namespace.metadata;
  const marked = { ...metadata, deletionTimestamp: now, ...(finalizers.length === 0 ? {} : { finalizers }) };
  return { ...namespace, metadata: marked, status: { ...namespace.status, phase: "Terminating" } };
}

/** True while the namespace waits for its contents to go. */
export function waitsForContents(namespace: Namespace): boolean {
  return namespace.spec?.finalizers?.includes("kubernetes") === true;
}

/** The namespace without what made it wait for its contents. */
export function emptied(namespace: Namespace): Namespace {
  const finalizers = (namespace.spec?.finalizers ?? []).filter((finalizer) => finalizer !== "kubernetes");
  return { ...namespace, spec: finalizers.length === 0 ? {} : { finalizers } };
}
