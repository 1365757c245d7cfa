/**
 * A PodRuntime in memory: a machine with containers that do what a test tells them. Its calls take the time and fail the way a test
 * wants, and it records calls that an agent must never make. It outlives the agents that drive it, as a machine does; `reboot` ends
 * everything on it.
 */
import type { ExecCommand, ExecSession } from "#kube/pod-access.ts";
import { PassThrough } from "node:stream";
import type {
  ContainerExit,
  ContainerPlan,
  ContainerSignal,
  ContainerStarted,
  ContainerStateOnNode,
  CopiedChanges,
  PodPlan,
  PodRuntime,
  PodState,
  PodUsage,
  PodVolumes,
} from "#engines/embedded/node/pod-runtime.ts";
import { type Clock, sleep } from "#lib/clock.ts";

export type RuntimeOperation =
  | "ensurePod"
  | "mountVolumes"
  | "removePod"
  | "createContainer"
  | "startContainer"
  | "signalContainer"
  | "removeContainer"
  | "freezePod"
  | "thawPod"
  | "copyChanges";

/** What a container does by itself. The default runs until it is told to stop, and then ends at once and well. */
export interface Behaviour {
  readonly exitsAfterMs?: number;
  readonly exitCode?: number;
  readonly oomKilled?: boolean;
  /** What it does when asked to stop. SIGKILL always ends it. */
  readonly onStop?: "ends" | "ignores" | { readonly endsAfterMs: number; readonly exitCode?: number };
}

export interface SimulatedExec {
  readonly code: number;
  readonly output?: string;
  readonly afterMs?: number;
}

export interface Failure {
  readonly message: string;
  /** `after`: the call has its effect, and only its answer is lost. */
  readonly when?: "before" | "after";
  readonly times?: number;
}

interface SimulatedContainer {
  readonly plan: ContainerPlan;
  state: ContainerStateOnNode["state"];
  startedAt?: number;
  exit?: ContainerExit;
}

interface SimulatedPod {
  plan: PodPlan;
  readonly slot: number;
  frozen: boolean;
  volumes?: PodVolumes;
  /** What it is sent while it is frozen reaches it when it is thawed. */
  readonly held: (() => void)[];
  readonly containers: Map<string, SimulatedContainer>;
}

export class SimulatedPodRuntime implements PodRuntime {
  readonly #clock: Clock;
  readonly #pods = new Map<string, SimulatedPod>();
  readonly #takenSlots = new Set<number>();
  /** No slot below it is free. */
  #freeFrom = 0;
  readonly #handlers: ((id: string, exit: ContainerExit) => void)[] = [];
  readonly #failures = new Map<RuntimeOperation, { left: number; readonly failure: Failure }>();
  readonly #delays = new Map<RuntimeOperation, () => number>();
  /** Attempts that have been started since the machine is up. */
  readonly #begun = new Set<string>();
  /** Which process drives the machine: what another had under way when it died does not happen any more. */
  #driver = 0;
  #behaviour: (plan: ContainerPlan) => Behaviour = () => ({});
  #exec: (plan: ContainerPlan, argv: readonly string[]) => SimulatedExec = () => ({ code: 0 });

