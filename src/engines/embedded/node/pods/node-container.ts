/** One container on this node, from its creation to its removal. */
import { closeSync, rmSync } from "node:fs";
import { join } from "node:path";
import { endsWithin } from "#lib/clock.ts";
import type { ContainerExit, ContainerPlan, ContainerStarted, ContainerStateOnNode } from "#engines/embedded/node/pod-runtime.ts";
import { identify, type ProcessExit, type ProcessIdentity, type Signal } from "#engines/embedded/node/linux/processes.ts";
import { removeStage } from "#engines/embedded/node/rootfs/stage.ts";
import { ContainerProcess } from "#engines/embedded/node/runtime/container-process.ts";
import type { OciRuntime } from "#engines/embedded/node/runtime/oci-runtime.ts";
import { oomScores } from "#engines/embedded/node/runtime/oom-score.ts";
import { socketBytes } from "#engines/embedded/node/runtime/spec/resources.ts";
import { defaultRuntime } from "#engines/embedded/node/runtime/runtime-traits.ts";
import { assemble } from "./assemble-container.ts";
import { keepContainerLog, type LogPlace, openContainerLog } from "./container-log.ts";
import type { NodeContext } from "./node-context.ts";
import type { NodePod } from "./node-pod.ts";
import type { ContainerRecord } from "./records.ts";

export type ExitHandler = (id: string, exit: ContainerExit) => void;

const killedMs = 30_000;

export class NodeContainer {
  readonly pod: NodePod;
  readonly #context: NodeContext;
  readonly #runtime: OciRuntime;
  readonly #onExit: ExitHandler;
  #record: ContainerRecord;
  #process: ContainerProcess | undefined;
  #startedAt: number | undefined;
  #exit: ContainerExit | undefined;
  #isOverMemory = false;

  constructor(options: { context: NodeContext; pod: NodePod; runtime: OciRuntime; record: ContainerRecord; onExit: ExitHandler }) {
    this.#context = options.context;
    this.pod = options.pod;
    this.#runtime = options.runtime;
    this.#record = options.record;
    this.#onExit = options.onExit;
  }

  get id(): string {
    return this.#record.id;
  }

  get runtime(): OciRuntime {
    return this.#runtime;
  }

  /** Pid of the first process while it runs. */
  get pid(): number | undefined {
    return this.#exit === undefined ? this.#record.process?.pid : undefined;
  }

  /** Its first process while it runs. */
  get process(): ProcessIdentity | undefined {
    return this.#exit === undefined ? this.#record.process : undefined;
  }

