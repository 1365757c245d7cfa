/**
 * Sees every version of every pod with its claim, in order and at once, and checks what one step of one pod may and may not be. Beside it:
 * `ledger.ts` (what happened), `judge.ts` (what must not have), `state-checks.ts` (what holds between steps).
 */
import { poolOf, sandboxIdOf, sandboxPhaseOf } from "#model/claimed-pod.ts";
import { annotationKeys, labelKeys } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import { parseStringMap } from "#sandbox/annotation-values.ts";
import { mayFollow } from "#sandbox/phase.ts";
import { checkCause } from "./causes.ts";
import type { ContainerInstance } from "./container.ts";
import type { Judge } from "./judge.ts";
import type { Ledger, Sandbox } from "./ledger.ts";
import type { SimulatedNode } from "./node.ts";
import type { ReplicaWatch } from "./replica-watch.ts";
import type { SeenPod } from "./pods-with-claims.ts";
import type { Trace } from "./trace.ts";

/** A label that some of the simulated callers put on their sandbox. */
export const userLabel = "app.invalid/request";

export interface MonitorDeps {
  readonly ledger: Ledger;
  readonly judge: Judge;
  readonly node: SimulatedNode;
  readonly replicas: ReplicaWatch;
  readonly trace: Trace;
}

export class PodMonitor {
  readonly #deps: MonitorDeps;
  readonly #pods = new Map<string, Pod>();

  constructor(deps: MonitorDeps) {
    this.#deps = deps;
  }

  /** The pods as they are. */
  pods(): readonly Pod[] {
    return [...this.#pods.values()];
  }

  pod(uid: string): Pod | undefined {
    return this.#pods.get(uid);
  }

  see({ pod, isGone }: SeenPod): void {
    const uid = pod.metadata.uid ?? "";
    const before = this.#pods.get(uid);
    if (isGone) {
      this.#pods.delete(uid);
      this.#gone(pod);
    } else {
      this.#pods.set(uid, pod);
      this.#step(before, pod);
    }
    this.#deps.replicas.see(this.pods(), before === undefined ? pod : undefined);
  }

  #step(before: Pod | undefined, pod: Pod): void {
    if (before === undefined) this.#deps.trace.add("store", `${nameOf(pod)} created`);
    this.#identity(before, pod);
    this.#phase(before, pod);
    if (before?.metadata.deletionTimestamp === undefined && pod.metadata.deletionTimestamp !== undefined) this.#deleted(pod);
  }

