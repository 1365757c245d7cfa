/** AgentBox on the cluster of `make cluster` as its users install it: the chart, two pods of each part, PostgreSQL; and all of it gone at the end. */
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { AgentBoxClient } from "#client/agentbox-client.ts";
import { runCommand } from "#engines/embedded/node/linux/run-command.ts";
import { kubernetesClient, type KubernetesClient } from "#engines/kubernetes/client.ts";
import { Namespaces, Secrets } from "#model/core-kinds.ts";
import { type SandboxPool, SandboxPools } from "#model/sandbox-pool.ts";
import { type ClusterDescription, nodeAddress, podSubnet } from "../../../tools/cluster/layout.ts";
import { chartFolder } from "../../../tools/render-manifests.ts";
import { type PostgresServer, startPostgres } from "../../history/postgres-server.ts";
import { apartLabel, haveKinds, removeNamespace, systemImage } from "../system-world.ts";

export interface InstallationOptions {
  readonly cluster: ClusterDescription;
  /** Of the control plane's image; the chart's own when left out. */
  readonly tag?: string | undefined;
  /** Seconds that a gateway has to end. */
  readonly gatewayTermination: number;
}

export type Part = "api" | "controllers" | "gateway";

/** A small machine has no room for what the chart usually reserves. */
const smallRequests = ["api", "controllers", "gateway"].map((part) => `resources.${part}.requests.cpu=100m`);
const patience = "--timeout=5m";

export class Installation implements AsyncDisposable {
  readonly name: string;
  readonly sandboxNamespace: string;
  readonly client: KubernetesClient;
  readonly #cluster: ClusterDescription;
  readonly #parts: AsyncDisposableStack;

  private constructor(cluster: ClusterDescription, client: KubernetesClient, name: string, parts: AsyncDisposableStack) {
    this.name = name;
    this.sandboxNamespace = `${name}-sandboxes`;
    this.client = client;
    this.#cluster = cluster;
    this.#parts = parts;
  }

  static async install({ cluster, tag, gatewayTermination }: InstallationOptions): Promise<Installation> {
    const parts = new AsyncDisposableStack();
    const client = parts.adopt(await kubernetesClient({ kubeconfig: cluster.kubeconfig }), (open) => open.close());
    const installation = new Installation(cluster, client, `rollout-${randomUUID().slice(0, 6)}`, parts);
    try {
      await installation.#install({ cluster, tag, gatewayTermination });
      return installation;
    } catch (error) {
      await parts.disposeAsync();
      throw error;
    }
  }

