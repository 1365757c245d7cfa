/**
 * The machine side of the embedded node: pods and containers on one Linux machine, with an OCI runtime.
 *
 * Folders: linux/ (system calls), network/ (bridge, firewall), slots/ (places for pods, made ahead), cgroups/, rootfs/
 * (file systems and disks), host-image/ (the image `host`), runtime/ (the OCI runtime and what it is told), pods/ (pods
 * and containers, what is written down about them, what a new life finds). node-paths.ts says where everything lies.
 *
 * M1 What runs does not need us: containers, their networks and their logs go on when this process is gone.
 * M2 What is there is found again: after a start everything is either adopted, as its records say, or removed.
 * M3 A removed pod leaves nothing: no process, mount, namespace, group, link, rule or file.
 * M4 Every call may be repeated, and calls for one pod happen one after another.
 */
import type { ExecCommand, ExecSession } from "#kube/pod-access.ts";
import { type Clock, endsWithin } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import { eraseNode } from "./pods/erase-node.ts";
import { NodeContainer } from "./pods/node-container.ts";
import type { NodeContext } from "./pods/node-context.ts";
import { NodePod } from "./pods/node-pod.ts";
import { SerialByKey } from "./pods/serial-by-key.ts";
import { checkContainerId, checkName } from "./node-paths.ts";
import type { Volumes } from "#engine-port/volumes.ts";
import { volumesOf } from "./volumes/volume-files.ts";
import { noEgress } from "./network/egress.ts";
import type {
  ContainerExit,
  ContainerPlan,
  ContainerSignal,
  ContainerStarted,
  CopiedChanges,
  PodPlan,
  PodRuntime,
  PodState,
  PodUsage,
  PodVolumes,
} from "./pod-runtime.ts";
import { CopiesUnderWay, copyUpper } from "./pods/copy-upper.ts";
import { prepareExec } from "./pods/prepare-exec.ts";
import { CommandSession, type ExecDeps } from "./runtime/exec-session.ts";
import { type NodeOptions, openNode } from "./pods/open-node.ts";

export interface PodRuntimeOptions extends NodeOptions {
  readonly clock: Clock;
  readonly log: Logger;
}

/** So long actions on pods have for their end when the node closes, and again after the runtime's commands were killed. */
const closingMs = 5_000;

/** Takes the machine over: adopts running pods, removes leftovers that no pod owns. One process at a time has an instance. */
/** With the volumes that it mounts. */
export interface MachineRuntime extends PodRuntime {
  readonly volumes: Volumes;
}

export async function openPodRuntime(options: PodRuntimeOptions): Promise<MachineRuntime> {
  const exits = new ExitReports();
  const node = await openNode(options, (id, exit) => exits.report(id, exit));
  try {
    // Now, and not with the first pod: a runtime that is missing, or that lets sandboxes out, is the machine's failure.
    await node.context.runtime(undefined);
  } catch (error) {
    await node.close();
    throw error;
  }
  return new RuncPodRuntime(node.context, node.pods, exits, node.close);
}

/** Removes an instance from the machine with everything that is in it. */
export async function erasePodRuntime(options: PodRuntimeOptions): Promise<void> {
  await eraseNode(options);
}

class RuncPodRuntime implements MachineRuntime {
  readonly volumes: Volumes;
  readonly #context: NodeContext;
  readonly #pods: Map<string, NodePod>;
  readonly #exits: ExitReports;
  readonly #closeNode: () => Promise<void>;
  readonly #serial = new SerialByKey();
  readonly #copies = new CopiesUnderWay();

  constructor(context: NodeContext, pods: Map<string, NodePod>, exits: ExitReports, closeNode: () => Promise<void>) {
    this.#context = context;
    this.#pods = pods;
    this.#exits = exits;
    this.#closeNode = closeNode;
    this.volumes = volumesOf(context.volumes);
  }