  /** Every start that happened, in order. */
  readonly starts: ContainerPlan[] = [];
  readonly signals: { readonly id: string; readonly name: string; readonly signal: ContainerSignal; readonly at: number }[] = [];
  readonly execs: { readonly name: string; readonly argv: readonly string[] }[] = [];
  /** What no agent may do. */
  readonly violations: string[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  // What tests set up.

  behave(behaviour: (plan: ContainerPlan) => Behaviour): void {
    this.#behaviour = behaviour;
  }

  answerExec(exec: (plan: ContainerPlan, argv: readonly string[]) => SimulatedExec): void {
    this.#exec = exec;
  }

  /** The next calls of this operation fail. */
  fail(operation: RuntimeOperation, failure: Failure): void {
    this.#failures.set(operation, { left: failure.times ?? 1, failure });
  }

  delay(operation: RuntimeOperation, ms: number | (() => number)): void {
    this.#delays.set(operation, typeof ms === "number" ? () => ms : ms);
  }

  /** Ends a running container; one that is frozen ends when it is thawed. */
  exit(id: string, exit: Partial<ContainerExit> = {}): void {
    const { pod, container } = this.#find(id);
    if (container?.state !== "running") return;
    if (pod?.frozen === true) return void pod.held.push(() => this.exit(id, exit));
    container.state = "exited";
    container.exit = { code: 0, oomKilled: false, finishedAt: this.#clock.now(), ...exit };
    const ended = container.exit;
    for (const handler of this.#handlers) queueMicrotask(() => handler(id, ended));
  }

  /** The newest container of that name in that pod. */
  container(podName: string, name: string): ContainerStateOnNode | undefined {
    return this.present()
      .find((pod) => pod.name === podName)
      ?.containers.filter((container) => container.name === name)
      .sort((a, b) => b.attempt - a.attempt)[0];
  }

  plan(id: string): ContainerPlan | undefined {
    return this.#find(id).container?.plan;
  }

  /** Everything on the machine ends, without a report. */
  reboot(): void {
    this.#pods.clear();
    this.#takenSlots.clear();
    this.#freeFrom = 0;
    this.#begun.clear();
  }

  /** Another process takes over. */
  changeDriver(): void {
    this.#driver += 1;
  }

  present(): readonly PodState[] {
    return [...this.#pods.values()].map((pod) => this.#stateOf(pod));
  }

  // The port.

  async list(): Promise<readonly PodState[]> {
    return this.present();
  }

  async inspect(uid: string): Promise<PodState | undefined> {
    const pod = this.#pods.get(uid);
    return pod === undefined ? undefined : this.#stateOf(pod);
  }

  ensurePod(plan: PodPlan): Promise<PodState> {
    return this.#call("ensurePod", () => {
      const pod = this.#pods.get(plan.uid) ?? { plan, slot: this.#takeSlot(), frozen: false, held: [], containers: new Map() };
      this.#pods.set(plan.uid, pod);
      pod.plan = { ...pod.plan, egress: plan.egress };
      return this.#stateOf(pod);
    });
  }

  mountVolumes(uid: string, volumes: PodVolumes): Promise<void> {
    return this.#call("mountVolumes", () => {
      const pod = this.#pods.get(uid);
      if (pod === undefined) throw new Error(`there is no pod ${uid} to mount volumes into`);
      pod.volumes = volumes;
    });
  }

