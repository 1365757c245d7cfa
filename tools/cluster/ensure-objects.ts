/** Objects that the cluster's own programs need: made where they are missing, put right where they are others. */
import type { AdminRequest } from "../../test/kubernetes/admin-requests.ts";
import { waitUntil } from "./progress.ts";

export interface OwnObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly labels?: Readonly<Record<string, string>> };
  readonly [field: string]: unknown;
}

export async function ensureObjects(admin: AdminRequest, objects: readonly OwnObject[]): Promise<void> {
  for (const object of objects) {
    const path = pathOf(object);
    const applied = async (): Promise<boolean> => {
      const { status, text } = await admin("PATCH", `${path}?fieldManager=agentbox-cluster&force=true`, object);
      // A new API server makes its own namespaces only when it is up.
      if (status !== 200 && status !== 201 && status !== 404) throw new Error(`${path} answered ${status}: ${text}`);
      return status !== 404;
    };
    await waitUntil(path, applied, () => undefined);
  }
}

function pathOf({ apiVersion, kind, metadata: { namespace, name } }: OwnObject): string {
  const group = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const place = namespace === undefined ? "" : `/namespaces/${namespace}`;
  return `${group}${place}/${kind.toLowerCase()}s/${name}`;
}

/** A role over the whole cluster, and its binding to `subject`. */
export function roleOf(name: string, subject: object, rules: readonly object[]): readonly OwnObject[] {
  const apiVersion = "rbac.authorization.k8s.io/v1";
  const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name };
  return [
    { apiVersion, kind: "ClusterRole", metadata: { name }, rules },
    { apiVersion, kind: "ClusterRoleBinding", metadata: { name }, roleRef, subjects: [subject] },
  ];
}
