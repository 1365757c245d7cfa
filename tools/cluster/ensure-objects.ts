/** Objects that the cluster's own programs need. Created once; what is there stays. */
import type { AdminRequest } from "../../test/kubernetes/admin-requests.ts";
import { waitUntil } from "./progress.ts";

export interface NamedObject {
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> };
  readonly [field: string]: unknown;
}

/** Each with the path of its collection. */
export async function ensureObjects(admin: AdminRequest, objects: readonly (readonly [string, NamedObject])[]): Promise<void> {
  for (const [path, object] of objects) await ensureObject(admin, path, object);
}

async function ensureObject(admin: AdminRequest, path: string, object: NamedObject): Promise<void> {
  if ((await admin("GET", `${path}/${object.metadata.name}`)).status === 200) return;
  const created = async (): Promise<boolean> => {
    const answer = await admin("POST", path, object);
    // A new API server makes its own namespaces only when it is up.
    if (answer.status !== 201 && answer.status !== 404) throw new Error(`${path} answered ${answer.status}: ${answer.text}`);
    return answer.status === 201;
  };
  await waitUntil(path, created, () => undefined);
}

/** A role over the whole cluster, and the one who has it. */
export function roleOf(name: string, subject: object, rules: readonly object[]): readonly (readonly [string, NamedObject])[] {
  const rbac = "/apis/rbac.authorization.k8s.io/v1";
  const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name };
  return [
    [`${rbac}/clusterroles`, { metadata: { name }, rules }],
    [`${rbac}/clusterrolebindings`, { metadata: { name }, roleRef, subjects: [subject] }],
  ];
}
