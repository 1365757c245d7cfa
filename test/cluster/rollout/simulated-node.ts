/**
 * A node for as many pods as one likes, beside the real one: what it takes to make containers new keeps a small machine from twenty creates a
 * second, and is not what a rollout is about. Its pods are objects of the real cluster, which no scheduler has to do with; they become ready by
 * the word of this process, and their daemons are in it too, where gateways and APIs in their own pods reach them.
 */
import { runCommand } from "#engines/embedded/node/linux/run-command.ts";
import type { KubernetesClient } from "#engines/kubernetes/client.ts";
import { envdPort } from "#envd-protocol/arming.ts";
import { type SandboxPool, SandboxPools } from "#model/sandbox-pool.ts";
import { HttpDaemons } from "../../world/http-daemons.ts";
import { digestOf } from "../../world/pool-pods.ts";
import { SimulatedKubelet } from "../../world/simulated-kubelet.ts";

export interface SimulatedNodeOptions {
  readonly client: KubernetesClient;
  /** Of its pools. */
  readonly namespace: string;
  readonly pool: string;
}

/** Beside the cluster's own networks. All of it is this machine. */
const network = "10.251.0.0/16";
const addressOf = (number: number): string => `10.251.${number >> 8}.${number & 255}`;

export class SimulatedNode implements AsyncDisposable {
  readonly #options: SimulatedNodeOptions;
  readonly #parts: AsyncDisposableStack;

  private constructor(options: SimulatedNodeOptions, parts: AsyncDisposableStack) {
    this.#options = options;
    this.#parts = parts;
  }

  static async start(options: SimulatedNodeOptions): Promise<SimulatedNode> {
    await using parts = new AsyncDisposableStack();
    await runCommand(["ip", "route", "replace", "local", network, "dev", "lo"]);
    parts.defer(async () => void (await runCommand(["ip", "route", "del", "local", network, "dev", "lo"])));
    const daemons = parts.use(await HttpDaemons.listen(envdPort));
    parts.use(await SimulatedKubelet.start({ ...options, daemons, addressOf }));
    return new SimulatedNode(options, parts.move());
  }

  async createPool(replicas: number): Promise<void> {
    const { client, namespace, pool: name } = this.#options;
    const container = { name: "main", image: `registry.invalid/app:1@${digestOf("app")}` };
    const template = { spec: { schedulerName: "nobody", containers: [container] } };
    const runtimes = [{ name: "e2b", port: envdPort }];
    const spec = { replicas, podCreationImagePolicy: "PoolDefaultImage", template, runtimes } as SandboxPool["spec"];
    await client.create(SandboxPools, { metadata: { namespace, name }, spec });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#parts.disposeAsync();
  }
}
