/**
 * The sandboxes that checkpoints have (model/deep-pause.ts), each as a pod without a phase. One is shown from the moment in which its pod has left it until another
 * pod carries it, as far as this process knows: never beside a pod with the same sandbox, and in no gap between the two.
 */
import type { Informer } from "#kube/informer/informer.ts";
import type { ObjectKey } from "#kube/object-client.ts";
import type { Checkpoint } from "#model/checkpoint.ts";
import { isClaimed, sandboxIdOf, sandboxPhaseOf } from "#model/claimed-pod.ts";
import { deepPausedPod, isPauseCheckpoint } from "#model/deep-pause.ts";
import { annotationKeys } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import { podsBySandboxId } from "./indexes.ts";

type PodHandler = (now: Pod | undefined, before: Pod | undefined) => void;

/** Pods that show sandboxes, and all their changes. */
export interface ShownPods {
  get(key: ObjectKey): Pod | undefined;
  /** Begins with all that there are. */
  onChange(handler: PodHandler): { remove(): void };
}

export class DeepPausedSandboxes implements ShownPods {
  readonly #pods: Pick<Informer<Pod>, "objects">;
  /** The checkpoints of pauses, by sandbox and name. */
  readonly #checkpoints = new Map<string, Map<string, Checkpoint>>();
  readonly #bySandbox = new Map<string, Pod>();
  readonly #byKey = new Map<string, Pod>();
  readonly #handlers = new Set<PodHandler>();

  constructor(checkpoints: Pick<Informer<Checkpoint>, "onChange">, pods: Pick<Informer<Pod>, "objects" | "onChange">) {
    this.#pods = pods;
    checkpoints.onChange((now, before) => this.#learn(now, before));
    pods.onChange((now, before) => {
      for (const id of new Set([now && sandboxIdOf(now), before && sandboxIdOf(before)])) if (id !== undefined) this.#look(id);
    });
  }

  of(sandboxId: string): Pod | undefined {
    return this.#bySandbox.get(sandboxId);
  }

  /** The checkpoints of its pauses: mostly none. */
  checkpointsOf(sandboxId: string): readonly Checkpoint[] {
    return [...(this.#checkpoints.get(sandboxId)?.values() ?? [])];
  }

  get(key: ObjectKey): Pod | undefined {
    return this.#byKey.get(textOf(key));
  }

  onChange(handler: PodHandler): { remove(): void } {
    this.#handlers.add(handler);
    for (const pod of this.#bySandbox.values()) handler(pod, undefined);
    return { remove: () => void this.#handlers.delete(handler) };
  }

  #learn(now: Checkpoint | undefined, before: Checkpoint | undefined): void {
    const { metadata, spec } = now ?? before ?? {};
    if (metadata === undefined || spec === undefined) return;
    const { sandboxID } = spec;
    const known = this.#checkpoints.get(sandboxID) ?? new Map<string, Checkpoint>();
    if (now !== undefined && isPauseCheckpoint(now)) known.set(textOf(metadata), now);
    else known.delete(textOf(metadata));
    if (known.size === 0) this.#checkpoints.delete(sandboxID);
    else this.#checkpoints.set(sandboxID, known);
    this.#look(sandboxID);
  }

  #look(sandboxId: string): void {
    const before = this.#bySandbox.get(sandboxId);
    const checkpoints = this.#checkpoints.get(sandboxId);
    if (before === undefined && checkpoints === undefined) return;
    const now = this.#shown(sandboxId);
    if (now === undefined && before === undefined) return;
    // What a checkpoint says of its sandbox does not change.
    if (now !== undefined && before?.metadata.uid === now.metadata.uid) return;
    if (before !== undefined) this.#byKey.delete(textOf(before.metadata));
    if (now === undefined) this.#bySandbox.delete(sandboxId);
    else {
      this.#bySandbox.set(sandboxId, now);
      this.#byKey.set(textOf(now.metadata), now);
    }
    for (const handler of this.#handlers) handler(now, before);
  }

  #shown(sandboxId: string): Pod | undefined {
    const pods = this.#pods.objects.lookup(podsBySandboxId, sandboxId).toArray();
    if (pods.some(isClaimed)) return undefined;
    const left = new Set(
      pods.filter((pod) => sandboxPhaseOf(pod) === "stopping").map(({ metadata }) => metadata.annotations?.[annotationKeys.deepPaused]),
    );
    const holder = this.checkpointsOf(sandboxId).find(
      ({ metadata, status }) =>
        metadata.deletionTimestamp === undefined &&
        status?.phase === "Succeeded" &&
        status.sandboxEnded === undefined &&
        (status.holdsSandbox === true || left.has(metadata.name)),
    );
    return holder === undefined ? undefined : deepPausedPod(holder);
  }
}

/** The pods of the server, and these. */
export function shownPods(pods: ShownPods, deepPaused: ShownPods): ShownPods {
  return {
    get: (key) => pods.get(key) ?? deepPaused.get(key),
    onChange: (handler) => {
      const followed = [pods.onChange(handler), deepPaused.onChange(handler)];
      return { remove: () => followed.forEach((one) => one.remove()) };
    },
  };
}

function textOf({ namespace = "", name = "" }: { readonly namespace?: string | undefined; readonly name?: string | undefined }): string {
  return `${namespace}/${name}`;
}
