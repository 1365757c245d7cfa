import type { AdminRequest } from "../../test/kubernetes/admin-requests.ts";
import { nodeName } from "./layout.ts";

/** True when pods can be put on the node and can use the API: it says that it is ready, and their account is there. */
export async function isNodeReady(admin: AdminRequest): Promise<boolean> {
  const [node, account] = await Promise.all([
    admin("GET", `/api/v1/nodes/${nodeName}`),
    admin("GET", "/api/v1/namespaces/default/serviceaccounts/default"),
  ]);
  if (node.status !== 200 || account.status !== 200) return false;
  const { spec, status } = JSON.parse(node.text) as {
    spec: { taints?: unknown[] };
    status: { conditions?: { type: string; status: string }[] };
  };
  const ready = status.conditions?.some((condition) => condition.type === "Ready" && condition.status === "True") === true;
  // A new node is kept free of pods until a controller has seen that it is ready.
  return ready && spec.taints === undefined;
}
