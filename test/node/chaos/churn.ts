/** Pods that are created, swapped in place, crashed and deleted at random, and what must be true of them afterwards. */
import { isApiError } from "#kube/api-error.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import { labelKeys } from "#model/keys.ts";
import { type Pod, Pods } from "#model/pod.ts";
import { firstProcesses } from "../../world/machine-traces.ts";

const namespace = "default";
const mostPods = 8;

/** What was done to a pod, by uid: it bounds how often its container may have been started anew. */
interface Deeds {
  swaps: number;
  crashes: number;
}

export interface ChurnOptions {
  readonly instance: string;
  /** The digest that the image `host` has on this machine. */
  readonly digest: string;
  readonly random: () => number;
}

export class Churn {
  readonly #options: ChurnOptions;
  readonly #deeds = new Map<string, Deeds>();
  /** Each process is killed once: a second signal would not be a second crash. */
  readonly #killed = new Set<string>();
  #uses = 0;
  #names = 0;
  steps = 0;

  constructor(options: ChurnOptions) {
    this.#options = options;
  }

  /** Goes on until it is stopped. A server that is killed under a call is no failure: what it did is looked up. */
  async run(client: ObjectClient, stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      try {
        await this.#step(client);
        this.steps++;
      } catch (error) {
        if (isApiError(error, "Unreachable")) return;
        if (!isApiError(error, "NotFound", "Conflict", "Invalid")) throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, this.#options.random() * 120));
    }
  }

  async #step(client: ObjectClient): Promise<void> {
    const pods = (await client.list(Pods, { namespace, labelSelector: `${labelKeys.sandboxPool}=by-hand` })).items;
    const { random } = this.#options;
    const pod = pods[Math.floor(random() * pods.length)];
    const dice = random();
    if (pod === undefined || (pods.length < mostPods && dice < 0.4)) await this.#create(client);
    else if (dice < 0.6) await this.#swap(client, pod);
    else if (dice < 0.75) this.#crash(pod);
    else await this.#delete(client, pod);
  }

  async #create(client: ObjectClient): Promise<void> {
    const readinessProbe = { httpGet: { path: "/health", port: 49_983 }, periodSeconds: 1 };
    const limits = this.#options.random() < 0.5 ? { memory: "256Mi", "ephemeral-storage": "64Mi" } : { memory: "256Mi" };
    await client.create(Pods, {
      // The label of a pool is what brings the daemon in; no controller looks after these.
      metadata: { namespace, name: `chaos-${this.#names++}`, labels: { [labelKeys.sandboxPool]: "by-hand" } },
      spec: {
        terminationGracePeriodSeconds: 1,
        containers: [{ name: "main", image: this.#image(), readinessProbe, resources: { limits } }],
      },
    });
  }

  async #swap(client: ObjectClient, { metadata: { name = "", uid = "" } }: Pod): Promise<void> {
    // Before the call: it may be carried out even though we never hear of it.
    this.#of(uid).swaps++;
    const operations = [
      { op: "test", path: "/metadata/uid", value: uid },
      { op: "replace", path: "/spec/containers/0/image", value: this.#image() },
    ] as const;
    await client.patch(Pods, { namespace, name }, { type: "json", operations });
  }

  /** Its first process is killed from outside, as the kernel would for want of memory. */
  #crash({ metadata: { uid = "" }, status }: Pod): void {
    const id = status?.containerStatuses?.[0]?.containerID?.replace(/^.*:\/\//, "");
    const [pid] = (id === undefined ? undefined : firstProcesses(this.#options.instance).get(id)) ?? [];
    // One crash for each image: the second would wait for its back-off, ten seconds and more.
    if (pid === undefined || this.#killed.has(pid) || this.#of(uid).crashes > this.#of(uid).swaps) return;
    this.#killed.add(pid);
    this.#of(uid).crashes++;
    try {
      process.kill(Number(pid), "SIGKILL");
    } catch {
      // Gone by itself between the look and the signal: then it was no crash of ours.
      this.#of(uid).crashes--;
    }
  }

  async #delete(client: ObjectClient, { metadata: { name = "", uid } }: Pod): Promise<void> {
    await client.delete(Pods, { namespace, name }, { preconditions: { uid } });
  }

  #of(uid: string): Deeds {
    const known = this.#deeds.get(uid) ?? { swaps: 0, crashes: 0 };
    this.#deeds.set(uid, known);
    return known;
  }

  #image(): string {
    return `host:latest-u${this.#uses++}@${this.#options.digest}`;
  }

  /** How often the pod's container may have been started anew, by what was done to it. */
  restartsWanted(uid: string): { readonly least: number; readonly most: number } {
    const { swaps, crashes } = this.#deeds.get(uid) ?? { swaps: 0, crashes: 0 };
    // Swaps in quick succession are one start; a swap that was cut off may not have happened at all.
    return { least: swaps === 0 ? crashes : 0, most: crashes + swaps };
  }
}
