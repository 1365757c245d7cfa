/**
 * Layers that are wished of pods of this node (model/layer-wish.ts). The pod stands still while its files are copied, in its own reconcile, so that nothing else is done
 * with it; the registry gets the copy afterwards, while the sandbox runs on. One copy at a time is on the node's disk.
 */
import { isImageError, type ImageErrorCode } from "#images/image-error.ts";
import { formatKey, type Key } from "#kube/controller/key.ts";
import type { MonotonicClock } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import type { CheckpointFailure } from "#model/checkpoint.ts";
import { sandboxPhaseOf } from "#model/claimed-pod.ts";
import { layerAnswer, type LayerAnswer, type LayerWish, layerWish, layerWishText } from "#model/layer-wish.ts";
import type { Pod } from "#model/pod.ts";
import type { CopiedLayer, LayerTaker } from "../node-layer/layer-taker.ts";
import { containerIdOf, runningContainers } from "./pause-plan.ts";

export interface LayerJobsDeps {
  /** Left out: this agent takes none. */
  readonly layers?: LayerTaker | undefined;
  readonly clock: MonotonicClock;
  readonly log: Logger;
}

/** What the agent does for a job. */
export interface LayerJobHost {
  /** The pod as it is known now. */
  readonly pod: () => Pod | undefined;
  /** Runs the work while all containers of the pod stand. */
  readonly standStill: (work: () => Promise<void>) => Promise<void>;
  /** Something has come of a job: the pod is to be looked at again. */
  readonly wake: () => void;
}

interface Job {
  readonly text: string;
  readonly end: AbortController;
  answer: LayerAnswer | undefined;
}

const copyLimitMs = 2 * 60_000;
const turnMs = 50;

export class LayerJobs {
  readonly #deps: LayerJobsDeps;
  readonly #jobs = new Map<string, Job>();
  /** Whose copy is on the disk. */
  #busy: string | undefined;

  constructor(deps: LayerJobsDeps) {
    this.#deps = deps;
  }

  /** Begins, or ends, what the pod wishes. What is left to be told of it; `later`: another pod's turn is not over. */
  async look(
    key: Key,
    host: LayerJobHost,
  ): Promise<{ readonly wish?: LayerWish; readonly answer?: LayerAnswer | undefined; readonly later?: number }> {
    const id = formatKey(key);
    const pod = host.pod();
    const wish = pod === undefined ? undefined : wishOf(pod);
    const text = wish && layerWishText(wish);
    const known = this.#jobs.get(id);
    if (known !== undefined && known.text !== text) {
      known.end.abort(new Error("the layer is not wished any more"));
      this.#jobs.delete(id);
    }
    if (pod === undefined || wish === undefined || text === undefined) return {};
    const told = layerAnswer(pod, wish);
    if (told !== undefined) return { wish, answer: told };
    const job = this.#jobs.get(id);
    if (job !== undefined) return { wish, answer: job.answer };
    if (this.#busy !== undefined) return { wish, later: turnMs };
    const begun: Job = { text, end: new AbortController(), answer: undefined };
    this.#jobs.set(id, begun);
    await this.#begin(id, wish, begun, host);
    return { wish, answer: begun.answer };
  }

  endAll(): void {
    for (const { end } of this.#jobs.values()) end.abort(new Error("the agent ends"));
  }

  async #begin(id: string, wish: LayerWish, job: Job, host: LayerJobHost): Promise<void> {
    const { layers, clock, log } = this.#deps;
    if (layers === undefined) {
      job.answer = {
        reason: "NotImplemented",
        why: "the agent of the sandbox's node has no registry for checkpoints (checkpoints.repository of the Helm chart)",
      };
      return;
    }
    this.#busy = id;
    let isPushing = false;
    try {
      let copied: CopiedLayer | undefined;
      let frozenMs = 0;
      await host.standStill(async () => {
        const from = clock.monotonic();
        const goOn = (): void => this.#check(host, job, wish, clock.monotonic() - from);
        goOn();
        copied = await layers.copy(wish.containerId, goOn);
        frozenMs = Math.round(clock.monotonic() - from);
      });
      if (copied === undefined) throw new Error("nothing was copied");
      isPushing = true;
      void this.#push(copied, { wish, job, host, frozenMs });
    } catch (error) {
      log.warn({ pod: id, checkpoint: wish.id, error }, "layer not taken");
      job.answer = refusalOf(error);
    } finally {
      if (!isPushing) this.#busy = undefined;
    }
  }

  async #push(
    layer: CopiedLayer,
    { wish, job, host, frozenMs }: { readonly wish: LayerWish; readonly job: Job; readonly host: LayerJobHost; readonly frozenMs: number },
  ): Promise<void> {
    const { log } = this.#deps;
    try {
      await using copied = layer;
      const pushed = await copied.push(wish.id, job.end.signal);
      job.answer = { ...pushed, frozenMs };
      log.info({ checkpoint: wish.id, bytes: pushed.size, frozenMs }, "layer is in the registry");
    } catch (error) {
      log.warn({ checkpoint: wish.id, error }, "layer not pushed");
      job.answer = refusalOf(error);
    } finally {
      this.#busy = undefined;
      host.wake();
    }
  }

  /** Between two pieces: an end of the sandbox does not wait for its copy. */
  #check(host: LayerJobHost, job: Job, wish: LayerWish, ranMs: number): void {
    job.end.signal.throwIfAborted();
    const pod = host.pod();
    const now = pod === undefined ? undefined : wishOf(pod);
    if (now === undefined || layerWishText(now) !== job.text) throw new Ended();
    if (!runningContainers(pod as Pod).some((one) => containerIdOf(one) === wish.containerId)) throw new Ended();
    if (ranMs > copyLimitMs) throw new Error(`copying what the sandbox has changed took more than ${copyLimitMs / 60_000} minutes`);
  }
}

class Ended extends Error {
  constructor() {
    super("the sandbox does not run any more");
  }
}

function wishOf(pod: Pod): LayerWish | undefined {
  return pod.metadata.deletionTimestamp === undefined && sandboxPhaseOf(pod) === "running" ? layerWish(pod) : undefined;
}

const reasons: Partial<Record<ImageErrorCode, CheckpointFailure>> = { too_large: "TooLarge" };

function refusalOf(error: unknown): LayerAnswer {
  const why = error instanceof Error ? error.message : String(error);
  if (error instanceof Ended) return { reason: "SandboxGone", why };
  return { reason: (isImageError(error) ? reasons[error.code] : undefined) ?? "NotPossible", why };
}
