/**
 * Brings one pod to where it should be: look, plan, act, look again, until there is nothing to do; then report.
 *
 * - `pod-worker.ts`   the loop, run by the controller for one pod at a time, never twice at once for one name
 * - `pod-actions.ts`  carries out a plan, with `start-steps.ts`, `image-pulls.ts`
 * - `pod-memory.ts`   what the agent remembers of a pod between two runs
 * - `place-pod.ts`    pods that have no node yet
 * - `write-status.ts` the report; `node-metrics.ts` numbers
 * - `pod-roll.ts`     which pods the node has touched
 * - `pod-places.ts`   how many pods are worked on at once, in all and for one owner
 */
import type { Informer } from "#kube/informer/informer.ts";
import type { Key } from "#kube/controller/key.ts";
import type { Requeue } from "#kube/controller/work-queue.ts";
import type { Logger } from "#lib/log.ts";
import type { Pod } from "#model/pod.ts";
import type { PodEvents } from "../event/pod-events.ts";
import type { ContainerStateOnNode, PodState } from "../../pod-runtime.ts";
import type { Plan } from "../plan/action.ts";
import { planPod } from "../plan/plan-pod.ts";
import { type NodePod, nodePod } from "../node-pod.ts";
import { placePod, type PlaceDeps } from "./place-pod.ts";
import { carryOut, type PodActionDeps, type PodAtWork } from "./pod-actions.ts";
import { PodMemory } from "./pod-memory.ts";
import { PodRoll } from "./pod-roll.ts";
import { writeStatus } from "./write-status.ts";

export interface PodWorkerDeps extends PodActionDeps, PlaceDeps {
  readonly informer: Informer<Pod>;
  readonly events: PodEvents;
  readonly log: Logger;
  /** Runs the pod's key again: now, or after exactly this time. */
  readonly wake: (key: Key, afterMs?: number) => void;
}

/** More than any pod needs from nothing to running; a loop that does not end is a mistake, and must not take the node with it. */
const maxRounds = 100;
/** Every pod is looked at from time to time even if nothing is heard of it: a missed exit must not stay unseen. */
const safetyMs = 60_000;

interface Settled {
  readonly plan: Plan;
  /** The pod that the plan is about; undefined when it is gone. */
  readonly seen: NodePod | undefined;
  readonly trouble: unknown;
}

export class PodWorker {
  readonly #deps: PodWorkerDeps;
  readonly #roll = new PodRoll();
  readonly #memories = new Map<string, PodMemory>();

  constructor(deps: PodWorkerDeps) {
    this.#deps = deps;
  }

  /** Everything on the machine: what an earlier agent left is taken over, or removed if no object speaks of it any more. */
  takeOver(states: readonly PodState[]): void {
    for (const { uid, namespace, name } of states) {
      this.#roll.add(uid, { namespace, name });
      this.#deps.wake({ namespace, name });
    }
  }