  async #install({ cluster, tag, gatewayTermination }: InstallationOptions): Promise<void> {
    await haveKinds(cluster);
    const pods = { address: nodeAddress, network: podSubnet };
    const postgres = this.#parts.adopt(await startPostgres({ pods }), (server) => server.stop());
    await postgres.createDatabase("agentbox");
    this.#parts.defer(() => this.#remove());
    await this.#namespaces(postgres);
    const registry = cluster.podRegistry;
    const values = [
      `images.registry=${registry}`,
      `registries.plainHttp={${registry}}`,
      "database.existingSecret=database",
      "crds.install=false",
      "sandboxes.onlyNamespace=true",
      `sandboxes.namespace=${this.sandboxNamespace}`,
      `termination.gateway=${gatewayTermination}`,
      ...(tag === undefined ? [] : [`images.controlPlane=${registry}/agentbox:${tag}`]),
      ...smallRequests,
    ];
    await this.helm("install", this.name, chartFolder, ...values.flatMap((value) => ["--set", value]));
    await this.kubectl("wait", "deployment", "--all", "--for=condition=Available", patience);
  }

  helm(...args: readonly string[]): Promise<string> {
    const { bin, kubeconfig } = this.#cluster;
    return runCommand([join(bin, "helm"), "--kubeconfig", kubeconfig, "--namespace", this.name, ...args]);
  }

  /** In the namespace of the control plane. */
  kubectl(...args: readonly string[]): Promise<string> {
    const { bin, kubeconfig } = this.#cluster;
    return runCommand([join(bin, "kubectl"), `--kubeconfig=${kubeconfig}`, "--namespace", this.name, ...args]);
  }

  async pool(name: string, replicas: number): Promise<void> {
    const resources = { requests: { cpu: "5m", memory: "16Mi" } };
    const container = { name: "main", image: systemImage({ registry: this.#cluster.podRegistry }, "agentbox-base"), resources };
    const template = { spec: { terminationGracePeriodSeconds: 1, containers: [container] } };
    const daemon = { name: "e2b", port: 49_983, readinessProbe: { httpGet: { path: "/health", port: 49_983 }, periodSeconds: 2 } };
    const spec = { replicas, podCreationImagePolicy: "PoolDefaultImage", template, runtimes: [daemon] } as SandboxPool["spec"];
    await this.client.create(SandboxPools, { metadata: { namespace: this.sandboxNamespace, name }, spec });
  }

  async idleOf(pool: string): Promise<number> {
    return (await this.client.get(SandboxPools, { namespace: this.sandboxNamespace, name: pool })).status?.idleReplicas ?? 0;
  }

  /** What users of E2B's SDKs set. */
  async surroundings(): Promise<Readonly<Record<string, string>>> {
    const { data = {} } = await this.client.get(Secrets, { namespace: this.name, name: "agentbox-admin-key" });
    return {
      E2B_API_KEY: Buffer.from(data["key"] ?? "", "base64").toString(),
      E2B_API_URL: await this.#serviceUrl("api"),
      E2B_SANDBOX_URL: await this.#serviceUrl("gateway"),
      E2B_DOMAIN: "agentbox.localhost",
    };
  }

  async api(): Promise<AgentBoxClient> {
    const { E2B_API_KEY: apiKey = "", E2B_API_URL: url = "" } = await this.surroundings();
    return new AgentBoxClient({ url, apiKey });
  }

  /** Resolves when every pod of the part is a new one, and the old ones are gone. */
  async restart(part: Part): Promise<void> {
    const deployment = `deployment/${this.name}-agentbox-${part}`;
    const before = (await this.#podsOf(part)).split(/\s+/).filter(Boolean);
    await this.kubectl("rollout", "restart", deployment);
    await this.kubectl("rollout", "status", deployment, patience);
    await this.kubectl("wait", ...before, "--for=delete", patience);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#parts.disposeAsync();
  }

  #podsOf(part: Part): Promise<string> {
    return this.kubectl("get", "pods", "-l", `app.kubernetes.io/component=${part}`, "-o", "name");
  }

  async #serviceUrl(part: Part): Promise<string> {
    const address = await this.kubectl("get", "service", `${this.name}-agentbox-${part}`, "-o", "jsonpath={.spec.clusterIP}");
    return `http://${address}`;
  }

  async #namespaces(postgres: PostgresServer): Promise<void> {
    // Tests of other systems on this cluster know by the label that this one keeps to its namespace.
    const labels = { [apartLabel]: "" };
    for (const name of [this.name, this.sandboxNamespace]) await this.client.create(Namespaces, { metadata: { name, labels } });
    const url = Buffer.from(postgres.tcpUrl("agentbox")).toString("base64");
    await this.client.create(Secrets, { metadata: { namespace: this.name, name: "database" }, data: { url } });
  }

  /** As the handbook says; what is left when that fails goes all the same. */
  async #remove(): Promise<void> {
    const pools = ["delete", "sandboxpools", "--all", "--namespace", this.sandboxNamespace, "--timeout=2m"];
    await this.kubectl(...pools).catch(() => {});
    await this.helm("uninstall", this.name, "--ignore-not-found").catch(() => {});
    for (const namespace of [this.sandboxNamespace, this.name]) await removeNamespace(this.client, namespace);
  }
}
