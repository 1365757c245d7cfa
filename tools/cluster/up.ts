/**
 * A real Kubernetes on one machine: etcd, API server, controllers, scheduler, and a node with containerd, kubelet,
 * kube-proxy, a bridge and an enforcer of NetworkPolicies, a resolver and an image registry. `make cluster` leaves it running;
 * docs/cluster.md is for its users.
 *
 * - `layout.ts` names and paths, `settings.ts` ports, `credentials.ts` keys and kubeconfigs,
 * - `control-plane.ts`, `node-programs.ts` (with `node-files.ts`), `dns.ts`, `policies/` and `registry.ts` define the programs and their
 *   options, `ensure-objects.ts` makes the objects that these need,
 * - `programs.ts` starts, finds and ends processes, `progress.ts` prints progress,
 * - `network.ts`, `control-groups.ts`, `kernel-settings.ts` prepare the machine and restore it,
 * - `status.ts` checks the cluster, `down.ts` ends it, `sweep.ts` removes what would be left.
 *
 * Every step makes only what is missing, so the command that starts a cluster also repairs one.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { adminRequests, type AdminAccess } from "../../test/kubernetes/admin-requests.ts";
import { bedBinaries } from "../../test/kubernetes/binaries.ts";
import { ensureControlGroups, weighLess } from "./control-groups.ts";
import { type ClusterParts, controlPlane } from "./control-plane.ts";
import { ensureCredentials, readAdminAccess } from "./credentials.ts";
import { ensureDns, isDnsReady } from "./dns.ts";
import { rememberKernelSettings } from "./kernel-settings.ts";
import { type ClusterDescription, type ClusterLayout, nodeAddress } from "./layout.ts";
import { writeNodeFiles } from "./node-files.ts";
import { nodePrograms } from "./node-programs.ts";
import { checkRoutes, ensureNetwork, smallestMtu } from "./network.ts";
import { isNodeReady } from "./node-ready.ts";
import { ensurePoliciesObjects, policies } from "./policies/program.ts";
import { type Program, Programs } from "./programs.ts";
import { type Say, step, waitUntil } from "./progress.ts";
import { podRegistryName, pushPauseImage, registries, registryName, writeRegistryFiles } from "./registry.ts";
import { type ClusterPorts, ensurePorts } from "./settings.ts";

export interface Started {
  readonly description: ClusterDescription;
  /** How many programs had to be. */
  readonly started: number;
}

/** Brings the cluster up, or repairs it. The caller holds its lock. */
export async function bringUp(layout: ClusterLayout, say: Say): Promise<Started> {
  const bin = await bedBinaries("cluster");
  checkRoutes();
  await mkdir(layout.folder, { recursive: true, mode: 0o700 });
  rememberKernelSettings(layout);
  await ensureNetwork();
  ensureControlGroups();
  const ports = await ensurePorts(layout);
  const access = await ensureAccess(layout, ports);
  await writeRegistryFiles(layout, ports);
  await writeNodeFiles(layout, ports, smallestMtu());
  const parts: ClusterParts = { layout, ports, bin, admin: adminRequests(access) };
  const started = await startAll(parts, say);
  const description: ClusterDescription = {
    kubeconfig: layout.kubeconfig,
    registry: registryName(ports),
    podRegistry: podRegistryName(ports),
    nodeAddress,
    bin,
  };
  await writeFile(layout.description, `${JSON.stringify(description, null, 2)}\n`);
  return { description, started };
}

async function ensureAccess(layout: ClusterLayout, ports: ClusterPorts): Promise<AdminAccess> {
  await ensureCredentials(layout, ports.apiServer);
  const access = await readAdminAccess(layout, ports.apiServer);
  if (access === undefined) throw new Error(`${layout.kubeconfig} vanished; is another make cluster-down running?`);
  return access;
}

/** In the order in which they need each other. */
export function allPrograms(parts: ClusterParts): readonly Program[] {
  // Policies before the node: no pod runs without them.
  return [...registries(parts.layout, parts.ports), ...controlPlane(parts), policies(parts), ...nodePrograms(parts)];
}

async function startAll(parts: ClusterParts, say: Say): Promise<number> {
  const programs = new Programs(parts.layout);
  let started = 0;
  for (const program of allPrograms(parts)) {
    if (await programs.ensure(program, say)) started++;
    // The node's programs come later and pull it at their first pod.
    if (program.name === "registry") await pushPauseImage(parts.ports);
    if (program.name === "kube-apiserver") await ensureOwnObjects(parts);
  }
  weighLess(nodePrograms(parts).flatMap(({ name }) => programs.pid(name) ?? []));
  const dead = (): string | undefined => (programs.pid("kubelet") === undefined ? "kubelet ended" : undefined);
  if (started > 0) await step(say, "waiting for the node", () => waitUntil("a ready node", () => isNodeReady(parts.admin), dead));
  if (!(await isDnsReady(parts.admin))) {
    await step(say, "waiting for the resolver", () => waitUntil("a resolver (pod coredns)", () => isDnsReady(parts.admin), dead));
  }
  return started;
}

async function ensureOwnObjects(parts: ClusterParts): Promise<void> {
  await ensureDns(parts);
  await ensurePoliciesObjects(parts);
}