  #identity(before: Pod | undefined, pod: Pod): void {
    const { judge } = this.#deps;
    const was = before === undefined ? undefined : sandboxIdOf(before);
    const is = sandboxIdOf(pod);
    if (was === is) return;
    if (was !== undefined && is !== undefined) judge.violate("I1", `${nameOf(pod)} went from sandbox ${was} to ${is} in one step`);
    if (was !== undefined) this.#wiped(pod, was);
    if (is !== undefined) this.#claimed(pod, is);
  }

  #claimed(pod: Pod, id: string): void {
    const { judge, ledger, trace } = this.#deps;
    const earlier = ledger.sandboxes.get(id);
    if (earlier !== undefined) judge.violate("I1", `sandbox ${id} is on ${nameOf(pod)} and was on ${earlier.podName}`);
    const metadata = parseStringMap(pod.metadata.annotations?.[annotationKeys.sandboxMetadata]);
    const request = ledger.request(metadata?.["request"]);
    trace.name(id, `s${ledger.sandboxes.size + 1}`);
    const sandbox: Sandbox = {
      id,
      podUid: pod.metadata.uid ?? "",
      podName: nameOf(pod),
      request,
      isEndAsked: false,
      isEndTold: false,
      hasEnded: false,
    };
    ledger.sandboxes.set(id, sandbox);
    trace.add("store", `${nameOf(pod)} carries ${id} for ${request?.name ?? "nobody"}`);
    this.#oneSandboxPerRequest(sandbox);
  }

  /** A request may be given another pod when it gave one back, but has never two that could be answered. */
  #oneSandboxPerRequest(sandbox: Sandbox): void {
    const { judge, ledger } = this.#deps;
    const { request } = sandbox;
    if (request === undefined) return;
    const answered = request.state === "answered" ? ledger.sandboxes.get(request.sandboxId ?? "") : undefined;
    judge.hold("I1", answered === undefined, () => `${request.name} was answered ${answered?.id} and took ${sandbox.podName} after that`);
  }

  #phase(before: Pod | undefined, pod: Pod): void {
    const { judge, trace } = this.#deps;
    const was = before === undefined ? undefined : sandboxPhaseOf(before);
    const is = sandboxPhaseOf(pod);
    if (was === is) return;
    trace.add("store", `${nameOf(pod)} is ${is ?? "in no phase"}`);
    if (before === undefined || was === undefined || is === undefined) return;
    judge.hold("I1", mayFollow(was, is), () => `${nameOf(pod)} went from ${was} to ${is}`);
    if (was === "idle" && is === "running") this.#handedOut(pod);
    if (is === "idle") this.#isClean(pod);
    if (is === "stopping" || is === "failed") this.#ended(pod);
  }

  /** On the fast path a container is given out as it is. No user may have had it before (I2). */
  #handedOut(pod: Pod): void {
    const container = this.#usedContainer(pod);
    this.#deps.judge.hold(
      "I2",
      container === undefined,
      () => `${sandboxIdOf(pod)} gets container ${container?.id}, which was used before`,
    );
  }

  #usedContainer(pod: Pod): ContainerInstance | undefined {
    const container = this.#deps.node.pod(pod.metadata.uid ?? "")?.container;
    return container?.wasUsed === true ? container : undefined;
  }

  #isClean(pod: Pod): void {
    const { labels = {}, annotations = {} } = pod.metadata;
    const left = [labelKeys.sandboxId, labelKeys.team, labelKeys.user, userLabel].find((key) => key in labels);
    const noted = [annotationKeys.sandboxId, annotationKeys.claimedAt, annotationKeys.sandboxMetadata, userLabel].find(
      (key) => key in annotations,
    );
    const used = this.#usedContainer(pod);
    this.#deps.judge.hold("I2", used === undefined, () => `${nameOf(pod)} is idle, and its container ${used?.id} was used`);
    this.#deps.judge.hold("I2", left === undefined && noted === undefined, () => `${nameOf(pod)} is idle and has ${left ?? noted}`);
  }

  #ended(pod: Pod): void {
    const sandbox = this.#deps.ledger.sandboxes.get(sandboxIdOf(pod) ?? "");
    if (sandbox === undefined || sandbox.hasEnded) return;
    sandbox.hasEnded = true;
    const { annotations = {} } = pod.metadata;
    const stopReason = annotations[annotationKeys.stopReason];
    const failureReason = annotations[annotationKeys.failureReason];
    this.#deps.trace.add("store", `${sandbox.id} has ended: ${stopReason ?? "no reason"} ${failureReason ?? ""}`);
    checkCause(this.#deps, sandbox, { stopReason, failureReason });
  }

  #wiped(pod: Pod, id: string): void {
    const { judge, ledger } = this.#deps;
    const sandbox = ledger.sandboxes.get(id);
    if (sandbox !== undefined) sandbox.hasEnded = true;
    judge.hold("I3", ledger.records.has(id), () => `${nameOf(pod)} was wiped and there is no record of ${id}`);
  }

  #gone(pod: Pod): void {
    this.#deps.trace.add("store", `${nameOf(pod)} is gone`);
    const id = sandboxIdOf(pod);
    if (id !== undefined) this.#wiped(pod, id);
  }

  #deleted(pod: Pod): void {
    const { judge, ledger, trace } = this.#deps;
    trace.add("store", `${nameOf(pod)} is being deleted`);
    const phase = sandboxPhaseOf(pod);
    const isClaimed = phase === "starting" || phase === "running";
    const hasFailed = pod.status?.phase === "Failed" || pod.status?.phase === "Succeeded";
    const isAllowed = !isClaimed || hasFailed || ledger.wasHit(pod.metadata.uid ?? "", "deleted");
    judge.hold("I4", isAllowed, () => `${nameOf(pod)} of ${poolOf(pod)} was deleted while it carried ${sandboxIdOf(pod)}`);
  }
}

export function nameOf(pod: Pod): string {
  return pod.metadata.name ?? "";
}
