/** The resolver of the cluster: CoreDNS on the bridge, behind the service `kube-dns` as on other clusters. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { machineNameservers } from "#engines/embedded/node/network/nameservers.ts";
import { type ClusterParts, isHealthy } from "./control-plane.ts";
import { dnsUser, workerKubeconfig } from "./credentials.ts";
import { clusterDomain, type ClusterLayout, dnsServiceAddress, nodeAddress } from "./layout.ts";
import { ensureObjects, roleOf } from "./ensure-objects.ts";
import type { Program } from "./programs.ts";
import type { ClusterPorts } from "./settings.ts";

function configFile(layout: ClusterLayout): string {
  return join(layout.folder, "node/Corefile");
}

export function dns({ layout, ports, bin }: ClusterParts): Program {
  return {
    name: "coredns",
    command: join(bin, "coredns"),
    args: [`-conf=${configFile(layout)}`],
    files: [configFile(layout)],
    ready: () => isHealthy(`http://127.0.0.1:${ports.dnsHealth}/health`),
  };
}

/** Services and pods by their names, everything else as this machine asks. */
export async function writeDnsFile(layout: ClusterLayout, ports: ClusterPorts): Promise<void> {
  await writeFile(
    configFile(layout),
    `.:${ports.dns} {
    bind ${nodeAddress}
    errors
    health 127.0.0.1:${ports.dnsHealth}
    kubernetes ${clusterDomain} in-addr.arpa {
        kubeconfig ${workerKubeconfig(layout, "dns")}
        fallthrough in-addr.arpa
    }
    forward . ${machineNameservers().join(" ")}
    cache 30
}
`,
  );
}

/** Its role, and the service by which pods find it. Created once; what is there stays. */
export async function ensureDnsObjects({ admin, ports }: ClusterParts): Promise<void> {
  const rules = [
    { apiGroups: [""], resources: ["services", "pods", "namespaces"], verbs: ["list", "watch"] },
    { apiGroups: ["discovery.k8s.io"], resources: ["endpointslices"], verbs: ["list", "watch"] },
  ];
  const servicePorts = ["UDP", "TCP"].map((protocol) => ({ name: protocol.toLowerCase(), protocol, port: 53 }));
  await ensureObjects(admin, [
    ...roleOf("agentbox-dns", { apiGroup: "rbac.authorization.k8s.io", kind: "User", name: dnsUser }, rules),
    [
      "/api/v1/namespaces/kube-system/services",
      { metadata: { name: "kube-dns" }, spec: { clusterIP: dnsServiceAddress, ports: servicePorts } },
    ],
    [
      "/apis/discovery.k8s.io/v1/namespaces/kube-system/endpointslices",
      {
        metadata: { name: "kube-dns", labels: { "kubernetes.io/service-name": "kube-dns" } },
        addressType: "IPv4",
        endpoints: [{ addresses: [nodeAddress], conditions: { ready: true } }],
        ports: servicePorts.map((port) => ({ ...port, port: ports.dns })),
      },
    ],
  ]);
}
