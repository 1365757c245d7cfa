/** `agentbox up` with sandboxes, as a process on a folder of its own that is removed from the machine at the end. Needs root. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eraseEmbeddedNode, instanceOf } from "../../src/cmd/machine/embedded-node.ts";
import { readServerFile } from "../../src/cmd/machine/server-file.ts";
import { type KubernetesClient, kubernetesClient } from "#engines/kubernetes/client.ts";
import { systemClock } from "#lib/clock.ts";
import { openLog } from "#lib/log.ts";
import { type Pod, Pods } from "#model/pod.ts";
import { SandboxEnvs } from "#model/sandbox-env.ts";
import { SandboxPools } from "#model/sandbox-pool.ts";
import { ServerProcess } from "../crash/server-process.ts";
import { loopbackRegistries } from "./fake-registry.ts";
import { launchedCli } from "./launched-cli.ts";
import { type MachineTraces, tracesOf } from "./machine-traces.ts";
import type { Said } from "./run-cli.ts";

const fixedReplicas = 3;
const removalMs = 110_000;

interface UpSettings {
  /** Of its API; a free one when left out. */
  readonly port?: number;
  /** Beside what the tests themselves have. */
  readonly env?: Readonly<Record<string, string>>;
}

export class UpProcess implements AsyncDisposable {
  readonly home: string;
  /** Of its pools. */
  readonly namespace = "default";
  readonly instance: string;
  readonly process: ServerProcess;
  readonly #pools: readonly string[] | undefined;
  #client: KubernetesClient | undefined;

  private constructor(home: string, pools: readonly string[] | undefined, { port = 0, env = {} }: UpSettings) {
    this.home = home;
    this.#pools = pools;
    this.instance = instanceOf(home);
    this.process = new ServerProcess(home, { sandboxes: true, port, env });
  }

  /** On a new folder; not started yet. `pools`: it has pools of these names and of three pods each instead of the first Envs, for tests that count. `port`: of its API. */
  static async onNewFolder(pools?: readonly string[], port = 0, env: UpSettings["env"] = {}): Promise<UpProcess> {
    const home = await mkdtemp(join(tmpdir(), "agentbox-up-"));
    await writeFile(join(home, "registries.json"), JSON.stringify(loopbackRegistries));
    return new UpProcess(home, pools, { port, env });
  }

  /** On a folder that is there, or that is made before the start. */
  static onFolder(home: string, port = 0): UpProcess {
    return new UpProcess(home, undefined, { port });
  }

  /** Resolves when all of it runs; pods may still be on their way. */
  async start(): Promise<void> {
    await this.restart();
    await this.process.complete();
    if (this.#pools !== undefined) await this.#keepOnly(this.#pools);
  }

  /** Pools of a fixed size take the place of the first Envs, which change their size by themselves. */
  async #keepOnly(names: readonly string[]): Promise<void> {
    const { items } = await this.client.list(SandboxEnvs);
    // A later start finds the pools of the first one.
    if (items.length === 0) return;
    const keys = items.map(({ metadata: { namespace = "", name = "" } }) => ({ namespace, name }));
    await Promise.all(keys.map((key) => this.client.delete(SandboxEnvs, key)));
    const until = performance.now() + removalMs;
    while ((await this.client.list(SandboxPools)).items.length > 0) {
      if (performance.now() > until) throw new Error("the pools of the first Envs stay");
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
    for (const { namespace, name } of keys.filter((key) => names.includes(key.name))) {
      const spec = { replicas: fixedReplicas, templateName: name, podCreationImagePolicy: "PoolDefaultImage" } as const;
      await this.client.create(SandboxPools, { metadata: { namespace, name }, spec });
    }
  }

  /** Resolves when it answers, though most of it may not run yet. */
  async restart(): Promise<void> {
    await this.process.start();
    await this.#client?.close();
    this.#client = await kubernetesClient({ socketPath: this.process.socketPath });
  }

  get client(): KubernetesClient {
    if (this.#client === undefined) throw new Error("start it first");
    return this.#client;
  }

  /** Where its API is, and a key for it: what its user reads from the start text. */
  async access(): Promise<{ readonly url: string; readonly apiKey: string }> {
    const facts = await readServerFile(join(this.home, "run/server.json"));
    if (facts === undefined) throw new Error("start it first");
    return { url: facts.httpAddress, apiKey: (await readFile(join(this.home, "keys/admin.key"), "utf8")).trim() };
  }

  /** Where its gateway listens, plain. */
  async gateway(): Promise<string> {
    return (await readServerFile(join(this.home, "run/server.json")))?.gatewayAddress ?? "";
  }

  /** The command line, as a process of its own. */
  agentbox(...args: readonly string[]): Promise<Said> {
    return launchedCli(args, { AGENTBOX_HOME: this.home });
  }

  async pods(): Promise<readonly Pod[]> {
    return (await this.client.list(Pods, { namespace: "default" })).items;
  }

  /** Looks until the pods are as they should be; the last ones seen, right or not, when time is over. */
  async podsWhen(right: (pods: readonly Pod[]) => boolean, patienceMs: number): Promise<readonly Pod[]> {
    const until = performance.now() + patienceMs;
    for (;;) {
      const pods = await this.pods();
      if (right(pods) || performance.now() > until) return pods;
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  }

  traces(): MachineTraces {
    return tracesOf(this.instance, this.home);
  }

  /** Removes its containers and all else from the machine, as `agentbox down` does; it must have ended. */
  async erase(): Promise<void> {
    await eraseEmbeddedNode({ home: this.home, clock: systemClock, log: openLog({ clock: systemClock, out: { write: () => true } }) });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.process.kill();
    await this.#client?.close();
    await this.erase();
    await rm(this.home, { recursive: true, force: true });
  }
}
