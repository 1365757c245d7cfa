/**
 * A node: it runs one container per pod, replaces it when the image changes or the container ends, and reports late and in pieces.
 * Beside it: `container.ts` (what it runs), `node-status.ts` (what it reports), `daemons.ts` (the daemons in the containers).
 */
import type { ObjectStore } from "#engines/embedded/store/object-store.ts";
import { isApiError } from "#kube/api-error.ts";
import type { Clock } from "#lib/clock.ts";
import type { JsonObject } from "#model/meta.ts";
import { type Pod, Pods } from "#model/pod.ts";
import type { ContainerInstance, PodOnNode } from "./container.ts";
import { podStatus } from "./node-status.ts";
import type { SeededRandom } from "./random.ts";
import type { Trace } from "./trace.ts";

/** How the node works at the moment. */
export interface NodeMood {
  /** Of each thing it does, at most. */
  readonly slownessMs: number;
  /** How often an image cannot be pulled. */
  readonly pullFailures: number;
}

export const calmNode: NodeMood = { slownessMs: 30, pullFailures: 0 };

const pullRetryMs = 5_000;
const addresses = 200;

export interface NodeDeps {
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly random: SeededRandom;
  readonly trace: Trace;
  /** Told when a container has ended; `isWished`: because the pod was given another image, or deleted. */
  readonly onEnd: (pod: PodOnNode, isWished: boolean) => void;
}

export class SimulatedNode {
  mood: NodeMood = calmNode;
  readonly #deps: NodeDeps;
  readonly #pods = new Map<string, PodOnNode>();
  #postponed: (() => void)[] = [];
  #up = true;
  #containers = 0;
  #nextAddress = 0;

  constructor(deps: NodeDeps) {
    this.#deps = deps;
  }

  get isUp(): boolean {
    return this.#up;
  }

