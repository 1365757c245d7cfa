/**
 * The resolver of the cluster: CoreDNS as a pod behind the service `kube-dns`, under the names and labels that it has on other
 * clusters, because NetworkPolicies know it by them.
 */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { machineNameservers } from "#engines/embedded/node/network/nameservers.ts";
import { imageOf } from "../../test/world/image-fixture.ts";
import { pushImage } from "../../test/world/push-image.ts";
import type { AdminRequest } from "../../test/kubernetes/admin-requests.ts";
import type { ClusterParts } from "./control-plane.ts";
import { ensureObjects, type OwnObject, roleOf } from "./ensure-objects.ts";
import { clusterDomain, dnsServiceAddress } from "./layout.ts";
import { registryName } from "./registry.ts";

const namespace = "kube-system";
const name = "coredns";
const labels = { "k8s-app": "kube-dns" };

/** Services and pods by their names, everything else as this machine asks. */
function corefile(): string {
  return `.:53 {
    errors
    health :8080
    kubernetes ${clusterDomain} in-addr.arpa {
        fallthrough in-addr.arpa
    }
    forward . ${machineNameservers().join(" ")}
    cache 30
}
`;
}

export async function ensureDns({ admin, ports, bin }: ClusterParts): Promise<void> {
  const image = await ensureImage(registryName(ports), join(bin, name));
  await ensureObjects(admin, dnsObjects(image));
  // Of clusters that were started when the resolver was no pod yet.
  await admin("DELETE", `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices/kube-dns`);
}

/** Its name says which program is in it, so that pushing can be left out. */
async function ensureImage(registry: string, program: string): Promise<string> {
  const content = await readFile(program);
  const repository = "agentbox-cluster/coredns";
  const tag = createHash("sha256").update(content).digest("hex").slice(0, 16);
  const there = await fetch(`http://${registry}/v2/${repository}/manifests/${tag}`, { method: "HEAD" });
  if (!there.ok) {
    const image = imageOf([[{ name, content, mode: 0o755 }]], { config: { entrypoint: [`/${name}`], cmd: [] } });
    await pushImage(registry, `${repository}:${tag}`, image);
  }
  return `${registry}/${repository}:${tag}`;
}

function dnsObjects(image: string): readonly OwnObject[] {
  const rules = [
    { apiGroups: [""], resources: ["services", "pods", "namespaces"], verbs: ["list", "watch"] },
    { apiGroups: ["discovery.k8s.io"], resources: ["endpointslices"], verbs: ["list", "watch"] },
  ];
  const ports = ["UDP", "TCP"].map((protocol) => ({ name: protocol.toLowerCase(), protocol, port: 53, targetPort: 53 }));
  return [
    ...roleOf("agentbox-coredns", { kind: "ServiceAccount", name, namespace }, rules),
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { name, namespace } },
    { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace }, data: { Corefile: corefile() } },
    deployment(image),
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "kube-dns", namespace, labels },
      spec: { clusterIP: dnsServiceAddress, selector: labels, ports },
    },
  ];
}

function deployment(image: string): OwnObject {
  const probe = { httpGet: { path: "/health", port: 8080 }, timeoutSeconds: 5 };
  const container = {
    name,
    image,
    args: ["-conf", "/etc/coredns/Corefile"],
    ports: ["UDP", "TCP"].map((protocol) => ({ name: `dns-${protocol.toLowerCase()}`, protocol, containerPort: 53 })),
    // Soon there, and not taken away because the machine is busy.
    startupProbe: { ...probe, periodSeconds: 1, failureThreshold: 120 },
    readinessProbe: { ...probe, periodSeconds: 10, failureThreshold: 6 },
    volumeMounts: [{ name: "config", mountPath: "/etc/coredns" }],
  };
  // A changed file alone would not reach the program.
  const annotations = { "agentbox.invalid/config": createHash("sha256").update(corefile()).digest("hex") };
  const spec = {
    serviceAccountName: name,
    priorityClassName: "system-cluster-critical",
    dnsPolicy: "Default",
    terminationGracePeriodSeconds: 1,
    containers: [container],
    volumes: [{ name: "config", configMap: { name } }],
  };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace, labels },
    spec: { replicas: 1, selector: { matchLabels: labels }, template: { metadata: { labels, annotations }, spec } },
  };
}

/** True when its pod answers. */
export async function isDnsReady(admin: AdminRequest): Promise<boolean> {
  const { status, text } = await admin("GET", `/apis/apps/v1/namespaces/${namespace}/deployments/${name}`);
  if (status !== 200) return false;
  const { availableReplicas = 0 } = (JSON.parse(text) as { status: { availableReplicas?: number } }).status;
  return availableReplicas > 0;
}