  /** Removes what no pod accounts for, however it came to be there. */
  sweep(states: readonly PodState[]): void {
    this.takeOver(states.filter(({ uid, namespace, name }) => this.#podAt({ namespace, name })?.metadata.uid !== uid));
  }

  /** A container has ended. If it is not known yet, its pod's next run sees its end. */
  exited(id: string): void {
    const key = this.#roll.keyOfContainer(id);
    if (key !== undefined) this.#deps.wake(key);
  }

  /** Ends what goes on in the background. */
  stop(): void {
    for (const memory of this.#memories.values()) memory.end();
  }

  async reconcile(key: Key, signal: AbortSignal): Promise<Requeue> {
    const pod = this.#podAt(key);
    await this.#removeOthers(key, pod?.metadata.uid);
    if (pod === undefined) return undefined;
    if (pod.spec.nodeName === undefined) return placePod(this.#deps, pod, (event) => this.#deps.events.record(pod, event));
    if (pod.spec.nodeName !== this.#deps.node.name) return undefined;
    await this.#converge(key, pod, signal);
    return { afterMs: safetyMs, routine: true };
  }

  #podAt(key: Key): NodePod | undefined {
    const pod = this.#deps.informer.get(key);
    return pod === undefined ? undefined : nodePod(pod);
  }

  /** Whatever is on the machine under this name and is not this pod: its object is gone, so it goes. */
  async #removeOthers(key: Key, uid: string | undefined): Promise<void> {
    const { runtime, prober, events, logs } = this.#deps;
    for (const other of this.#roll.under(key)) {
      if (other === uid) continue;
      prober.forget(other);
      this.#memories.get(other)?.end();
      this.#memories.delete(other);
      if ((await runtime.inspect(other)) !== undefined) await runtime.removePod(other);
      events.forget(other);
      logs.remove({ ...key, uid: other });
      this.#roll.remove(other);
    }
  }

  async #converge(key: Key, pod: NodePod, signal: AbortSignal): Promise<void> {
    const { uid } = pod.metadata;
    this.#roll.add(uid, key);
    const memory = this.#memories.get(uid) ?? this.#remember(pod);
    const { plan, seen, trouble } = await this.#settle(key, pod, memory, signal);
    // The pod is gone, or another one has its name by now: that change has queued this name again.
    if (seen === undefined || signal.aborted) return;
    await this.#report(key, seen, plan, memory);
    if (trouble !== undefined) throw trouble;
  }

  #remember({ metadata, status }: NodePod): PodMemory {
    const memory = new PodMemory();
    if (status.startTime === undefined) memory.newSince = this.#deps.clock.now();
    this.#memories.set(metadata.uid, memory);
    return memory;
  }

  /** Acts until the plan asks for nothing more, or something fails. The last plan is made of what is there then. */
  async #settle(key: Key, pod: NodePod, memory: PodMemory, signal: AbortSignal): Promise<Settled> {
    let seen: NodePod | undefined = pod;
    let plan: Plan;
    let trouble: unknown;
    for (let round = 0; ; round++) {
      const work = await this.#look(key, seen, memory);
      plan = planPod(seen, { node: this.#deps.node, runtime: work.runtime, memory }, this.#deps.clock.now());
      if (plan.actions.length === 0 || trouble !== undefined || signal.aborted) return { plan, seen, trouble };
      trouble = round < maxRounds ? await this.#act(work, plan, signal) : new Error(endless(plan));
      seen = this.#podAt(key);
      if (seen?.metadata.uid !== pod.metadata.uid) return { plan, seen: undefined, trouble };
    }
  }

  async #look(key: Key, pod: NodePod, memory: PodMemory): Promise<PodAtWork> {
    const runtime = await this.#deps.runtime.inspect(pod.metadata.uid);
    const ids = runtime?.containers.map(({ id }) => id) ?? [];
    memory.keepOnly(new Set(ids));
    this.#roll.setContainers(pod.metadata.uid, ids);
    for (const container of runtime?.containers ?? []) this.#noteLastWords(pod, container, memory);
    const inits = new Set(pod.spec.initContainers?.map(({ name }) => name));
    return {
      pod,
      runtime,
      memory,
      tell: (event, container) => {
        const about = container === undefined ? {} : { container: { name: container.name, isInit: inits.has(container.name) } };
        this.#deps.events.record(pod, { ...event, ...about });
      },
      wake: () => this.#deps.wake(key),
    };
  }

  #noteReady({ status }: Plan, memory: PodMemory): void {
    const isReady = status.conditions?.some(({ type, status: value }) => type === "Ready" && value === "True") === true;
    if (!isReady || memory.newSince === undefined) return;
    this.#deps.numbers.podReady(this.#deps.clock.now() - memory.newSince);
    memory.newSince = undefined;
  }

  /** For containers whose status shows the last lines of their log when they fail. */
  #noteLastWords(pod: NodePod, { id, name, attempt, exit }: ContainerStateOnNode, memory: PodMemory): void {
    const spec = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])].find((one) => one.name === name);
    const isWanted = spec?.terminationMessagePolicy === "FallbackToLogsOnError" && exit !== undefined && exit.code !== 0;
    if (isWanted && !memory.lastWords.has(id)) memory.lastWords.set(id, this.#deps.logs.lastWords(pod.metadata, name, attempt));
  }

  /** The first failure, which ends the round; undefined when all went well. */
  async #act(work: PodAtWork, plan: Plan, signal: AbortSignal): Promise<unknown> {
    for (const action of plan.actions) {
      if (signal.aborted) return undefined;
      try {
        await carryOut(this.#deps, work, action, signal);
      } catch (error) {
        this.#deps.log.warn(
          { error, action: action.kind, pod: work.pod.metadata.name, namespace: work.pod.metadata.namespace },
          "action on a pod failed",
        );
        return error;
      }
    }
    return undefined;
  }

  async #report(key: Key, pod: NodePod, plan: Plan, memory: PodMemory): Promise<void> {
    const { prober, events, informer, client, wake } = this.#deps;
    const { uid } = pod.metadata;
    prober.sync(uid, plan.probes, {
      onVerdict: ({ id, kind }, verdict) => {
        memory.noteProbe(id, kind, verdict);
        wake(key);
      },
      onFailure: ({ container, kind }, output) => {
        const name = `${kind.charAt(0).toUpperCase()}${kind.slice(1)}`;
        events.record(pod, {
          type: "Warning",
          reason: "Unhealthy",
          message: `${name} probe failed: ${output}`,
          container: { name: container.name, isInit: false },
        });
      },
    });
    for (const event of plan.events) events.record(pod, event);
    const written = await writeStatus(client, pod, plan.status);
    // Also wakes us again: what may only be done once the report is stored is planned then.
    if (written !== undefined) informer.remember(written);
    if (plan.recheckInMs !== undefined) wake(key, plan.recheckInMs);
    this.#noteReady(plan, memory);
  }
}

function endless({ actions }: Plan): string {
  return `the pod did not settle within ${maxRounds} rounds; it would do next: ${actions.map(({ kind }) => kind).join(", ")}`;
}
