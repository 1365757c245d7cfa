/**
 * AgentBox on the cluster of `make cluster`: all its parts in one process on this machine, which reaches pods over the bridge. Everything
 * is in a namespace of its own, so several may stand side by side, and all of it goes at the end. For tests and benchmarks.
 *
 * - `system-process.ts`  the process
 */
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AgentBoxClient } from "#client/agentbox-client.ts";
import { runCommand } from "#engines/embedded/node/linux/run-command.ts";
import { kubernetesClient, type KubernetesClient } from "#engines/kubernetes/client.ts";
import { Leases, Namespaces, Secrets } from "#model/core-kinds.ts";
import type { EnvAutoscalingGroup } from "#model/env-autoscaling.ts";
import type { EnvClusterMemberConfig } from "#model/env-member.ts";
import { labelKeys, localClusterID } from "#model/keys.ts";
import { type Container, type Pod, Pods } from "#model/pod.ts";
import { SandboxEnvs } from "#model/sandbox-env.ts";
import { type SandboxPool, SandboxPools } from "#model/sandbox-pool.ts";
import { SandboxTemplates } from "#model/sandbox-template.ts";
import { type ClusterDescription, clusterLayout, nodeName } from "../../tools/cluster/layout.ts";
import { launchedCli } from "../world/launched-cli.ts";
import type { Said } from "../world/run-cli.ts";
import { digestOfTag } from "./digest-of-tag.ts";
import { SystemProcess } from "./system-process.ts";

const root = join(import.meta.dirname, "../..");
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };

/** Lease of the controllers of one namespace; another leader proves that two installations do not meet. */
export const apartLabel = "agentbox-test-system";
const leaseSeconds = 20;
const poolsWithinMs = 60_000;

/** What `make cluster` has written. */
export async function describedCluster(): Promise<ClusterDescription> {
  return JSON.parse(await readFile(clusterLayout().description, "utf8")) as ClusterDescription;
}

/** Images of `make images`. An installation that shares a cluster pushes ours under another tag and sets it here. */
export function systemImage(
  { registry }: Pick<ClusterDescription, "registry">,
  name: "agentbox" | "agentbox-daemon" | "agentbox-base",
): string {
  const tag = name === "agentbox-base" ? undefined : process.env["AGENTBOX_TEST_TAG"];
  return `${registry}/${name}:${tag ?? version}`;
}

/** By its digest: a node that has had an earlier build under this tag would not ask for it again. */
async function pinnedImage(image: string): Promise<string> {
  return `${image.slice(0, image.lastIndexOf(":"))}@${await digestOfTag(image)}`;
}

export interface PoolWish {
  readonly replicas: number;
  readonly image?: string;
  readonly container?: Partial<Container>;
  readonly spec?: Partial<SandboxPool["spec"]>;
}

export interface EnvWish {
  /** By name of the member. */
  readonly members: Readonly<Record<string, EnvClusterMemberConfig>>;
  /** Of the group `default`. */
  readonly group: Omit<EnvAutoscalingGroup, "name">;
}

interface Parts {
  readonly cluster: ClusterDescription;
  readonly client: KubernetesClient;
  readonly namespace: string;
  readonly home: string;
  readonly daemonImage: string;
  readonly flags: readonly string[];
  /** Of the agent too. */
  readonly checkpointRepository: string | undefined;
}

export class SystemWorld implements AsyncDisposable {
  readonly cluster: ClusterDescription;
  readonly client: KubernetesClient;
  readonly namespace: string;
  readonly process: SystemProcess;
  /** Of this machine, which is the cluster's node; started by tests that want one. */
  readonly agent: SystemProcess;
  readonly #home: string;
  readonly #templates: string[] = [];
  /** Of all Envs. */
  readonly #members = new Set<string>();

