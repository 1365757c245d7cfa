/**
 * What a kubelet cannot do for the sandboxes of its node: freeze them (ADR 10, ADR 48), and keep their files (ADR 96). Level-based: it looks at the wishes on a
 * pod and at the control groups of its containers, and brings the two together; so nothing is lost with the agent, and a new one finds what is frozen.
 *
 * - `pause-plan.ts`        whether a pod is to stand still, and what is told of it
 * - `layer-jobs.ts`        what it has changed, into the registry of the installation
 * - `container-groups.ts`  where its containers have their control groups
 */
import { type Controller, startController } from "#kube/controller/controller.ts";
import { formatKey, type Key } from "#kube/controller/key.ts";
import { changesOf } from "#kube/controller/source.ts";
import type { Requeue } from "#kube/controller/work-queue.ts";
import { Informer, type InformerPace } from "#kube/informer/informer.ts";
import { isLostRace } from "#kube/lost-race.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import type { Freezer } from "#lib/cgroups/freezer.ts";
import type { Metrics } from "#lib/metrics.ts";
import { labelKeys } from "#model/keys.ts";
import type { JsonObject } from "#model/meta.ts";
import { type Pod, Pods } from "#model/pod.ts";
import type { ContainerGroups } from "./container-groups.ts";
import { LayerJobs, type LayerJobsDeps } from "./layer-jobs.ts";
import { conditionsToWrite, containerIdOf, type Failed, runningContainers, type Standing, wishToGrant } from "./pause-plan.ts";

export interface NodeAgentDeps extends LayerJobsDeps {
  readonly client: ObjectClient;
  readonly metrics: Metrics;
  readonly freezer: Freezer;
  readonly groups: Pick<ContainerGroups, "find">;
}

export interface NodeAgentOptions {
  /** The node whose pods it looks after. */
  readonly nodeName: string;
  /** Of these alone; left out: those of all namespaces. */
  readonly namespace?: string | undefined;
  readonly pace?: Partial<InformerPace>;
}

export interface NodeAgent extends AsyncDisposable {
  /** Resolves when it has seen all pods of its node. */
  readonly started: Promise<void>;
}

/** What is not on the machine or the server to be read again. */
interface Memory {
  /** Frozen by what we know; containers go from a pod's status before they are gone. */
  readonly groups: Set<string>;
  failed: Failed | undefined;
}

/** What it freezes stays frozen when it stops. */
export function startNodeAgent(deps: NodeAgentDeps, { nodeName, namespace, pace = {} }: NodeAgentOptions): NodeAgent {
  const fieldSelector = `spec.nodeName=${nodeName}`;
  const pods = new Informer<Pod>(deps, { type: Pods, namespace, labelSelector: labelKeys.sandboxPool, fieldSelector, pace });
  const agent = new Agent(deps, pods, (key) => controller.add(key));
  pods.start();
  const controller: Controller = startController(deps, {
    name: "node-agent",
    reconcile: (key) => agent.reconcile(key),
    sources: [changesOf(pods)],
    concurrency: 8,
  });
  return {
    started: controller.started,
    [Symbol.asyncDispose]: async () => {
      agent.endLayers();
      await controller.stop();
      await pods.stop();
    },
  };
}

class Agent {
  readonly #deps: NodeAgentDeps;
  readonly #pods: Informer<Pod>;
  readonly #memories = new Map<string, Memory>();
  readonly #layers: LayerJobs;
  readonly #wake: (key: Key) => void;

  constructor(deps: NodeAgentDeps, pods: Informer<Pod>, wake: (key: Key) => void) {
    this.#deps = deps;
    this.#pods = pods;
    this.#layers = new LayerJobs(deps);
    this.#wake = wake;
  }

  endLayers(): void {
    this.#layers.endAll();
  }

