/** A node for tests: the real agent over the real embedded store, on a simulated machine, in stepped time. */
import { createHash } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Registry } from "prom-client";
import { embeddedKindRules } from "#engines/embedded/admission/all-rules.ts";
import { type NodeAgent, type NodeAgentOptions, startNodeAgent } from "#engines/embedded/node/agent/agent.ts";
import type { EnsureImage, NodeImages, PodHttpRequest, PodNetwork } from "#engines/embedded/node/agent/ports.ts";
import { type ObjectStore, openObjectStore } from "#engines/embedded/store/object-store.ts";
import { ImageError } from "#images/image-error.ts";
import { parseReference } from "#images/reference.ts";
import type { ResolvedImage } from "#images/resolved-image.ts";
import { isApiError } from "#kube/api-error.ts";
import { sleep } from "#lib/clock.ts";
import { prometheusMetrics } from "#lib/metrics.ts";
import { Events, Namespaces, type ObjectEvent } from "#model/core-kinds.ts";
import type { JsonObject } from "#model/meta.ts";
import { type Container, type ContainerStatus, type Pod, type PodSpec, Pods } from "#model/pod.ts";
import { Life } from "./mortal.ts";
import { recordedLog } from "./recorded-log.ts";
import { SimulatedPodRuntime } from "./simulated-pod-runtime.ts";
import { settle, SteppedClock } from "./stepped-clock.ts";

export const nodeName = "node-1";
const namespace = "default";

export type PodShape = Partial<PodSpec> & {
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
};

export function digestFor(text: string): `sha256:${string}` {
  return `sha256:${createHash("sha256").update(text).digest("hex")}`;
}

/** Images that are all here, unless a test says otherwise. */
export class SimulatedImages implements NodeImages {
  readonly asked: { readonly reference: string; readonly options: EnsureImage }[] = [];
  readonly #clock: SteppedClock;
  #missing: (reference: string) => Error | undefined = () => undefined;
  #pullMs: ((reference: string) => number) | undefined;
  #config: Partial<ResolvedImage["config"]> = {};

  constructor(clock: SteppedClock) {
    this.#clock = clock;
  }

  /** From now on these cannot be had. */
  refuse(why: (reference: string) => Error | undefined): void {
    this.#missing = why;
  }

  /** From now on images are fetched, and it takes so long. */
  pullFor(ms: (reference: string) => number): void {
    this.#pullMs = ms;
  }

  configure(config: Partial<ResolvedImage["config"]>): void {
    this.#config = config;
  }

  async ensure(reference: string, options: EnsureImage): Promise<ResolvedImage> {
    this.asked.push({ reference, options });
    const parsed = parseReference(reference);
    if (this.#pullMs !== undefined) {
      if (options.pullPolicy === "Never") throw new ImageError("not_present", `${reference} is not here`);
      options.onProgress?.();
      await sleep(this.#clock, this.#pullMs(reference), options.signal);
    }
    const refusal = this.#missing(reference);
    if (refusal !== undefined) throw refusal;
    const digest = parsed.digest ?? digestFor(reference);
    const config = { env: [], entrypoint: ["/bin/app"], cmd: ["serve"], user: "", workingDir: "", labels: {}, ...this.#config };
    return { kind: "oci", id: digestFor(`config of ${digest}`), digest, config, layers: ["/layers/1"] };
  }
}

/** What answers on pods' addresses: everything, and well, unless a test says otherwise. */
export class SimulatedNetwork implements PodNetwork {
  readonly requests: PodHttpRequest[] = [];
  answer: (request: PodHttpRequest) => number | Error | "nothing" = () => 200;
  accepts: (port: number) => boolean = () => true;

  async httpGet(request: PodHttpRequest): Promise<number> {
    this.requests.push(request);
    const answer = this.answer(request);
    if (answer === "nothing") return new Promise(() => {});
    if (answer instanceof Error) throw answer;
    return answer;
  }

  async connect(_: string, port: number): Promise<void> {
    if (!this.accepts(port)) throw new Error("connection refused");
  }
}

export class NodeWorld implements AsyncDisposable {
  readonly clock = new SteppedClock();
  readonly store: ObjectStore = openObjectStore({ file: ":memory:", kinds: embeddedKindRules(), clock: this.clock });
  readonly runtime = new SimulatedPodRuntime(this.clock);
  readonly images = new SimulatedImages(this.clock);
  readonly network = new SimulatedNetwork();
  /** The numbers of the present agent. */
  registry = new Registry();
  readonly logged = recordedLog();
  readonly home: string;
  readonly #options: Partial<NodeAgentOptions>;
  #agent: NodeAgent | undefined;
  #life = new Life();

  private constructor(home: string, options: Partial<NodeAgentOptions>) {
    this.home = home;
    this.#options = options;
  }

  static async start(options: Partial<NodeAgentOptions> = {}): Promise<NodeWorld> {
    const world = new NodeWorld(await mkdtemp(join(tmpdir(), "agentbox-simulated-")), options);
    await world.ensureNamespace();
    await world.startAgent();
    return world;
  }

  async ensureNamespace(): Promise<void> {
    await this.store.create(Namespaces, { metadata: { name: namespace } }).catch((error: unknown) => {
      if (!isApiError(error, "AlreadyExists")) throw error;
    });
  }

  async startAgent(): Promise<void> {
    const life = new Life();
    this.#life = life;
    this.runtime.changeDriver();
    this.registry = new Registry();
    this.#agent = await startNodeAgent({
      client: life.hold(this.store),
      binder: life.hold(this.store),
      runtime: life.hold(this.runtime),
      images: life.hold(this.images),
      network: life.hold(this.network),
      clock: life.clock(this.clock),
      log: this.logged.log,
      metrics: prometheusMetrics(this.registry),
      nodeName,
      home: this.home,
      controlPlaneKey: "the public key",
      hostIP: "192.0.2.1",
      random: () => 0.5,
      ...this.#options,
    });
    await settle();
  }

