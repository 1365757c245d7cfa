/**
 * Makes a claimed pod work for its sandbox: the signed order to its daemon (I5). Where the daemon's boot is known this is one call.
 * Else, and where the container is being exchanged, the daemon is asked at the pod's address which boot it is: that is known long before
 * any node has reported it.
 */
import { ApiError, isApiError } from "#kube/api-error.ts";
import { keyOf } from "#kube/informer/indexed-store.ts";
import { isLostRace } from "#kube/lost-race.ts";
import { type Backoff, backoffMs } from "#lib/backoff.ts";
import { sleep } from "#lib/clock.ts";
import { type DaemonAddress, DaemonError, type InitOrder } from "#daemon-client/daemon-client.ts";
import type { InitBody } from "#envd-protocol/arming.ts";
import { isClaimBeside } from "#model/claim-lease.ts";
import { isClaimed, sandboxIdOf, sandboxPhaseOf } from "#model/claimed-pod.ts";
import { isEgressApplied } from "#model/egress-policy.ts";
import { diagnosisReasons } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import { statusDetailFromPod } from "#sandbox/diagnosis.ts";
import { completionOf } from "#sandbox/inplace-completion.ts";
import { readInplaceUpdateState, targetImagesOf } from "#sandbox/inplace-state.ts";
import type { ClaimContext } from "./claim-context.ts";
import type { ClaimedPod } from "./claim-pod.ts";
import { daemonAddress } from "./daemon-address.ts";
import { isServiceError, ServiceError } from "./service-error.ts";

type ArmDeps = Pick<ClaimContext, "cache" | "daemons" | "clock" | "random">;

/** What must be true of a daemon before it may be armed. */
interface Start {
  /** Not this boot: it belongs to the container that goes. */
  readonly not: string | undefined;
  /** Only this boot: a container that was started anew meanwhile is one that failed. */
  readonly only: string | undefined;
  /** Only when the node has reported that the exchange is over. */
  readonly isReportNeeded: boolean;
  /** The container was there before: nothing has to come up first. */
  readonly isWaiting: boolean;
}

/** Nodes need not ask daemons whether they are well, so it may turn out here that one is not. */
const silenceMs = 10_000;

/** A container that is exchanged comes up within tens of milliseconds, or after a pull of minutes. */
const askAgain: Backoff = { baseMs: 10, maxMs: 250, factor: 1.4, jitter: "equal" };

/** Throws ServiceError start_failed, or the signal's reason. Resolves with the pod as it is known then. */
export async function armSandbox(deps: ArmDeps, { pod, bootId }: ClaimedPod, body: InitBody, signal: AbortSignal): Promise<Pod> {
  const start = startOf(pod, bootId);
  const arming = new Arming(deps, pod, body, signal);
  // Before its policy holds, its first program could connect to anywhere.
  const isReportNeeded = start.isReportNeeded || !isEgressApplied(pod);
  if (start.only !== undefined && !isReportNeeded) {
    if (await arming.tryInit(start.only)) return arming.now();
    await arming.look();
  }
  const since = deps.clock.now();
  for (let failures = 1; ; failures++) {
    if (await arming.tryNow(start)) return arming.now();
    const { silence } = arming;
    if (silence !== undefined && start.isWaiting && deps.clock.now() - since > silenceMs) throw startFailed(silence.message, silence);
    await sleep(deps.clock, backoffMs(askAgain, failures, deps.random), signal);
  }
}

function startOf(pod: Pod, bootId: string | undefined): Start {
  const read = readInplaceUpdateState(pod);
  const exchanged = read.kind === "state" && read.state.phase === "starting" ? Object.keys(targetImagesOf(read.state, pod)) : [];
  const first = pod.spec.containers[0]?.name ?? "";
  if (!exchanged.includes(first)) {
    return { not: undefined, only: bootId, isReportNeeded: exchanged.length > 0, isWaiting: exchanged.length === 0 };
  }
  return { not: bootId, only: undefined, isReportNeeded: bootId === undefined || exchanged.length > 1, isWaiting: false };
}

function isStarted(pod: Pod): boolean {
  return sandboxPhaseOf(pod) === "running" || completionOf(pod).kind === "completed";
}

/** One pod on its way to be armed. */
class Arming {
  readonly #deps: ArmDeps;
  readonly #claimed: Pod;
  readonly #body: InitBody;
  readonly #signal: AbortSignal;
  readonly #at: DaemonAddress;
  /** The boot that did not take an order which was signed for it. */
  #refusedBy: string | undefined;
  /** Why nobody answered, the last time. */
  silence: DaemonError | undefined;

  constructor(deps: ArmDeps, claimed: Pod, body: InitBody, signal: AbortSignal) {
    this.#deps = deps;
    this.#claimed = claimed;
    this.#body = body;
    this.#signal = signal;
    this.#at = daemonAddress(claimed);
  }

