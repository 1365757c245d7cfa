/**
 * Checkpoints in some runs: clients that want them, and the images of the node. A copy takes its time, and what it holds is what the pod's container
 * held at one moment of it. A process that dies while it copies leaves nothing, or the whole image, and in no case an answer.
 */
import { type CheckpointImages, type CheckpointOrder, CheckpointRefused, type TakenCheckpoint } from "#engine-port/checkpoint-images.ts";
import type { ObjectStore } from "#engines/embedded/store/object-store.ts";
import { sleep } from "#lib/clock.ts";
import { type Checkpoint, Checkpoints } from "#model/checkpoint.ts";
import { checkpointIdOf, checkpointImage } from "#model/checkpoint-image.ts";
import { sandboxIdOf, sandboxPhaseOf } from "#model/claimed-pod.ts";
import { finalizers, labelKeys } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import type { Judge } from "./judge.ts";
import type { SimulatedNode } from "./node.ts";
import { namespace } from "./pools.ts";
import type { Process } from "./process.ts";
import type { SeededRandom } from "./random.ts";
import type { Trace } from "./trace.ts";

export interface CheckpointWorldDeps {
  readonly store: ObjectStore;
  readonly node: SimulatedNode;
  readonly judge: Judge;
  readonly trace: Trace;
  readonly random: SeededRandom;
  readonly pods: () => readonly Pod[];
}

const digest = `sha256:${"c".repeat(64)}`;
const longestCopyMs = 20_000;

export class CheckpointWorld {
  readonly #deps: CheckpointWorldDeps;
  /** Id of a checkpoint to the sandbox whose files its image holds; empty: those of none. */
  readonly #images = new Map<string, string>();
  #made = 0;
  /** As the store has them. */
  readonly #objects = new Map<string, Checkpoint>();

  constructor(deps: CheckpointWorldDeps) {
    this.#deps = deps;
  }

  /** As one process reaches them. */
  imagesFor(process: Process, random: SeededRandom): CheckpointImages {
    return {
      take: (order, signal) => this.#take(order, { process, random, signal }),
      remove: async (id) => void this.#images.delete(id),
      list: async () => [...this.#images.keys()],
    };
  }

  see(checkpoint: Checkpoint, isGone: boolean): void {
    const { uid = "" } = checkpoint.metadata;
    if (isGone) this.#objects.delete(uid);
    else this.#objects.set(uid, checkpoint);
    const { phase } = checkpoint.status ?? {};
    if (isGone || phase !== "Succeeded" || checkpoint.metadata.deletionTimestamp !== undefined) return;
    const [id, of] = [checkpointIdOf(checkpoint), checkpoint.spec.sandboxID];
    const kept = this.#images.get(id);
    this.#deps.judge.hold("K1", kept !== undefined, () => `checkpoint ${id} succeeded and has no image`);
    this.#deps.judge.hold("I8", kept === of, () => `checkpoint ${id} of ${of} holds the files of ${kept ?? ""}`);
  }

  /** Sometimes a client wants one, or does not want one any more. */
  async step(): Promise<void> {
    const { random, store, trace } = this.#deps;
    const carriers = this.#deps.pods().filter((pod) => sandboxIdOf(pod) !== undefined);
    const pod = random.chance(0.25) ? random.pick(carriers) : undefined;
    if (pod !== undefined) await this.#want(pod, random.chance(0.3) ? `${random.between(1, 120)}s` : undefined);
    const old = random.chance(0.08) ? random.pick([...this.#objects.values()]) : undefined;
    if (old === undefined) return;
    const { name = "" } = old.metadata;
    trace.add("client", `deletes the checkpoint of ${old.spec.sandboxID}`);
    await store.delete(Checkpoints, { namespace, name }).catch(() => {});
  }

  /** Undefined when everything is as it should be in the end. */
  whyNotSettled(): string | undefined {
    const ids = new Set<string>();
    for (const checkpoint of this.#objects.values()) {
      const { metadata, spec, status } = checkpoint;
      ids.add(checkpointIdOf(checkpoint));
      const of = `the checkpoint of ${spec.sandboxID}`;
      if (metadata.deletionTimestamp !== undefined) return `K1: ${of} is being deleted and stays`;
      if (status?.phase !== "Succeeded" && status?.phase !== "Failed") return `K1: ${of} is ${status?.phase ?? "not begun"} and stays so`;
    }
    const orphan = [...this.#images.keys()].find((id) => !ids.has(id));
    return orphan === undefined ? undefined : `K1: an image of ${this.#images.get(orphan) ?? ""} is kept, and its checkpoint is gone`;
  }

  async #want(pod: Pod, ttlAfterFinished: string | undefined): Promise<void> {
    const { store, trace } = this.#deps;
    // As the service makes names, but the same ones in every run of a seed.
    const name = `cp-${String(++this.#made).padStart(20, "0")}`;
    const [sandboxID = "", team = ""] = [sandboxIdOf(pod), pod.metadata.labels?.[labelKeys.team]];
    trace.add("client", `wants a checkpoint of ${sandboxID}`);
    await store.create(Checkpoints, {
      metadata: { namespace, name, labels: { [labelKeys.team]: team }, finalizers: [finalizers.checkpointImage] },
      spec: { sandboxID, ...(ttlAfterFinished === undefined ? {} : { ttlAfterFinished }) },
    });
  }

  async #take(
    { id, pod }: CheckpointOrder,
    { process, random, signal }: { readonly process: Process; readonly random: SeededRandom; readonly signal: AbortSignal },
  ): Promise<TakenCheckpoint> {
    const taken = { image: `${checkpointImage(id)}@${digest}`, sizeBytes: 1, frozenMs: 0 };
    if (this.#images.has(id)) return taken;
    await sleep(process.clock, random.between(1, longestCopyMs), signal);
    const container = this.#deps.node.isUp ? this.#deps.node.pod(pod.uid)?.container : undefined;
    if (container === undefined) throw new CheckpointRefused("SandboxGone", "nothing runs there");
    this.#images.set(id, container.isRetired ? "" : this.#carriedBy(pod.uid));
    // Between the image and the answer there is time, too.
    await sleep(process.clock, random.between(1, 500), signal);
    return taken;
  }

  #carriedBy(uid: string): string {
    const pod = this.#deps.pods().find(({ metadata }) => metadata.uid === uid);
    return pod === undefined || sandboxPhaseOf(pod) !== "running" ? "" : (sandboxIdOf(pod) ?? "");
  }
}