  async list(): Promise<readonly PodState[]> {
    const states = [...this.#pods.values()].map(({ state }) => state);
    this.#exits.listed();
    return states;
  }

  async inspect(uid: string): Promise<PodState | undefined> {
    return this.#pods.get(uid)?.state;
  }

  ensurePod(plan: PodPlan): Promise<PodState> {
    checkName(plan.uid, "the uid of a pod");
    return this.#serial.run(plan.uid, async () => {
      const pod = this.#pods.get(plan.uid) ?? (await this.#newPod(plan));
      try {
        await pod.ensure(plan);
      } catch (error) {
        // A pod that never came to be leaves nothing; one that has containers stays as it is.
        if (pod.containers.size === 0) await this.#removePod(pod);
        throw error;
      }
      return pod.state;
    });
  }

  mountVolumes(uid: string, volumes: PodVolumes): Promise<void> {
    return this.#serial.run(uid, async () => {
      const pod = this.#pods.get(uid);
      if (pod === undefined) throw new Error(`there is no pod ${uid} on this node to mount volumes into`);
      await pod.mountVolumes(volumes);
    });
  }

  removePod(uid: string): Promise<void> {
    this.#copies.end(uid);
    return this.#serial.run(uid, async () => {
      const pod = this.#pods.get(uid);
      if (pod !== undefined) await this.#removePod(pod);
    });
  }

  createContainer(plan: ContainerPlan): Promise<void> {
    checkContainerId(plan.id);
    return this.#serial.run(plan.podUid, async () => {
      const pod = this.#pods.get(plan.podUid);
      if (pod === undefined) throw new Error(`there is no pod ${plan.podUid} on this node for container ${plan.name}`);
      if (pod.containers.has(plan.id)) return;
      await pod.complete();
      await pod.freshNamespaces();
      const { runtimeClassName } = pod.plan;
      const runtime = await this.#context.runtime(runtimeClassName);
      const record = NodeContainer.record(plan, runtimeClassName);
      const onExit = (id: string, exit: ContainerExit): void => this.#exits.report(id, exit);
      const container = new NodeContainer({ context: this.#context, pod, runtime, record, onExit });
      await container.create(plan);
      pod.containers.set(plan.id, container);
    });
  }

  startContainer(id: string): Promise<ContainerStarted> {
    const container = this.#require(id);
    return this.#serial.run(container.pod.uid, () => container.start());
  }

  async signalContainer(id: string, signal: ContainerSignal): Promise<void> {
    await this.#find(id)?.signal(signal);
  }

  async removeContainer(id: string): Promise<void> {
    const container = this.#find(id);
    if (container === undefined) return;
    this.#copies.end(container.pod.uid);
    await this.#serial.run(container.pod.uid, async () => {
      if (!container.pod.containers.has(id)) return;
      await container.remove();
      container.pod.containers.delete(id);
    });
  }

  onExit(handler: (id: string, exit: ContainerExit) => void): void {
    this.#exits.handler(handler);
  }

  exec(id: string, command: ExecCommand, owner?: string): ExecSession {
    const prepare = async (): Promise<ExecDeps> => {
      // A pod that stands still for a copy goes on in a moment; one that is paused says so.
      await this.#copies.over(this.#require(id).pod.uid);
      return prepareExec(this.#context, this.#require(id), { ...command, owner });
    };
    return new CommandSession(prepare, command);
  }

  freezePod(uid: string): Promise<void> {
    return this.#serial.run(uid, async () => {
      if (this.#pods.has(uid)) await this.#context.cgroups.freeze(uid);
    });
  }

  thawPod(uid: string): Promise<void> {
    return this.#serial.run(uid, () => this.#context.cgroups.thaw(uid));
  }

  copyChanges(id: string, folder: string, signal: AbortSignal): Promise<CopiedChanges> {
    const { pod } = this.#require(id);
    return this.#serial.run(pod.uid, () =>
      this.#copies.run(pod.uid, signal, async (ended) => {
        const container = this.#require(id);
        const frozenMs = await pod.standStill(() => copyUpper(container.writableFolder, folder, ended));
        return { frozenMs };
      }),
    );
  }

  async usage(uid: string): Promise<PodUsage> {
    const pod = this.#pods.get(uid);
    if (pod === undefined) throw new Error(`there is no pod ${uid} on this node`);
    return pod.usage();
  }

  async close(): Promise<void> {
    const { clock, commands, log } = this.#context;
    this.#copies.endAll();
    const isIdle = this.#serial.idle();
    // What an action leaves unfinished is found and removed by the next life, as after a kill -9.
    if (!(await endsWithin(isIdle, clock, closingMs))) {
      log.warn({ afterMs: closingMs }, "actions on pods do not end; the runtime's commands are killed");
      commands.end();
      await endsWithin(isIdle, clock, closingMs);
    }
    commands.end();
    await this.#closeNode();
  }

  async #newPod(plan: PodPlan): Promise<NodePod> {
    // Asked for now, so that a runtime that is missing is the pod's failure and not each container's.
    await this.#context.runtime(plan.runtimeClassName);
    const slot = await this.#context.slots.take();
    const disk = this.#context.disks.kindFor(plan.limits.ephemeralStorageBytes);
    const pod = new NodePod({ context: this.#context, record: { plan, slot: slot.index, disk }, slot, egress: noEgress, isUsed: false });
    this.#pods.set(plan.uid, pod);
    return pod;
  }

  async #removePod(pod: NodePod): Promise<void> {
    await pod.remove();
    this.#pods.delete(pod.uid);
  }

  #find(id: string): NodeContainer | undefined {
    for (const pod of this.#pods.values()) {
      const container = pod.containers.get(id);
      if (container !== undefined) return container;
    }
    return undefined;
  }

  #require(id: string): NodeContainer {
    const container = this.#find(id);
    if (container === undefined) throw new Error(`there is no container ${id} on this node`);
    return container;
  }
}

/** Holds exits back until the caller has called `list` and registered a handler: it must know a container before it hears of its end. */
class ExitReports {
  readonly #waiting: [string, ContainerExit][] = [];
  #handler: ((id: string, exit: ContainerExit) => void) | undefined;
  #listed = false;

  handler(handler: (id: string, exit: ContainerExit) => void): void {
    this.#handler = handler;
    this.#deliver();
  }

  listed(): void {
    this.#listed = true;
    this.#deliver();
  }

  report(id: string, exit: ContainerExit): void {
    this.#waiting.push([id, exit]);
    this.#deliver();
  }

  #deliver(): void {
    if (this.#handler === undefined || !this.#listed) return;
    const handler = this.#handler;
    for (const [id, exit] of this.#waiting.splice(0)) setImmediate(() => handler(id, exit));
  }
}