  async reconcile(key: Key): Promise<Requeue> {
    const id = formatKey(key);
    const pod = this.#pods.objects.get(key);
    const memory = this.#memories.get(id) ?? { groups: new Set(), failed: undefined };
    this.#memories.set(id, memory);
    if (pod === undefined) {
      await this.#thaw(memory, id);
      this.#memories.delete(id);
    } else {
      const wish = wishToGrant(pod, memory.failed);
      await (wish === undefined ? this.#letGo(pod, memory, id) : this.#hold(pod, memory, wish));
    }
    const layer = await this.#layers.look(key, {
      pod: () => this.#pods.objects.get(key),
      standStill: (work) => this.#standStill(key, memory, work),
      wake: () => this.#wake(key),
    });
    if (pod !== undefined) await this.#tell(pod, { isFrozen: memory.groups.size > 0, failed: memory.failed, layer });
    return layer.later === undefined ? undefined : { afterMs: layer.later };
  }

  /** For a moment, which is no pause: what stands still by a wish stays so, and nothing is told of the rest. */
  async #standStill(key: Key, memory: Memory, work: () => Promise<void>): Promise<void> {
    const id = formatKey(key);
    const pod = this.#pods.objects.get(key);
    const groups = pod === undefined ? [] : this.#groupsOf(pod);
    const stopped = new Set<string>();
    try {
      for (const group of groups) {
        if (group === undefined) throw new Error("a container of it has no control group of its own on this node");
        if (memory.groups.has(group)) continue;
        stopped.add(group);
        await this.#deps.freezer.freeze(group, `pod ${id}`);
      }
      await work();
    } finally {
      for (const group of stopped) await this.#deps.freezer.thaw(group, `pod ${id}`);
    }
  }

  /** Also what another agent has frozen. */
  async #letGo(pod: Pod, memory: Memory, id: string): Promise<void> {
    for (const group of this.#groupsOf(pod)) if (group !== undefined && this.#deps.freezer.isFrozen(group)) memory.groups.add(group);
    if (memory.groups.size === 0) return;
    await this.#thaw(memory, id);
    this.#deps.log.info({ pod: id }, "sandbox goes on");
  }

  /** All of its containers, or none. */
  async #hold(pod: Pod, memory: Memory, wish: string): Promise<void> {
    const id = formatKey(pod.metadata as Key);
    try {
      const groups = this.#groupsOf(pod);
      if (groups.includes(undefined)) throw new Error("a container of it has no control group of its own on this node");
      for (const group of groups) {
        if (group === undefined || (memory.groups.has(group) && this.#deps.freezer.isFrozen(group))) continue;
        memory.groups.add(group);
        await this.#deps.freezer.freeze(group, `pod ${id}`);
        this.#deps.log.info({ pod: id }, "sandbox stands still");
      }
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      memory.failed = { wish, message };
      this.#deps.log.warn({ pod: id, error }, "sandbox cannot be frozen");
      await this.#thaw(memory, id);
    }
  }

  async #thaw({ groups }: Memory, id: string): Promise<void> {
    for (const group of groups) {
      await this.#deps.freezer.thaw(group, `pod ${id}`);
      groups.delete(group);
    }
  }

  #groupsOf(pod: Pod): readonly (string | undefined)[] {
    const { uid = "" } = pod.metadata;
    return runningContainers(pod).map((status) => this.#deps.groups.find(uid, containerIdOf(status)));
  }

  /** Writes our conditions beside those of others as they were seen. If the write loses a race, the winner's change wakes us again. */
  async #tell(pod: Pod, standing: Standing): Promise<void> {
    const { namespace, name = "", uid, resourceVersion } = pod.metadata;
    const conditions = conditionsToWrite(pod, standing, this.#deps.clock.now());
    if (conditions === undefined) return;
    const body = { metadata: { uid, resourceVersion }, status: { conditions } } as unknown as JsonObject;
    try {
      const written = await this.#deps.client.patch(Pods, { namespace, name }, { type: "merge", body }, { subresource: "status" });
      this.#pods.remember(written);
    } catch (error) {
      if (!isLostRace(error)) throw error;
    }
  }
}
