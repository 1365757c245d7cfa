/**
 * Resumes sandboxes that checkpoints have (model/deep-pause.ts). Only one process at a time may claim a pod for one, and says so in the checkpoint with a conditional
 * write; a second write, after the claim and before anything runs, makes sure that it still may. So an id is never live twice, however late a process is.
 */
import { keyOf } from "#kube/informer/indexed-store.ts";
import { isLostRace } from "#kube/lost-race.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import { byServer, giveUpCheckpoint, writeStatus } from "#life/record/deep-pauses.ts";
import { abortable } from "#lib/abortable.ts";
import type { Clock } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import type { Checkpoint } from "#model/checkpoint.ts";
import { isClaimed, sandboxIdOf } from "#model/claimed-pod.ts";
import { isDeepPaused } from "#model/deep-pause.ts";
import { annotationKeys } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import { randomUUID } from "node:crypto";
import type { Caller } from "#services/caller.ts";
import { ownerOf } from "#services/creating/same-again.ts";
import type { SandboxClaims } from "#services/creating/sandbox-claims.ts";
import { noSuchSandbox } from "#services/reading/find-sandbox.ts";
import type { SandboxView } from "#services/sandbox-service.ts";
import { ServiceError } from "#services/service-error.ts";
import { asServiceError, translated } from "#services/service-failure.ts";
import { type ChangeDeps, changeSandbox } from "./change-sandbox.ts";
import { timeLeft } from "./time-left.ts";

export interface DeepResumeDeps extends ChangeDeps {
  readonly client: ObjectClient;
  readonly cache: SandboxCache;
  readonly claims: Pick<SandboxClaims, "resumeOnPod">;
  /** How many processes make sandboxes, this one included; 1 when left out. */
  readonly processes?: (() => number) | undefined;
  readonly clock: Clock;
  readonly log: Logger;
}

/** A resume of another process that has not claimed a pod for so long belongs to a process that has ended. */
const abandonedMs = 30_000;

export class DeepResumes {
  readonly #deps: DeepResumeDeps;
  readonly #process = randomUUID();
  /** By sandbox: callers that come meanwhile wait for the same. */
  readonly #underWay = new Map<string, Promise<SandboxView>>();
  /** Resumes of other processes, and whether they are abandoned. */
  readonly #others = new Map<string, boolean>();

  constructor(deps: DeepResumeDeps) {
    this.#deps = deps;
  }

  /** `paused`: as the checkpoint has it, or its pod for as long as the resume is under way. It is completed even if its caller disconnects. Throws ServiceError. */
  async resume(caller: Caller, paused: Pod, signal: AbortSignal): Promise<SandboxView> {
    const sandboxId = sandboxIdOf(paused) ?? "";
    let resuming = this.#underWay.get(sandboxId);
    if (resuming === undefined) {
      // A pod has it already, for a resume of another process: whether it will run nothing knows yet.
      if (!isDeepPaused(paused)) throw underWay();
      resuming = this.#resume(caller, paused, sandboxId).finally(() => this.#underWay.delete(sandboxId));
      this.#underWay.set(sandboxId, resuming);
      // Its callers may all be gone.
      resuming.catch(() => {});
    }
    return abortable(resuming, signal);
  }

  async #resume(caller: Caller, paused: Pod, sandboxId: string): Promise<SandboxView> {
    const { claims, log, clock } = this.#deps;
    const held = await this.#take(keyOf(paused), sandboxId);
    try {
      let confirmed = held;
      const confirm = async (pod: Pod): Promise<void> => {
        confirmed = await this.#write(held, { resume: { by: held.status?.resume?.by ?? "", pod: pod.metadata.name ?? "" } });
      };
      const lifetimeMs = timeLeft(paused, clock.now());
      const created = await claims.resumeOnPod(ownerOf(caller, paused), { sandboxId, checkpoint: held, paused, lifetimeMs, confirm });
      await this.#finish(caller, sandboxId, confirmed);
      return created.sandbox;
    } catch (error) {
      await this.#leave(held).catch((failure: unknown) => log.warn({ sandboxId, error: failure }, "a resume that failed is still noted"));
      throw asServiceError(error);
    }
  }

  /** The checkpoint, for this resume alone. */
  async #take(key: { readonly namespace?: string | undefined; readonly name: string }, sandboxId: string): Promise<Checkpoint> {
    const { client, cache } = this.#deps;
    const checkpoint = await translated(byServer({ client }, key));
    if (checkpoint === undefined || checkpoint.metadata.deletionTimestamp !== undefined) throw noSuchSandbox(sandboxId);
    if (checkpoint.status?.sandboxEnded !== undefined) throw new ServiceError("conflict", `sandbox ${sandboxId} has ended`);
    const { by } = checkpoint.status?.resume ?? {};
    if (by !== undefined && !this.#isAbandoned(by)) throw underWay();
    await translated(cache.refreshSandbox(client, sandboxId));
    if (cache.podsOfSandbox(sandboxId).some(isClaimed)) throw underWay();
    // It may be that its pod has just been given back, and nothing has noted it yet.
    return this.#write(checkpoint, { holdsSandbox: true, resume: { by: `${this.#process}/${randomUUID()}` } });
  }

  /** Our own are over, or this one would have waited for them; so are those of a process that was here before us. */
  #isAbandoned(by: string): boolean {
    if (by.startsWith(`${this.#process}/`) || (this.#deps.processes?.() ?? 1) === 1) return true;
    const known = this.#others.get(by);
    if (known !== undefined) return known;
    this.#others.set(by, false);
    this.#deps.clock.after(abandonedMs, () => this.#others.set(by, true));
    this.#deps.clock.after(2 * abandonedMs, () => this.#others.delete(by));
    return false;
  }

  /** Now the pod has the sandbox. What this does not get to, the checkpoint's controller does. */
  async #finish(caller: Caller, sandboxId: string, { metadata }: Checkpoint): Promise<void> {
    const { client, cache, log } = this.#deps;
    const wanted = { caller, sandboxId, wish: "resuming it" };
    try {
      await changeSandbox(this.#deps, wanted, (pod) =>
        pod.metadata.annotations?.[annotationKeys.resumedFrom] === undefined
          ? undefined
          : { removeAnnotations: [annotationKeys.resumedFrom] },
      );
      await giveUpCheckpoint({ client, cache }, { namespace: metadata.namespace, name: metadata.name ?? "" });
    } catch (error) {
      log.warn({ sandboxId, checkpoint: metadata.name, error }, "a sandbox was resumed, and its checkpoint is still there");
    }
  }

  async #leave(held: Checkpoint): Promise<void> {
    const { client, cache } = this.#deps;
    const now = await byServer({ client }, { namespace: held.metadata.namespace, name: held.metadata.name ?? "" });
    if (now !== undefined && now.status?.resume?.by === held.status?.resume?.by)
      await writeStatus({ client, cache }, now, { resume: null });
  }

  async #write(checkpoint: Checkpoint, status: Partial<NonNullable<Checkpoint["status"]>>): Promise<Checkpoint> {
    const { client, cache } = this.#deps;
    try {
      return await writeStatus({ client, cache }, checkpoint, status);
    } catch (error) {
      throw isLostRace(error) ? underWay() : asServiceError(error);
    }
  }
}

function underWay(): ServiceError {
  return new ServiceError("conflict", "resume is not possible now: another resume or the end of this sandbox is under way", {
    retryAfterSeconds: 1,
  });
}