  pods(): readonly PodOnNode[] {
    return [...this.#pods.values()];
  }

  pod(uid: string): PodOnNode | undefined {
    return this.#pods.get(uid);
  }

  /** The daemon at the address; none while the node is down. */
  at(ip: string): PodOnNode | undefined {
    return this.#up ? this.pods().find((pod) => pod.ip === ip && pod.container !== undefined) : undefined;
  }

  /** A change of a pod, as the world has it; the node hears of it a little later. */
  changed(pod: Pod, isGone: boolean): void {
    this.#later(() => {
      if (isGone) this.#forget(pod);
      else this.#take(pod);
    });
  }

  /** The container ends by itself, and another is started. */
  endContainer(pod: PodOnNode, reason: "OOMKilled" | "Error"): void {
    const { container } = pod;
    if (container === undefined || pod.isBusy || !this.#up) return;
    this.#deps.trace.add("node", `container ${container.id} of ${pod.name} ends: ${reason}`);
    this.#end(pod, reason, reason === "OOMKilled" ? 137 : 1);
    this.#work(pod);
  }

  evict(pod: PodOnNode): void {
    if (pod.failed !== undefined || !this.#up) return;
    this.#deps.trace.add("node", `evicts ${pod.name}`);
    pod.failed = { reason: "Evicted", message: "the node was low on resource: memory" };
    this.#end(pod, "Error", 137);
    void this.#report(pod);
  }

  /** The node is cut off in both directions. */
  goDown(): void {
    this.#deps.trace.add("node", "is down");
    this.#up = false;
  }

  comeUp({ wasRebooted }: { readonly wasRebooted: boolean }): void {
    this.#deps.trace.add("node", wasRebooted ? "is up, rebooted" : "is up");
    this.#up = true;
    for (const pod of this.#pods.values()) {
      if (wasRebooted && pod.failed === undefined) this.#end(pod, "Error", 255);
      this.#work(pod);
    }
    const missed = this.#postponed;
    this.#postponed = [];
    for (const run of missed) run();
  }

  #forget({ metadata: { uid = "", name = "" } }: Pod): void {
    if (this.#pods.delete(uid)) this.#deps.trace.add("node", `lets go of ${name}`);
  }

  #take(pod: Pod): void {
    const { uid = "", deletionTimestamp } = pod.metadata;
    const known = this.#pods.get(uid) ?? this.#place(pod);
    const version = Number(pod.metadata.resourceVersion);
    if (version < known.seenVersion) return;
    known.seenVersion = version;
    known.wantedImage = pod.spec.containers[0]?.image ?? "";
    known.isDeleted = deletionTimestamp !== undefined;
    this.#work(known);
  }

  #place({ metadata: { uid = "", namespace = "", name = "" }, spec }: Pod): PodOnNode {
    const used = new Set(this.pods().map(({ ip }) => ip));
    if (used.size >= addresses) throw new Error(`${used.size} pods are on the node: pods are made faster than they go`);
    let ip: string;
    // Few enough that an address is reused while a process may still remember its last owner.
    do ip = `10.0.0.${(this.#nextAddress = (this.#nextAddress + 1) % addresses)}`;
    while (used.has(ip));
    const placed: PodOnNode = {
      uid,
      namespace,
      name,
      ip,
      containerName: spec.containers[0]?.name ?? "main",
      wantedImage: "",
      isDeleted: false,
      container: undefined,
      restartCount: 0,
      lastEnd: undefined,
      waiting: "ContainerCreating",
      failed: undefined,
      isBusy: false,
      isReadyTold: false,
      seenVersion: 0,
    };
    this.#pods.set(uid, placed);
    // Only a pod that has a node is ended gracefully.
    void this.#ignoringLostRaces(() => this.#deps.store.bind({ namespace, name }, "node"));
    return placed;
  }

  /** The next thing to be done about the pod, if nothing is under way. */
  #work(pod: PodOnNode): void {
    if (pod.isBusy || !this.#up || this.#pods.get(pod.uid) !== pod) return;
    if (pod.isDeleted || pod.failed !== undefined) return this.#finish(pod);
    if (pod.container?.image === pod.wantedImage) return;
    pod.isBusy = true;
    this.#later(() => {
      if (pod.container !== undefined && pod.container.image !== pod.wantedImage) this.#end(pod, "Completed", 143);
      this.#pull(pod, pod.wantedImage);
    });
  }

  #finish(pod: PodOnNode): void {
    if (!pod.isDeleted) return;
    pod.isBusy = true;
    this.#later(() => {
      this.#end(pod, "Error", 137);
      void this.#remove(pod);
    });
  }

  async #remove(pod: PodOnNode): Promise<void> {
    const { namespace, name, uid } = pod;
    await this.#ignoringLostRaces(() =>
      this.#deps.store.delete(Pods, { namespace, name }, { gracePeriodSeconds: 0, preconditions: { uid } }),
    );
  }

  #pull(pod: PodOnNode, image: string): void {
    const { random, clock } = this.#deps;
    if (!random.chance(this.mood.pullFailures)) return this.#later(() => this.#start(pod, image));
    pod.waiting = random.chance(0.5) ? "ErrImagePull" : "ImagePullBackOff";
    void this.#report(pod);
    clock.after(pullRetryMs, () => {
      pod.isBusy = false;
      this.#work(pod);
    });
  }

  #start(pod: PodOnNode, image: string): void {
    const { clock, random, trace } = this.#deps;
    pod.isBusy = false;
    if (!this.#up || pod.isDeleted || pod.wantedImage !== image) return this.#work(pod);
    const now = clock.now();
    const number = ++this.#containers;
    const container: ContainerInstance = {
      id: `sim://c${number}`,
      bootId: `boot-${number}`,
      image,
      startedAtMs: now,
      answersAtMs: now + random.between(0, this.mood.slownessMs),
      armedFor: undefined,
      wasUsed: false,
      isRetired: false,
    };
    if (pod.lastEnd !== undefined) pod.restartCount += 1;
    pod.container = container;
    pod.waiting = undefined;
    pod.isReadyTold = false;
    trace.add("node", `starts ${container.id} in ${pod.name} on ${image.slice(0, image.indexOf("@"))}`);
    this.#later(() => void this.#report(pod));
    this.#later(() => {
      if (pod.container !== container) return;
      pod.isReadyTold = true;
      void this.#report(pod);
    });
  }

  #end(pod: PodOnNode, reason: string, exitCode: number): void {
    const { container } = pod;
    if (container === undefined) return;
    pod.lastEnd = { containerId: container.id, reason, exitCode, atMs: this.#deps.clock.now() };
    pod.container = undefined;
    // A kubelet that was told to exchange an image says that it makes a container, and does not hold it back as one that crashed.
    pod.waiting = reason === "Completed" ? "ContainerCreating" : "CrashLoopBackOff";
    pod.isReadyTold = false;
    this.#deps.onEnd(pod, reason === "Completed" || pod.isDeleted);
  }

  async #report(pod: PodOnNode): Promise<void> {
    if (!this.#up || this.#pods.get(pod.uid) !== pod) return;
    const { namespace, name, uid } = pod;
    const status = podStatus(pod, this.#deps.clock.now()) as JsonObject; // A status is JSON.
    await this.#ignoringLostRaces(() =>
      this.#deps.store.patch(Pods, { namespace, name }, { type: "merge", body: { metadata: { uid }, status } }, { subresource: "status" }),
    );
  }

  async #ignoringLostRaces(write: () => Promise<unknown>): Promise<void> {
    try {
      await write();
    } catch (error) {
      if (!isApiError(error, "NotFound", "Conflict")) throw error;
    }
  }

  #later(run: () => void): void {
    const { clock, random } = this.#deps;
    clock.after(random.between(1, 1 + this.mood.slownessMs), () => {
      // What a node that is down was about to do, it does when it is up again.
      if (this.#up) run();
      else this.#postponed.push(run);
    });
  }
}
