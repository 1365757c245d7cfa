/**
 * A namespace of an API server with as many pods of a pool as wanted and no machine behind them: what AgentBox itself has rendered, on two
 * thousand nodes that do not exist, ready as kubelets would report it, with daemons that answer over HTTP.
 */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { KubernetesClient } from "#engines/kubernetes/client.ts";
import { Namespaces, Secrets } from "#model/core-kinds.ts";
import { type Pod, Pods } from "#model/pod.ts";
import { type SandboxPool, SandboxPools } from "#model/sandbox-pool.ts";
import type { HttpDaemons } from "../../test/world/http-daemons.ts";
import { digestOf } from "../../test/world/pool-pods.ts";
import { SimulatedKubelet } from "../../test/world/simulated-kubelet.ts";
import { timed } from "../lib/measure.ts";
import { fullContainerStatus, fullStatus } from "./full-status.ts";
import { type Memory, type Part, PartProcess } from "./part-process.ts";

export interface Ground {
  readonly client: KubernetesClient;
  readonly kubeconfig: string;
  readonly daemons: HttpDaemons;
  /** For histories. */
  readonly folder: string;
}

export const poolName = "size";
const nodes = 2_000;
const atOnce = 32;
const patienceMs = 20 * 60_000;
/** What is done once after a start is not what is measured. */
const settleMs = 3_000;
export const parts: readonly Part[] = ["api", "controllers", "gateway"];

export class Fleet implements AsyncDisposable {
  readonly size: number;
  readonly namespace: string;
  readonly #ground: Ground;
  readonly #kubelet: SimulatedKubelet;
  #running: ReadonlyMap<Part, PartProcess> = new Map();

  private constructor(ground: Ground, size: number, namespace: string, kubelet: SimulatedKubelet) {
    this.size = size;
    this.namespace = namespace;
    this.#ground = ground;
    this.#kubelet = kubelet;
  }

  static async made(ground: Ground, size: number): Promise<Fleet> {
    const { client, daemons } = ground;
    const namespace = `size-${size}`;
    await client.create(Namespaces, { metadata: { name: namespace } });
    // A separate address range for each, so that a daemon's address identifies its pod.
    const addressOf = (number: number): string => daemons.addressOf(number + size * 4);
    const kubelet = await SimulatedKubelet.start({ client, namespace, daemons, addressOf, fullStatus, fullContainerStatus });
    const fleet = new Fleet(ground, size, namespace, kubelet);
    await fleet.#fill();
    return fleet;
  }

  /** Each part in a process of its own. */
  async start(): Promise<void> {
    this.#running = new Map(parts.map((part) => [part, this.#process(part)]));
    for (const [part, running] of this.#running) await running.says(part === "controllers" ? "controllers run" : "agentbox is ready");
    await sleep(settleMs);
  }

  async memory(part: Part): Promise<Memory> {
    return this.#part(part).memory();
  }

  async access(): Promise<{ readonly url: string; readonly apiKey: string }> {
    const { namespace } = this;
    const { data = {} } = await this.#ground.client.get(Secrets, { namespace, name: "agentbox-admin-key" });
    const { address: url = "" } = await this.#part("api").says("API listens");
    return { url, apiKey: Buffer.from(data["key"] ?? "", "base64").toString() };
  }

  /** Resolves when all pods wait for a sandbox. */
  async full(): Promise<void> {
    const until = performance.now() + patienceMs;
    for (;;) {
      const { status } = await this.#ground.client.get(SandboxPools, { namespace: this.namespace, name: poolName });
      if ((status?.idleReplicas ?? 0) >= this.size) return;
      if (performance.now() > until) throw new Error(`${status?.idleReplicas} of ${this.size} pods are idle, after all this time`);
      await sleep(100);
    }
  }

  async stop(): Promise<void> {
    for (const running of this.#running.values()) await running[Symbol.asyncDispose]();
    this.#running = new Map();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    await this.#kubelet[Symbol.asyncDispose]();
  }

  #part(part: Part): PartProcess {
    const running = this.#running.get(part);
    if (running === undefined) throw new Error(`${part} does not run`);
    return running;
  }

  #process(part: Part): PartProcess {
    const { kubeconfig, folder } = this.#ground;
    const ports = ["--port", "--gateway-port", "--health-port"].flatMap((flag) => [flag, "0"]);
    return new PartProcess(part, [...ports, "--rate-limit", "0"], {
      KUBECONFIG: kubeconfig,
      AGENTBOX_HOME: folder,
      AGENTBOX_LISTEN: "127.0.0.1",
      AGENTBOX_NAMESPACE: this.namespace,
      AGENTBOX_ONLY_NAMESPACE: this.namespace,
      AGENTBOX_DAEMON_IMAGE: "registry.invalid/daemon:1",
      DATABASE_URL: join(folder, `${this.namespace}.db`),
    });
  }

  /** The controllers make one pod, and the others are like it: ten thousand of theirs would take long, and be the same. */
  async #fill(): Promise<void> {
    const { client, daemons } = this.#ground;
    const { namespace, size } = this;
    const resources = { requests: { cpu: "100m", memory: "128Mi" }, limits: { cpu: "1", memory: "512Mi" } };
    const container = { name: "main", image: `registry.invalid/app:1@${digestOf("app")}`, resources };
    const runtimes = [{ name: "e2b", port: daemons.port }];
    const template = { spec: { terminationGracePeriodSeconds: 1, containers: [container] } };
    const spec = { replicas: Math.min(1, size), template, runtimes, podCreationImagePolicy: "PoolDefaultImage" } as SandboxPool["spec"];
    await client.create(SandboxPools, { metadata: { namespace, name: poolName }, spec });
    if (size === 0) return;
    const sample = await this.#firstPod();
    const { labels = {}, annotations = {}, finalizers = [], ownerReferences = [] } = sample.metadata;
    await timed(size - 1, atOnce, async (number) => {
      const name = `${poolName}-${String(number).padStart(8, "0")}`;
      const nodeName = `node-${number % nodes}.size.invalid`;
      await client.create(Pods, {
        metadata: { namespace, name, labels, annotations, finalizers, ownerReferences },
        spec: { ...sample.spec, nodeName },
      });
    });
    await client.patch(SandboxPools, { namespace, name: poolName }, { type: "merge", body: { spec: { replicas: size } } });
    while (this.#kubelet.reports < size) await sleep(100);
  }

  async #firstPod(): Promise<Pod> {
    await using controllers = this.#process("controllers");
    await controllers.says("controllers run");
    for (;;) {
      const [pod] = (await this.#ground.client.list(Pods, { namespace: this.namespace })).items;
      if (pod?.status?.podIP !== undefined) return pod;
      await sleep(100);
    }
  }
}
