/**
 * Hands out, arms and ends sandboxes by the product's own queue, plans and writes, with the least around them: what the use cases of
 * `src/services` add (checks of requests, hooks, idempotency) is not what dies between two writes.
 */
import { randomUUID } from "node:crypto";
import type { DaemonClient } from "#daemon-client/daemon-client.ts";
import { isApiError } from "#kube/api-error.ts";
import { isLostRace } from "#kube/lost-race.ts";
import type { SandboxCache } from "#kube/sandbox-cache/sandbox-cache.ts";
import { sleep } from "#lib/clock.ts";
import { targetImages } from "#lifecycle/pool-images.ts";
import { type ReleaseDeps, releaseSandbox } from "#lifecycle/release-sandbox.ts";
import { isClaimed, sandboxIdOf, sandboxPhaseOf } from "#model/claimed-pod.ts";
import { type Pod, Pods } from "#model/pod.ts";
import { ClaimQueue, type PodRequest } from "#scheduling/claim-queue.ts";
import type { Reservation } from "#scheduling/idle-pods.ts";
import { type Claim, planClaim } from "#sandbox/claim-patch.ts";
import { liveRecordFromPod } from "#sandbox/sandbox-base.ts";
import type { Caller } from "#services/caller.ts";
import type { CreatedSandbox, CreateSandbox, SandboxService } from "#services/sandbox-service.ts";
import { ServiceError } from "#services/service-error.ts";
import { asServiceError } from "#services/service-failure.ts";
import type { HistoryStore } from "#store/history-store.ts";

export interface PlainClaimsDeps extends ReleaseDeps {
  readonly cache: SandboxCache;
  readonly daemon: DaemonClient;
  readonly history: HistoryStore;
}

interface Wanted {
  readonly caller: Caller;
  readonly command: CreateSandbox;
  readonly deadline: number;
  readonly signal: AbortSignal;
}

const retryMs = 200;
const giveBackTries = 20;

export class PlainClaims implements Pick<SandboxService, "create" | "end"> {
  readonly #deps: PlainClaimsDeps;
  readonly #queue: ClaimQueue;

  constructor(deps: PlainClaimsDeps) {
    this.#deps = deps;
    this.#queue = new ClaimQueue(deps.clock);
    deps.cache.pods.onChange((now, before) => this.#queue.observe(now, before));
  }

  async create(caller: Caller, command: CreateSandbox, { signal }: { readonly signal: AbortSignal }): Promise<CreatedSandbox> {
    const { clock } = this.#deps;
    const wanted: Wanted = { caller, command, signal, deadline: clock.now() + (command.startupTimeoutMs ?? 60_000) };
    for (;;) {
      const pod = await this.#claimed(wanted);
      if (pod === undefined) continue;
      const sandboxId = sandboxIdOf(pod) ?? "";
      const isArmed = await this.#armed(pod, sandboxId, wanted);
      const sandbox = liveRecordFromPod(pod);
      if (isArmed && sandbox !== undefined) return { sandbox };
      void this.#giveBack(pod, sandboxId);
      throw signal.aborted
        ? new ServiceError("canceled", "the caller went away")
        : new ServiceError("start_failed", "it was not armed in time");
    }
  }

  async end(_caller: Caller, sandboxId: string): Promise<void> {
    const { cache, history } = this.#deps;
    try {
      const [pod] = cache.podsOfSandbox(sandboxId);
      if (pod !== undefined) await releaseSandbox(this.#deps, pod, { sandboxId }, new AbortController().signal);
      else if ((await history.get(sandboxId, { kind: "admin" })) === undefined) throw new ServiceError("unavailable", "not known here yet");
    } catch (error) {
      throw asServiceError(error);
    }
  }

  /** Undefined when somebody else was faster. */
  async #claimed({ caller, command, deadline, signal }: Wanted): Promise<Pod | undefined> {
    const { clock, client, cache } = this.#deps;
    const [namespace = "", name = ""] = command.from.split("/");
    const images = await targetImages(this.#deps, { main: command.image ?? "registry.invalid/run:1" }, signal);
    const digest = images["main"]?.digest ?? "";
    const reservation = await this.#turn({ tenant: caller.team, pools: [{ pool: { namespace, name }, digest }], deadline, signal });
    const seen = reservation.pod;
    const { lifetimeMs } = command;
    const claim: Claim = {
      ...command,
      sandboxId: randomUUID(),
      team: caller.team,
      images,
      ...(lifetimeMs === undefined ? {} : { endTimeMs: clock.now() + lifetimeMs }),
    };
    const plan = planClaim(seen, claim, clock.now());
    try {
      if (plan.kind === "refused") return undefined;
      const pod = await client.patch(Pods, { namespace, name: seen.metadata.name ?? "" }, plan.patch);
      cache.pods.remember(pod);
      return pod;
    } catch (error) {
      if (isLostRace(error)) return undefined;
      // It may have happened all the same.
      void this.#giveBack(seen, claim.sandboxId);
      throw asServiceError(error);
    } finally {
      reservation.outdated();
    }
  }

  async #turn(request: PodRequest): Promise<Reservation> {
    const turn = await this.#queue.take(request);
    if (turn.kind === "pod") return turn.reservation;
    throw turn.kind === "canceled" ? new ServiceError("canceled", "the caller went away") : new ServiceError("no_capacity", turn.kind);
  }

  async #armed(pod: Pod, sandboxId: string, { deadline, signal }: Wanted): Promise<boolean> {
    const { clock, daemon } = this.#deps;
    const at = { ip: pod.status?.podIP ?? "", port: 1 };
    while (!signal.aborted && clock.now() < deadline) {
      try {
        if (!(await this.#carries(pod, sandboxId))) return false;
        const { podUid, bootId } = await daemon.health(at);
        // Only a boot that answered while the pod was ours is ours: the pod may have been recycled since.
        if (!(await this.#carries(pod, sandboxId))) return false;
        await daemon.init(at, { podUid, bootId, sandboxId, body: {} });
        return true;
      } catch {
        await sleep(clock, retryMs);
      }
    }
    return false;
  }

  /** Throws when it is not running yet, or nobody knows. */
  async #carries({ metadata: { namespace, name = "" } }: Pod, sandboxId: string): Promise<boolean> {
    const pod = await this.#deps.client.get(Pods, { namespace, name }).catch((error: unknown) => {
      if (isApiError(error, "NotFound")) return undefined;
      throw error;
    });
    if (pod === undefined || sandboxIdOf(pod) !== sandboxId || !isClaimed(pod)) return false;
    if (sandboxPhaseOf(pod) !== "running") throw new Error("it is still starting");
    return true;
  }

  async #giveBack(pod: Pod, sandboxId: string): Promise<void> {
    for (let left = giveBackTries; left > 0; left--) {
      try {
        await releaseSandbox(this.#deps, pod, { sandboxId, stopReason: "Canceled" }, new AbortController().signal);
        return;
      } catch {
        await sleep(this.#deps.clock, retryMs * 10);
      }
    }
  }
}
