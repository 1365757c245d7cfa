/**
 * The program that enforces NetworkPolicies on the cluster of this machine.
 * Usage: node main.ts KUBECONFIG PORT, where PORT on loopback answers whether it does its work
 */
import { createServer } from "node:http";
import { runCommand } from "#engines/embedded/node/linux/run-command.ts";
import { kubernetesClient } from "#engines/kubernetes/client.ts";
import { Informer } from "#kube/informer/informer.ts";
import { systemClock } from "#lib/clock.ts";
import { openLog } from "#lib/log.ts";
import { Namespaces } from "#model/core-kinds.ts";
import type { ApiObject } from "#model/meta.ts";
import { Pods } from "#model/pod.ts";
import type { ResourceType } from "#model/resource.ts";
import { policyTable } from "../layout.ts";
import { Enforcer, type PolicyTable } from "./enforcer.ts";
import { NetworkPolicies } from "./network-policy.ts";

const [kubeconfig = "", port = ""] = process.argv.slice(2);
const clock = systemClock;
const log = openLog({ clock, out: process.stdout });
const client = await kubernetesClient({ kubeconfig });

const nftTable: PolicyTable = {
  load: async (text) => void (await runCommand(["nft", "-f", "-"], { input: text })),
  isThere: async () => {
    // Families are as much a part of a table's name as its name.
    const tables = await runCommand(["nft", "list", "tables"]);
    return tables.split("\n").includes(`table ${policyTable}`);
  },
};

function follow<T extends ApiObject>(type: ResourceType<T>, fieldSelector?: string): Informer<T> {
  return new Informer<T>({ client, clock, log }, { type, fieldSelector });
}

const policies = follow(NetworkPolicies);
// Without a node there is nothing that could speak or be spoken to.
const pods = follow(Pods, "spec.nodeName!=");
const namespaces = follow(Namespaces);
const all = [policies, pods, namespaces];
/** Without policies the pods do not matter, and hundreds of them come and go: so they are left out. */
const view = () =>
  all.every(({ synced }) => synced)
    ? { policies: [...policies.objects.list()], pods: concerned(pods), namespaces: concerned(namespaces) }
    : undefined;

function concerned<T extends ApiObject>({ objects }: Informer<T>): readonly T[] {
  return policies.objects.list().next().done === true ? [] : [...objects.list()];
}
const enforcer = new Enforcer({ view, table: nftTable, clock, log });

for (const informer of all) {
  informer.onChange(() => enforcer.changed());
  informer.start();
  // An empty list is no change.
  void informer.whenSynced().then(() => enforcer.changed());
}

createServer((_request, response) => {
  enforcer.isHealthy().then(
    (healthy) => response.writeHead(healthy ? 200 : 503).end(),
    () => response.writeHead(500).end(),
  );
}).listen(Number(port), "127.0.0.1");

process.once("SIGTERM", () => {
  enforcer.stop();
  process.exit(0);
});