  get state(): ContainerStateOnNode {
    const { id, name, attempt, annotations, imageId, imageDigest } = this.#record;
    const common = {
      id,
      name,
      attempt,
      annotations,
      imageId,
      imageDigest,
      ...(this.#startedAt === undefined ? {} : { startedAt: this.#startedAt }),
    };
    if (this.#exit !== undefined) return { ...common, state: "exited", exit: this.#exit };
    return { ...common, state: this.#startedAt === undefined ? "created" : "running" };
  }

  static record(plan: ContainerPlan, runtimeClassName: string | undefined): ContainerRecord {
    const { id, name, attempt, annotations, image, logFile } = plan;
    const runtime = runtimeClassName ?? defaultRuntime;
    return { id, name, attempt, annotations, imageId: image.id, imageDigest: image.digest, runtime, logFile };
  }

  /** Creates it, or leaves nothing of it. */
  async create(plan: ContainerPlan): Promise<void> {
    const folder = this.pod.folder;
    folder.writeContainer(this.#record);
    try {
      if (this.#runtime.traits.opaque) await this.#context.network.configure(this.pod.slot.index, this.pod.slot.networkNamespace);
      const { stage, owner } = await assemble(this.#context, this.pod, plan, this.#runtime);
      try {
        const pid = await this.#createAs(owner, plan.daemon ? oomScores.daemon : oomScores.container);
        this.#context.cgroups.limitSockets(this.pod.uid, this.id, socketBytes(plan.resources, this.#context.socketBytes));
        const process = identify(pid);
        if (process === undefined) throw new Error(`container ${this.id} was gone as soon as it was created`);
        this.#record = { ...this.#record, process };
        folder.writeContainer(this.#record);
        this.#follow(new ContainerProcess(process));
        await this.pod.mountIn(this);
      } finally {
        stage.clear();
      }
    } catch (error) {
      await this.remove();
      throw error;
    }
  }

  async #createAs(owner: number, oomScore: number): Promise<number> {
    const log = openContainerLog(this.#logPlace, owner);
    try {
      return await this.#runtime.create({ id: this.id, bundle: this.pod.folder.container(this.id), log, oomScore });
    } finally {
      closeSync(log);
    }
  }

  /** Takes a container over that an earlier life of the node has left; false if it is not whole. */
  async adopt(): Promise<boolean> {
    const { process } = this.#record;
    if (process === undefined) return false;
    this.#exit = this.pod.folder.readExit(this.id);
    this.#startedAt = this.pod.folder.readStart(this.id)?.startedAt;
    if (this.#exit !== undefined) return true;
    if (this.#startedAt === undefined && (await this.#runtime.isStarted(this.id, process.pid))) this.#markStarted();
    this.#follow(new ContainerProcess(process));
    return true;
  }

  async start(): Promise<ContainerStarted> {
    const pid = this.#record.process?.pid ?? 0;
    if (this.#startedAt !== undefined) return { startedAt: this.#startedAt, pid };
    if (this.#process === undefined) throw new Error(`container ${this.id} has ended, it cannot be started`);
    await this.#runtime.start(this.id, this.#process.ended);
    return { startedAt: this.#markStarted(), pid };
  }

  async signal(signal: Signal): Promise<void> {
    if (this.#exit !== undefined) return;
    // A runtime with processes of its own in the pod is frozen with it, and takes no order.
    const isDirect = this.#runtime.traits.signalBy === "process" || (signal === "SIGKILL" && this.#context.cgroups.isFrozen(this.pod.uid));
    if (isDirect) this.#process?.signal(signal);
    else await this.#runtime.kill(this.id, signal);
  }

  /** As the kernel does with one that takes too much memory, for memory that the kernel does not charge to it. */
  async killForMemory(): Promise<void> {
    this.#isOverMemory = true;
    await this.#end();
  }

  /** Kills what runs and removes everything; may be repeated. */
  async remove(): Promise<void> {
    await this.stop();
    await this.keepLog();
    this.#context.trash.take(this.writableFolder);
    rmSync(this.pod.folder.container(this.id), { recursive: true, force: true });
  }

  /** Kills what runs and makes the runtime forget it: what is left are files. */
  async stop(): Promise<void> {
    await this.#end();
    // Its group goes first: the kernel says whether anything still runs, and the runtime has nothing to wait for.
    await this.#context.cgroups.removeContainer(this.pod.uid, this.id);
    await this.#runtime.delete(this.id);
    removeStage(this.#context.paths.stage, this.id);
  }

  /** Its log outlives it, and its pod's disk. */
  async keepLog(): Promise<void> {
    await keepContainerLog(this.#logPlace);
  }

  /** What the container has changed, on the pod's disk. */
  get writableFolder(): string {
    return join(this.pod.diskFolder, "layers", this.id);
  }

  get #logPlace(): LogPlace {
    return { disk: this.pod.diskFolder, id: this.id, link: this.#record.logFile };
  }

  /** Lets go of it; it goes on. */
  release(): void {
    this.#process?.release();
  }

  async #end(): Promise<void> {
    if (this.#process === undefined || this.#exit !== undefined) return;
    this.#process.signal("SIGKILL");
    // A frozen process dies only when it is thawed, before it can do anything else. We do not freeze the pod's other containers again:
    // one that is being killed at the same time might not have died yet.
    if (this.#context.cgroups.isFrozen(this.pod.uid)) await this.#context.cgroups.thaw(this.pod.uid);
    // A killed process that stays is held by the kernel. Waiting longer would keep a place of the node for nothing.
    if (await endsWithin(this.#process.ended, this.#context.clock, killedMs)) return;
    throw new Error(`container ${this.id} has not ended ${killedMs / 1000} s after it was killed`);
  }

  #markStarted(): number {
    this.#startedAt = this.#context.clock.now();
    this.pod.folder.writeStart(this.id, { startedAt: this.#startedAt });
    return this.#startedAt;
  }

  #follow(process: ContainerProcess): void {
    this.#process = process;
    process.ended
      .then((exit) => this.#ended(exit))
      .catch((error: unknown) => this.#context.log.error({ error, container: this.id }, "could not write down how a container ended"));
  }

  #ended(exit: ProcessExit): void {
    const isOver = this.#isOverMemory || this.#context.cgroups.oomKills(this.pod.uid, this.id) > 0;
    const killed = exit.code === 137 && isOver;
    this.#exit = { ...exit, oomKilled: killed, finishedAt: this.#context.clock.now() };
    this.pod.folder.writeExit(this.id, this.#exit);
    this.#onExit(this.id, this.#exit);
  }
}