  /** The pod as it is known now, if it is still ours and may yet come up. */
  now(): Pod {
    const pod = this.#deps.cache.pods.get(keyOf(this.#claimed));
    if (pod === undefined || pod.metadata.uid !== this.#claimed.metadata.uid) throw podGone();
    if (!isClaimed(pod) || sandboxIdOf(pod) !== sandboxIdOf(this.#claimed)) throw startFailed("it was ended before it was ready");
    const detail = statusDetailFromPod(pod);
    if (detail !== undefined && !mayPass.has(detail.reason)) throw startFailed(`${detail.reason}: ${detail.message}`);
    return pod;
  }

  /** A claim that stands beside its pod was taken whatever had become of the pod. Throws when that is gone or going, by the server's word. */
  async look(): Promise<void> {
    if (!isClaimBeside(this.#claimed)) return;
    const { cache } = this.#deps;
    try {
      const { uid, deletionTimestamp } = (await cache.readPod(cache.client, keyOf(this.#claimed), this.#signal)).metadata;
      if (uid !== this.#claimed.metadata.uid || deletionTimestamp !== undefined) throw podGone();
    } catch (error) {
      if (isApiError(error, "NotFound")) throw podGone(error);
      // A server that does not answer says nothing about the pod.
      if (!isApiError(error)) throw error;
    }
  }

  /** True once the daemon that is meant is up and armed. */
  async tryNow({ not, only, isReportNeeded }: Start): Promise<boolean> {
    const pod = this.now();
    if ((isReportNeeded && !isStarted(pod)) || !isEgressApplied(pod)) return false;
    const bootId = await this.#health();
    if (bootId === undefined || bootId === not) return false;
    if (only !== undefined && bootId !== only) throw startedAnew();
    return this.tryInit(bootId);
  }

  /** Which boot answers; undefined when none of this pod does. */
  async #health(): Promise<string | undefined> {
    try {
      const { podUid, bootId } = await this.#deps.daemons.health(this.#at, { signal: this.#signal });
      this.silence = undefined;
      // Addresses are used again: who answers may be another pod by now.
      if (podUid !== this.#claimed.metadata.uid) return undefined;
      if (bootId === this.#refusedBy) throw startFailed("its daemon does not take orders that this control plane signs");
      return bootId;
    } catch (error) {
      return this.#passOver(error);
    }
  }

  /** False when it may succeed later, with this boot or with another one. */
  async tryInit(bootId: string): Promise<boolean> {
    const { uid: podUid = "" } = this.#claimed.metadata;
    const order: InitOrder = { podUid, bootId, sandboxId: sandboxIdOf(this.#claimed) ?? "", body: this.#body };
    try {
      await this.#deps.daemons.init(this.#at, order, { signal: this.#signal });
      return true;
    } catch (error) {
      if (error instanceof DaemonError && error.failure === "other-boot") this.#refusedBy = bootId;
      this.#passOver(error);
      return false;
    }
  }

  /** What was said by a daemon that another try will not change goes on; a daemon that is not up yet is asked again. */
  #passOver(error: unknown): undefined {
    if (!(error instanceof DaemonError)) throw error;
    if (error.failure === "taken" || error.failure === "refused") throw startFailed(error.message, error);
    this.silence = error.failure === "unreachable" ? error : undefined;
  }
}

/**
 * Taken: the pod was armed for a sandbox that had ended before. Unwell: its daemon did not answer, or was started anew while it waited. It goes
 * back and is cleaned, and another one may do. Gone: it was not there any more when the claim came to it.
 */
export function faultOfPod(error: unknown): "taken" | "unwell" | "gone" | undefined {
  if (!isServiceError(error, "start_failed")) return undefined;
  if (isLostRace(error.cause)) return "gone";
  if (!(error.cause instanceof DaemonError)) return undefined;
  const { failure } = error.cause;
  return failure === "taken" ? "taken" : failure === "refused" ? undefined : "unwell";
}

/** What a start may show and still come to a good end before its deadline. */
const mayPass: ReadonlySet<string> = new Set([diagnosisReasons.pulling, diagnosisReasons.errImagePull, diagnosisReasons.unschedulable]);

function startedAnew(): ServiceError {
  const why = "its container ended and was started anew";
  return startFailed(why, new DaemonError("other-boot", why));
}

/** Of no pod that another one could not take the place of. */
function podGone(cause: ApiError = new ApiError("NotFound", "its pod is gone")): ServiceError {
  return startFailed("its pod is gone", cause);
}

export function startFailed(why: string, cause?: unknown): ServiceError {
  return new ServiceError("start_failed", `the sandbox did not come up: ${why}`, cause === undefined ? {} : { cause });
}
