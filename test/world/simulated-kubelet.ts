/**
 * Kubelets for an object server without nodes: every pod of a pool that is there becomes ready at an address of its own, with a daemon
 * that answers, and gets new containers whenever its images change. Pods that are deleted lose their daemon; the rest is the server's.
 */
import { Informer } from "#kube/informer/informer.ts";
import { isLostRace } from "#kube/lost-race.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import { systemClock } from "#lib/clock.ts";
import { labelKeys } from "#model/keys.ts";
import type { JsonObject } from "#model/meta.ts";
import { type ContainerStatus, type Pod, Pods } from "#model/pod.ts";
import { nodeCatchesUp } from "./pool-pods.ts";
import { recordedLog } from "./recorded-log.ts";

/** Receives the address of each daemon that starts or stops. */
export interface Daemons {
  boot(ip: string, podUid: string): unknown;
  down(ip: string): void;
}

export interface SimulatedKubeletOptions {
  readonly client: ObjectClient;
  /** All when left out. */
  readonly namespace?: string;
  /** All when left out. */
  readonly pool?: string;
  readonly daemons: Daemons;
  /** The n-th address. */
  readonly addressOf?: (number: number) => string;
  /** What it reports of a pod and its containers; little when left out. */
  readonly fullStatus?: (pod: Pod, ip: string) => JsonObject;
  readonly fullContainerStatus?: (pod: Pod, status: ContainerStatus) => JsonObject;
}

export class SimulatedKubelet implements AsyncDisposable {
  /** How often it has told the server of new containers. */
  reports = 0;
  readonly #options: SimulatedKubeletOptions;
  readonly #pods: Informer<Pod>;
  readonly #addresses = new Map<string, string>();
  /** Pods that are being seen to, each after what was asked for before. */
  readonly #working = new Map<string, Promise<void>>();

  private constructor(options: SimulatedKubeletOptions) {
    this.#options = options;
    const deps = { client: options.client, clock: systemClock, log: recordedLog().log };
    const labelSelector = options.pool === undefined ? labelKeys.sandboxPool : `${labelKeys.sandboxPool}=${options.pool}`;
    this.#pods = new Informer(deps, { type: Pods, namespace: options.namespace, labelSelector });
    this.#pods.onChange((now, before) => this.#changed(now, before));
  }

  static async start(options: SimulatedKubeletOptions): Promise<SimulatedKubelet> {
    const kubelet = new SimulatedKubelet(options);
    kubelet.#pods.start();
    await kubelet.#pods.whenSynced();
    return kubelet;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pods.stop();
    await Promise.all(this.#working.values());
  }

  #changed(now: Pod | undefined, before: Pod | undefined): void {
    const uid = (now ?? before)?.metadata.uid ?? "";
    if (now === undefined || now.metadata.deletionTimestamp !== undefined) {
      this.#options.daemons.down(this.#addresses.get(uid) ?? "");
      return;
    }
    const last = this.#working.get(uid) ?? Promise.resolve();
    const work = last.then(() => this.#see(now)).finally(() => this.#working.get(uid) === work && this.#working.delete(uid));
    this.#working.set(uid, work);
  }

  async #see({ metadata }: Pod): Promise<void> {
    const { namespace, name = "", uid = "" } = metadata;
    // Tried again with what the pod is by then; a pod that is gone, or a server that is, ends it.
    for (let tries = 0; tries < 20; tries++) {
      const pod = this.#pods.get({ namespace, name });
      if (pod === undefined || pod.metadata.uid !== uid || pod.metadata.deletionTimestamp !== undefined || isDone(pod)) return;
      try {
        await this.#report(pod);
        return;
      } catch (error) {
        if (!isLostRace(error)) return;
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    }
  }

  async #report(pod: Pod): Promise<void> {
    const { namespace, name = "", uid = "", resourceVersion } = pod.metadata;
    const { addressOf = usualAddress } = this.#options;
    const ip = this.#addresses.get(uid) ?? addressOf(this.#addresses.size + 1);
    this.#addresses.set(uid, ip);
    const { fullStatus = leastStatus, fullContainerStatus = (_pod, status) => status } = this.#options;
    const containers = nodeCatchesUp(pod).status?.containerStatuses ?? [];
    this.#options.daemons.boot(ip, uid);
    const status = { ...fullStatus(pod, ip), containerStatuses: containers.map((one) => fullContainerStatus(pod, one)) };
    const body = { metadata: { resourceVersion }, status } as unknown as JsonObject;
    this.#pods.remember(await this.#options.client.patch(Pods, { namespace, name }, { type: "merge", body }, { subresource: "status" }));
    this.reports++;
  }
}

function isDone({ spec, status }: Pod): boolean {
  const statuses = status?.containerStatuses ?? [];
  return spec.containers.every(({ name, image }) => statuses.some((one) => one.name === name && one.image === image));
}

function leastStatus(_pod: Pod, ip: string): JsonObject {
  return { phase: "Running", podIP: ip, podIPs: [{ ip }], conditions: [{ type: "Ready", status: "True" }] };
}

function usualAddress(number: number): string {
  return `10.${number >> 16}.${(number >> 8) & 255}.${number & 255}`;
}
