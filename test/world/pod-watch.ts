import type { ObjectClient } from "#kube/object-client.ts";
import { type Pod, Pods } from "#model/pod.ts";

/** All pods of a namespace as one watch shows them, for tests that wait for many of them at once. */
export class PodWatch implements AsyncDisposable {
  readonly pods = new Map<string, Pod>();
  readonly #stop = new AbortController();
  readonly #waiting = new Set<() => void>();
  readonly #following: Promise<void>;

  constructor(client: ObjectClient, namespace = "default") {
    this.#following = this.#follow(client, namespace);
  }

  /** Resolves as soon as `right` accepts the pods. Rejects when `signal` is aborted. */
  when(right: (pods: ReadonlyMap<string, Pod>) => boolean, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const look = (): void => {
        if (!right(this.pods)) return;
        this.#waiting.delete(look);
        resolve();
      };
      this.#waiting.add(look);
      signal?.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
      look();
    });
  }

  async #follow(client: ObjectClient, namespace: string): Promise<void> {
    try {
      for await (const event of client.watch(Pods, { namespace, signal: this.#stop.signal })) {
        if (event.type === "BOOKMARK") continue;
        const { name = "" } = event.object.metadata;
        if (event.type === "DELETED") this.pods.delete(name);
        else this.pods.set(name, event.object);
        for (const look of this.#waiting) look();
      }
    } catch (error) {
      if (!this.#stop.signal.aborted) throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#following;
  }
}

export function isReady(pod: Pod | undefined): boolean {
  return pod?.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") === true;
}