  get agent(): NodeAgent {
    if (this.#agent === undefined) throw new Error("no agent runs");
    return this.#agent;
  }

  /** kill -9. */
  crashAgent(): void {
    this.#life.end();
    this.#agent = undefined;
  }

  /** kill -9 in the middle of the n-th thing that it does from now on. */
  crashAgentAfterCalls(calls: number): void {
    this.#life.endAfterCalls(calls);
  }

  async stopAgent(): Promise<void> {
    const agent = this.#agent;
    this.#agent = undefined;
    await agent?.stop();
  }

  async createPod(name: string, { labels, annotations, finalizers, ...spec }: PodShape = {}): Promise<Pod> {
    const metadata = { name, namespace, ...(labels && { labels }), ...(annotations && { annotations }), ...(finalizers && { finalizers }) };
    const pod = await this.store.create(Pods, { metadata, spec: { containers: [aContainer()], ...spec } });
    await settle();
    return pod;
  }

  async pod(name: string): Promise<Pod | undefined> {
    return this.store.get(Pods, { namespace, name }).catch(() => undefined);
  }

  /** The pod, which must be there. */
  async thePod(name: string): Promise<Pod> {
    return this.store.get(Pods, { namespace, name });
  }

  async containerStatus(name: string, container = "main"): Promise<ContainerStatus> {
    const { status } = await this.thePod(name);
    const found = [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])].find((one) => one.name === container);
    if (found === undefined) throw new Error(`the status of ${name} has no container ${container}`);
    return found;
  }

  async condition(name: string, type: string): Promise<NonNullable<NonNullable<Pod["status"]>["conditions"]>[number] | undefined> {
    return (await this.thePod(name)).status?.conditions?.find((one) => one.type === type);
  }

  async setImage(name: string, image: string, index = 0): Promise<void> {
    const operations = [{ op: "replace", path: `/spec/containers/${index}/image`, value: image }] as const;
    await this.store.patch(Pods, { namespace, name }, { type: "json", operations });
    await settle();
  }

  async patchPod(name: string, body: JsonObject): Promise<void> {
    await this.store.patch(Pods, { namespace, name }, { type: "merge", body });
    await settle();
  }

  async deletePod(name: string, gracePeriodSeconds?: number): Promise<void> {
    await this.store.delete(Pods, { namespace, name }, gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds });
    await settle();
  }

  async step(ms: number): Promise<void> {
    await this.clock.step(ms);
  }

  async events(reason?: string): Promise<readonly ObjectEvent[]> {
    await settle();
    const { items } = await this.store.list(Events);
    return reason === undefined ? items : items.filter((event) => event.reason === reason);
  }

  async reasons(): Promise<readonly string[]> {
    return (await this.events()).map(({ reason = "" }) => reason);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Not a graceful stop: that may wait for something that only a step of the clock would end.
    this.#life.end();
    this.store.close();
    await rm(this.home, { recursive: true, force: true });
  }
}

export function aContainer(shape: Partial<Container> = {}): Container {
  return { name: "main", image: "registry.invalid/app:1", ...shape };
}