  private constructor({ cluster, client, namespace, home, daemonImage, flags, checkpointRepository }: Parts) {
    this.cluster = cluster;
    this.client = client;
    this.namespace = namespace;
    this.#home = home;
    const where = ["--kubeconfig", cluster.kubeconfig, "--namespace", namespace, "--only-namespace", namespace];
    const ports = ["--listen", "127.0.0.1", "--port", "0", "--gateway-port", "0", "--health-port", "0"];
    const image = ["--daemon-image", daemonImage];
    // A benchmark asks as fast as it can, with one key.
    const env = {
      AGENTBOX_HOME: home,
      DATABASE_URL: "",
      ...(checkpointRepository && { AGENTBOX_CHECKPOINT_REPOSITORY: checkpointRepository }),
    };
    const envs = ["--cluster-id", localClusterID];
    const args = ["api", "controllers", "gateway", ...where, ...ports, ...image, ...envs, "--rate-limit", "0", ...flags];
    this.process = new SystemProcess(args, env);
    this.agent = new SystemProcess(["node", "--node-name", nodeName, ...where, "--listen", "127.0.0.1", "--health-port", "0"], env);
  }

  /** Not started yet, and without a pool. Flags are those of `agentbox serve`, beside its own. */
  static async open(
    cluster: ClusterDescription,
    flags: readonly string[] = [],
    { checkpointRepository }: Partial<Pick<Parts, "checkpointRepository">> = {},
  ): Promise<SystemWorld> {
    const client = await kubernetesClient({ kubeconfig: cluster.kubeconfig });
    try {
      await haveKinds(cluster);
      await refuseCompany(client);
      const namespace = `system-${randomUUID().slice(0, 8)}`;
      await client.create(Namespaces, { metadata: { name: namespace, labels: { [apartLabel]: "" } } });
      const daemonImage = await pinnedImage(systemImage(cluster, "agentbox-daemon"));
      const home = await mkdtemp(join(tmpdir(), "agentbox-system-"));
      const registries = { private: [cluster.registry, cluster.podRegistry] };
      await writeFile(join(home, "registries.json"), JSON.stringify(registries));
      return new SystemWorld({ cluster, client, namespace, home, daemonImage, flags, checkpointRepository });
    } catch (error) {
      await client.close();
      throw error;
    }
  }

