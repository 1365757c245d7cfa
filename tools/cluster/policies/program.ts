/**
 * The enforcer of NetworkPolicies as a program of the cluster: its options and its rights.
 *
 * - `main.ts` the program: follows the cluster, answers for its health,
 * - `enforcer.ts` when what is loaded, `isolate.ts` what policies mean, `ruleset.ts` how nft is told,
 * - `network-policy.ts` the kind.
 */
import { globSync } from "node:fs";
import { join } from "node:path";
import { type ClusterParts, isHealthy } from "../control-plane.ts";
import { policiesUser, workerKubeconfig } from "../credentials.ts";
import { ensureObjects, roleOf } from "../ensure-objects.ts";
import type { Program } from "../programs.ts";

export function policies({ layout, ports }: ClusterParts): Program {
  const options = [workerKubeconfig(layout, "policies"), String(ports.policiesHealth)];
  return {
    name: "policies",
    command: process.execPath,
    args: [join(import.meta.dirname, "main.ts"), ...options],
    // Several checkouts may look after one cluster, and what their files say counts, not where they are.
    identity: ["policies", ...options],
    files: globSync(join(import.meta.dirname, "!(*.test).ts")).toSorted(),
    ready: () => isHealthy(`http://127.0.0.1:${ports.policiesHealth}/healthz`),
  };
}

export async function ensurePoliciesObjects({ admin }: ClusterParts): Promise<void> {
  const verbs = ["list", "watch"];
  const rules = [
    { apiGroups: [""], resources: ["pods", "namespaces"], verbs },
    { apiGroups: ["networking.k8s.io"], resources: ["networkpolicies"], verbs },
  ];
  const subject = { apiGroup: "rbac.authorization.k8s.io", kind: "User", name: policiesUser };
  await ensureObjects(admin, roleOf("agentbox-policies", subject, rules));
}