  removePod(uid: string): Promise<void> {
    return this.#call("removePod", () => {
      const pod = this.#pods.get(uid);
      if (pod !== undefined) this.#leaveSlot(pod.slot);
      this.#pods.delete(uid);
    });
  }

  createContainer(plan: ContainerPlan): Promise<void> {
    return this.#call("createContainer", () => {
      const pod = this.#pods.get(plan.podUid);
      if (pod === undefined) throw new Error(`there is no pod ${plan.podUid} to make a container in`);
      if (pod.frozen) this.violations.push(`${plan.name} made in a frozen pod`);
      if (!/^[0-9a-f]{64}$/.test(plan.id)) this.violations.push(`container id ${plan.id}`);
      for (const { plan: other, state } of pod.containers.values()) {
        if (other.name !== plan.name || other.id === plan.id) continue;
        if (state === "running") this.violations.push(`${plan.name} made while attempt ${other.attempt} runs`);
        if (other.attempt >= plan.attempt) this.violations.push(`${plan.name} attempt ${plan.attempt} made after ${other.attempt}`);
      }
      if (!pod.containers.has(plan.id)) pod.containers.set(plan.id, { plan, state: "created" });
    });
  }

  startContainer(id: string): Promise<ContainerStarted> {
    return this.#call("startContainer", () => {
      const { pod, container } = this.#find(id);
      if (container === undefined) throw new Error(`there is no container ${id} to start`);
      if (pod?.frozen === true) this.violations.push(`${container.plan.name} started in a frozen pod`);
      if (container.state === "exited") throw new Error(`the container ${id} has ended and cannot be started`);
      if (container.state === "created") this.#begin(container);
      return { startedAt: container.startedAt ?? 0, pid: 1 };
    });
  }

  signalContainer(id: string, signal: ContainerSignal): Promise<void> {
    return this.#call("signalContainer", () => {
      const { container } = this.#find(id);
      if (container?.state !== "running") return;
      this.signals.push({ id, name: container.plan.name, signal, at: this.#clock.now() });
      if (signal === "SIGKILL") return this.exit(id, { code: 137, signal: 9 });
      const { onStop = "ends" } = this.#behaviour(container.plan);
      if (onStop === "ends") this.exit(id);
      else if (onStop !== "ignores") this.#clock.after(onStop.endsAfterMs, () => this.exit(id, { code: onStop.exitCode ?? 0 }));
    });
  }

  removeContainer(id: string): Promise<void> {
    return this.#call("removeContainer", () => {
      this.#thaw(this.#find(id).pod);
      this.exit(id, { code: 137, signal: 9 });
      this.#find(id).pod?.containers.delete(id);
    });
  }

  onExit(handler: (id: string, exit: ContainerExit) => void): void {
    this.#handlers.push(handler);
  }

  exec(id: string, { argv, signal }: ExecCommand): ExecSession {
    const { pod, container } = this.#find(id);
    if (container?.state !== "running") throw new Error(`the container ${id} is not running`);
    if (pod?.frozen === true) throw new Error(`the pod of the container ${id} is frozen`);
    this.execs.push({ name: container.plan.name, argv });
    const { code, output = "", afterMs = 0 } = this.#exec(container.plan, argv);
    const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
    const exitCode = sleep(this.#clock, afterMs, signal).then(() => {
      stdout.end(output);
      stderr.end();
      return code;
    });
    exitCode.catch(() => stdout.destroy());
    return { stdin, stdout, stderr, resize: () => {}, signal: () => {}, exitCode };
  }

  freezePod(uid: string): Promise<void> {
    return this.#call("freezePod", () => {
      const pod = this.#pods.get(uid);
      if (pod !== undefined) pod.frozen = true;
    });
  }

  thawPod(uid: string): Promise<void> {
    return this.#call("thawPod", () => this.#thaw(this.#pods.get(uid)));
  }

  copyChanges(id: string): Promise<CopiedChanges> {
    return this.#call("copyChanges", () => {
      if (this.#find(id).container === undefined) throw new Error(`there is no container ${id} on this node`);
      return { frozenMs: 0 };
    });
  }

  async usage(): Promise<PodUsage> {
    return { cpuNanos: 0, memoryBytes: 0, cacheBytes: 0, pids: 0, diskBytes: 0, oomKills: 0 };
  }

  async close(): Promise<void> {
    this.#handlers.length = 0;
  }

  // How it works.

  async #call<T>(operation: RuntimeOperation, effect: () => T): Promise<T> {
    const ms = this.#delays.get(operation)?.() ?? 0;
    const driver = this.#driver;
    if (ms > 0) await sleep(this.#clock, ms);
    if (driver !== this.#driver) return new Promise(() => {});
    const failure = this.#nextFailure(operation);
    if (failure !== undefined && failure.when !== "after") throw new Error(failure.message);
    const result = effect();
    if (failure !== undefined) throw new Error(failure.message);
    return result;
  }

  #nextFailure(operation: RuntimeOperation): Failure | undefined {
    const entry = this.#failures.get(operation);
    if (entry === undefined || entry.left <= 0) return undefined;
    entry.left -= 1;
    return entry.failure;
  }

  #begin(container: SimulatedContainer): void {
    const { plan } = container;
    const attempt = `${plan.podUid} ${plan.name} ${plan.attempt}`;
    if (this.#begun.has(attempt)) this.violations.push(`${plan.name} attempt ${plan.attempt} started twice`);
    this.#begun.add(attempt);
    container.state = "running";
    container.startedAt = this.#clock.now();
    this.starts.push(plan);
    const { exitsAfterMs, exitCode = 0, oomKilled = false } = this.#behaviour(plan);
    if (exitsAfterMs === 0) this.exit(plan.id, { code: exitCode, oomKilled });
    else if (exitsAfterMs !== undefined) this.#clock.after(exitsAfterMs, () => this.exit(plan.id, { code: exitCode, oomKilled }));
  }

  #find(id: string): { readonly pod?: SimulatedPod; readonly container?: SimulatedContainer } {
    for (const pod of this.#pods.values()) {
      const container = pod.containers.get(id);
      if (container !== undefined) return { pod, container };
    }
    return {};
  }

  #stateOf({ plan, slot, frozen, volumes, containers }: SimulatedPod): PodState {
    const states = [...containers.values()].map(({ plan: one, state, startedAt, exit }): ContainerStateOnNode => {
      const { id, name, attempt, image, annotations } = one;
      const times = { ...(startedAt === undefined ? {} : { startedAt }), ...(exit === undefined ? {} : { exit }) };
      return { id, name, attempt, imageId: image.id, imageDigest: image.digest, annotations, state, ...times };
    });
    const { uid, namespace, name, egress } = plan;
    return {
      uid,
      namespace,
      name,
      ip: addressOf(slot),
      slot,
      frozen,
      egress,
      ...(volumes === undefined ? {} : { volumes }),
      containers: states,
    };
  }

  #takeSlot(): number {
    while (this.#takenSlots.has(this.#freeFrom)) this.#freeFrom += 1;
    this.#takenSlots.add(this.#freeFrom);
    return this.#freeFrom;
  }

  #leaveSlot(slot: number): void {
    this.#takenSlots.delete(slot);
    this.#freeFrom = Math.min(this.#freeFrom, slot);
  }

  #thaw(pod: SimulatedPod | undefined): void {
    if (pod === undefined) return;
    pod.frozen = false;
    for (const deliver of pod.held.splice(0)) deliver();
  }
}

/** Two are taken: that of the network and that of the machine. */
function addressOf(slot: number): string {
  const number = slot + 2;
  return `10.88.${number >> 8}.${number & 255}`;
}