  /** Resolves when the Envs have their pools: before that a create is told to come again. */
  async start(): Promise<void> {
    await this.process.start();
    const until = performance.now() + poolsWithinMs;
    while (!(await this.#haveAllPools())) {
      if (performance.now() > until) throw new Error(`the Envs have not all their pools: ${[...this.#members].join(", ")}`);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  async #haveAllPools(): Promise<boolean> {
    if (this.#members.size === 0) return true;
    const { items } = await this.client.list(SandboxPools, { namespace: this.namespace });
    return this.#members.isSubsetOf(new Set(items.map(({ metadata }) => metadata.name ?? "")));
  }

  /** Where its API is, and the key that its administrator reads with kubectl. */
  async access(): Promise<{ readonly url: string; readonly apiKey: string }> {
    const { data = {} } = await this.client.get(Secrets, { namespace: this.namespace, name: "agentbox-admin-key" });
    return { url: this.process.listening.api, apiKey: Buffer.from(data["key"] ?? "", "base64").toString() };
  }

  async gateway(): Promise<string> {
    return this.process.listening.gateway;
  }

  async api(): Promise<AgentBoxClient> {
    return new AgentBoxClient(await this.access());
  }

  /** One container that is ready as soon as the daemon answers, on the base image unless told otherwise. */
  async pool(name: string, { replicas, image, container = {}, spec = {} }: PoolWish): Promise<void> {
    const main = { name: "main", image: image ?? systemImage(this.cluster, "agentbox-base"), ...container };
    await this.client.create(SandboxPools, {
      metadata: { namespace: this.namespace, name },
      spec: {
        replicas,
        podCreationImagePolicy: "PoolDefaultImage",
        template: { spec: { terminationGracePeriodSeconds: 1, containers: [main] } },
        ...spec,
      },
    });
  }

  /** Creates a template with one container on the base image. Templates are cluster-wide; it is deleted with this world. */
  async template(name: string): Promise<void> {
    const container = { name: "main", image: systemImage(this.cluster, "agentbox-base") };
    const template = { spec: { terminationGracePeriodSeconds: 1, containers: [container] } };
    await this.client.create(SandboxTemplates, { metadata: { name }, spec: { version: "v1.0.0", template } });
    this.#templates.push(name);
  }

  /** An Env as people write it, with a template of its own. */
  async env(name: string, { members, group }: EnvWish): Promise<void> {
    const template = `${this.namespace}-${name}`;
    await this.template(template);
    const clusters = [
      { clusterID: localClusterID, members: Object.entries(members).map(([member, config]) => ({ name: member, config })) },
    ];
    await this.client.create(SandboxEnvs, {
      metadata: { namespace: this.namespace, name },
      spec: {
        templateRef: { name: template },
        mode: "WarmPool",
        overrides: { podCreationImagePolicy: "PoolDefaultImage" },
        clusters,
        autoscaling: { groups: [{ name: "default", enabled: true, ...group }] },
      },
    });
    for (const member of Object.keys(members)) this.#members.add(member);
  }

  /** The command line of a user with the API's address and a key. */
  async agentbox(...args: readonly string[]): Promise<Said> {
    const { url, apiKey } = await this.access();
    return launchedCli(args, { AGENTBOX_API_URL: url, AGENTBOX_API_KEY: apiKey, AGENTBOX_HOME: this.#home });
  }

  async resize(name: string, replicas: number): Promise<void> {
    await this.client.patch(SandboxPools, { namespace: this.namespace, name }, { type: "merge", body: { spec: { replicas } } });
  }

  async pods(): Promise<readonly Pod[]> {
    return (await this.client.list(Pods, { namespace: this.namespace })).items;
  }

  /** Including all pods, because no controller is left to remove their finalizers. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.process.kill();
    await rm(this.#home, { recursive: true, force: true });
    await removeNamespace(this.client, this.namespace);
    for (const name of this.#templates) await this.client.delete(SandboxTemplates, { name });
    await this.agent.kill();
    await this.client.close();
  }
}

/** Removes the finalizers of pools and pods, because no controller is left to do it. */
export async function removeNamespace(client: KubernetesClient, namespace: string): Promise<void> {
  const body = { metadata: { finalizers: null } };
  for (const { metadata } of (await client.list(SandboxEnvs, { namespace })).items) {
    const key = { namespace, name: metadata.name ?? "" };
    await client.delete(SandboxEnvs, key);
    await client.patch(SandboxEnvs, key, { type: "merge", body }).catch(() => {});
  }
  const { items: pools } = await client.list(SandboxPools, { namespace });
  for (const { metadata } of pools) {
    const key = { namespace, name: metadata.name ?? "" };
    await client.delete(SandboxPools, key);
    if ((metadata.finalizers ?? []).length > 0) await client.patch(SandboxPools, key, { type: "merge", body }).catch(() => {});
  }
  for (const { metadata } of (await client.list(Pods, { namespace, labelSelector: labelKeys.sandboxPool })).items) {
    await client.patch(Pods, { namespace, name: metadata.name ?? "" }, { type: "merge", body }).catch(() => {});
  }
  await client.delete(Namespaces, { name: namespace });
}

/** The kinds stay, because another installation uses them too. */
export async function haveKinds({ bin, kubeconfig }: ClusterDescription): Promise<void> {
  const kubectl = (...args: readonly string[]): Promise<string> =>
    runCommand([join(bin, "kubectl"), `--kubeconfig=${kubeconfig}`, ...args]);
  const known = await kubectl("get", "crds", "-o", "name");
  if (!known.includes("sandboxpools.agents.navix.sh")) await kubectl("apply", "-f", join(root, "deploy/chart/files/crds"));
  await kubectl("wait", "crds", "--all", "--for=condition=Established", "--timeout=60s");
}

/** An AgentBox that looks after the whole cluster would look after our pools too, with another key for their daemons. */
async function refuseCompany(client: KubernetesClient): Promise<void> {
  const ours = new Set((await client.list(Namespaces, { labelSelector: apartLabel })).items.map(({ metadata }) => metadata.name));
  const { items } = await client.list(Leases, { fieldSelector: "metadata.name=agentbox-controllers" });
  const other = items.find(({ metadata: { namespace }, spec }) => {
    const renewed = Date.parse(spec?.renewTime ?? "");
    return !ours.has(namespace) && (spec?.holderIdentity ?? "") !== "" && renewed > Date.now() - leaseSeconds * 1000;
  });
  if (other === undefined) return;
  throw new Error(
    `an AgentBox in namespace ${other.metadata.namespace} looks after this whole cluster, and would look after our pools as well: ` +
      `take it away first (helm uninstall, or scale its controllers to 0)`,
  );
}
