/** A Kubernetes API server of a test's own without nodes, pods that become ready all the same, and processes of AgentBox on it. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type KubernetesClient, kubernetesClient } from "#engines/kubernetes/client.ts";
import { Namespaces, Secrets } from "#model/core-kinds.ts";
import { type SandboxPool, SandboxPools } from "#model/sandbox-pool.ts";
import { ownCrds } from "../kubernetes/admin-requests.ts";
import { type KubernetesBed, startKubernetes } from "../kubernetes/bed.ts";
import { HttpDaemons } from "./http-daemons.ts";
import { digestOf } from "./pool-pods.ts";
import { ServeProcess } from "./serve-process.ts";
import { SimulatedKubelet } from "./simulated-kubelet.ts";

const [namespace, poolNamespace] = ["agentbox", "pools"];

export interface Answer {
  readonly status: number;
  readonly retryAfter: string | null;
  readonly ms: number;
  readonly json: unknown;
  readonly text: string;
}

interface SceneParts {
  readonly bed: KubernetesBed;
  readonly client: KubernetesClient;
  readonly daemons: HttpDaemons;
  readonly folder: string;
}

export class ClusterScene implements AsyncDisposable {
  readonly bed: KubernetesBed;
  readonly client: KubernetesClient;
  readonly daemons: HttpDaemons;
  readonly #folder: string;
  readonly #parts: AsyncDisposableStack;

  private constructor({ bed, client, daemons, folder }: SceneParts, parts: AsyncDisposableStack) {
    this.bed = bed;
    this.client = client;
    this.daemons = daemons;
    this.#folder = folder;
    this.#parts = parts;
  }

  static async open(): Promise<ClusterScene> {
    await using parts = new AsyncDisposableStack();
    const folder = parts.adopt(await mkdtemp(join(tmpdir(), "agentbox-serve-")), (path) => rm(path, { recursive: true, force: true }));
    const bed = parts.adopt(await startKubernetes({ crds: ownCrds() }), (running) => running.stop());
    const client = parts.adopt(await kubernetesClient({ kubeconfig: bed.kubeconfig }), (open) => open.close());
    for (const name of [namespace, poolNamespace]) await client.create(Namespaces, { metadata: { name } });
    const daemons = parts.use(await HttpDaemons.listen());
    const { addressOf } = daemons;
    parts.use(await SimulatedKubelet.start({ client, namespace: poolNamespace, daemons, addressOf }));
    return new ClusterScene({ bed, client, daemons, folder }, parts.move());
  }

  /** Killed at the end of the scene. `words`: its parts, and flags. */
  serve(...words: readonly string[]): ServeProcess {
    const env = {
      KUBECONFIG: this.bed.kubeconfig,
      AGENTBOX_HOME: this.#folder,
      AGENTBOX_NAMESPACE: namespace,
      AGENTBOX_POOL_NAMESPACE: poolNamespace,
      AGENTBOX_DAEMON_IMAGE: "registry.invalid/daemon:1",
      DATABASE_URL: join(this.#folder, "history.db"),
    };
    return this.#parts.use(new ServeProcess({ words, env }));
  }

  async createPool(name: string, replicas: number): Promise<void> {
    const image = `registry.invalid/app:1@${digestOf("app")}`;
    const template = { spec: { containers: [{ name: "main", image }] } };
    const runtimes = [{ name: "e2b", port: this.daemons.port }];
    const spec = { replicas, template, runtimes, podCreationImagePolicy: "PoolDefaultImage" } as SandboxPool["spec"];
    await this.client.create(SandboxPools, { metadata: { namespace: poolNamespace, name }, spec });
  }

  async pool(name: string): Promise<SandboxPool> {
    return this.client.get(SandboxPools, { namespace: poolNamespace, name });
  }

  /** Asks an API of the scene. */
  async ask(key: string, what: string, body?: object): Promise<Answer> {
    const [method = "", url = ""] = what.split(" ");
    const began = performance.now();
    const content = body === undefined ? {} : { body: JSON.stringify(body) };
    const answer = await fetch(url, { method, headers: { "x-api-key": key, "content-type": "application/json" }, ...content });
    const text = await answer.text();
    const json: unknown = text.startsWith("{") ? JSON.parse(text) : undefined;
    return { status: answer.status, retryAfter: answer.headers.get("retry-after"), ms: performance.now() - began, json, text };
  }

  /** The admin key that the installation made. */
  async adminKey(): Promise<string> {
    const { data } = await this.client.get(Secrets, { namespace, name: "agentbox-admin-key" });
    return Buffer.from(data?.["key"] ?? "", "base64").toString();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#parts.disposeAsync();
  }
}
