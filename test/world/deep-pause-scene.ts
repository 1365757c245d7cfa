/** Deep pauses over the embedded store in stepped time: real claims, services and controllers; the node, daemons and images are simulated. */
import { embeddedAbilities } from "#engines/embedded/abilities.ts";
import type { Checkpoint } from "#model/checkpoint.ts";
import { Checkpoints } from "#model/checkpoint.ts";
import { isClaimed, sandboxIdOf, sandboxPhaseOf } from "#model/claimed-pod.ts";
import { podConditions } from "#model/keys.ts";
import { pauseWish } from "#model/pause.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import { deepPauseSandbox } from "#services/changing/deep-pause-sandbox.ts";
import { pauseSandbox, type PauseDeps, resumeSandbox } from "#services/changing/pause-sandbox.ts";
import { DeepResumes } from "#services/changing/resume-deep-paused.ts";
import { LiveSandboxes } from "#services/reading/live-sandboxes.ts";
import type { SandboxView } from "#services/sandbox-service.ts";
import { NamedImages } from "./checkpoint-scene.ts";
import { ann, type ClaimProcess, type ClaimScene } from "./claim-scene.ts";
import { embeddedClaimScene } from "./embedded-scenes.ts";
import { settle, type SteppedClock } from "./stepped-clock.ts";

const signal = new AbortController().signal;

/** One process with its services. */
export interface DeepPauseProcess extends ClaimProcess {
  readonly live: LiveSandboxes;
  readonly deps: PauseDeps & { readonly abilities: typeof embeddedAbilities; readonly cache: ClaimProcess["cache"] };
}

export class DeepPauseScene implements AsyncDisposable {
  readonly scene: ClaimScene;
  readonly clock: SteppedClock;
  readonly images = new NamedImages();
  readonly #close: () => PromiseLike<void>;
  #controllers: AsyncDisposable | undefined;
  process!: DeepPauseProcess;

  private constructor(world: Awaited<ReturnType<typeof embeddedClaimScene>>) {
    this.scene = world.scene;
    this.clock = world.clock;
    this.#close = () => world[Symbol.asyncDispose]();
  }

  static async open(pool: Partial<SandboxPool["spec"]> = {}, pods = 2): Promise<DeepPauseScene> {
    const world = new DeepPauseScene(await embeddedClaimScene({ pods, pool }));
    world.process = await world.newProcess();
    world.startControllers();
    await settle();
    return world;
  }

  /** `processes`: how many it believes there are. */
  async newProcess(processes = 1): Promise<DeepPauseProcess> {
    const { scene, clock } = this;
    const { history } = scene;
    const process = await scene.process();
    const { cache, claims } = process;
    const { log } = process.logged;
    const client = scene.client;
    const deepResumes = new DeepResumes({ client, cache, history, clock, log, claims, processes: () => processes });
    const deps = { client, cache, history, clock, log, abilities: embeddedAbilities, deepResumes };
    return { ...process, deps, live: new LiveSandboxes(cache.shown) };
  }

  startControllers(): void {
    this.#controllers = this.scene.startControllers(this.process, this.scene.client, { checkpoints: this.images });
  }

  async stopControllers(): Promise<void> {
    await this.#controllers?.[Symbol.asyncDispose]();
  }

  pause(id: string): Promise<SandboxView> {
    return pauseSandbox(this.process.deps, ann, id, signal);
  }

  deepPause(id: string): Promise<SandboxView> {
    return deepPauseSandbox(this.process.deps, ann, id, signal);
  }

  resume(id: string, process = this.process): Promise<SandboxView> {
    return resumeSandbox(process.deps, ann, id, signal);
  }

  /** The number of the pod that carries it. */
  async at(id: string): Promise<number> {
    await settle();
    const pod = (await this.scene.pods()).find((one) => sandboxIdOf(one) === id && isClaimed(one));
    return Number(pod?.metadata.name?.split("-")[1]);
  }

  /** Deeply paused, and its pod idle again. */
  async asleep(id: string): Promise<SandboxView> {
    const number = await this.at(id);
    const pausing = this.deepPause(id);
    await settle();
    await this.node(id);
    const view = await pausing;
    await this.recycled(number);
    return view;
  }

  /** The pod that it gets has started. */
  async started(id: string): Promise<void> {
    await this.exchanged(await this.at(id));
  }

  /** The node of the sandbox freezes and thaws as it is wished to, and reports it. */
  async node(id: string): Promise<void> {
    await this.nodeAt(await this.at(id));
  }

  async nodeAt(number: number): Promise<void> {
    const frozen = pauseWish(await this.scene.pod(number)) !== undefined;
    const paused = frozen ? [{ type: podConditions.paused, status: "True" as const }] : [];
    await this.scene.nodeReports(number, { conditions: [{ type: "Ready", status: "True" }, ...paused] });
    await settle();
  }

  /** The node exchanges what it is told to. */
  async exchanged(number: number): Promise<void> {
    await this.clock.step(1000);
    await this.scene.nodeStarts(number);
    await this.clock.step(500);
    await this.scene.nodeReports(number);
    await this.clock.step(1000);
  }

  /** What its node reports is not what the pod says that it is to run. */
  async needsExchange(number: number): Promise<boolean> {
    const { spec, status } = await this.scene.pod(number);
    return status?.containerStatuses?.[0]?.image !== spec.containers[0]?.image;
  }

  /** The pod's containers are new, and it is idle. */
  async recycled(number: number): Promise<void> {
    for (let tries = 0; tries < 3 && sandboxPhaseOf(await this.scene.pod(number)) !== "idle"; tries++) await this.exchanged(number);
  }

  async checkpoints(): Promise<readonly Checkpoint[]> {
    return (await this.scene.client.list(Checkpoints, { namespace: this.scene.namespace })).items;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close();
  }
}
