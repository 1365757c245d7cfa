/**
 * Makes a claimed pod work for its sandbox: the signed order to its daemon (I5). Where the daemon's boot is known this is one call.
 * Else, and where the container is being exchanged, the daemon is asked at the pod's address which boot it is: that is known long before
 * any node has reported it.
 */
import { type DaemonAddress, type DaemonClient, DaemonError, type InitOrder } from "#daemon-client/daemon-client.ts";
import type { InitBody } from "#envd-protocol/arming.ts";
import { isApiError } from "#kube/api-error.ts";
import { keyOf } from "#kube/informer/indexed-store.ts";
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import { type Backoff, backoffMs, type Random } from "#lib/backoff.ts";
import { type Clock, sleep } from "#lib/clock.ts";
import type { ClaimedPod } from "#life/claim/claim-pod.ts";
import { isClaimElsewhere } from "#model/shown-pod.ts";
import { isClaimed, sandboxIdOf, sandboxPhaseOf } from "#model/claimed-pod.ts";
import { isEgressApplied } from "#model/egress-policy.ts";
import { areVolumesMounted, mountRefusal } from "#model/volume-mounts.ts";
import { diagnosisReasons } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import { statusDetailFromPod } from "#sandbox/health/diagnosis.ts";
import { completionOf } from "#sandbox/images/inplace-completion.ts";
import { readInplaceUpdateState, targetImagesOf } from "#sandbox/images/inplace-state.ts";
import { daemonAddress } from "./ask-daemon.ts";

export interface ArmDeps {
  readonly cache: Pick<SandboxCache, "pods" | "readPod" | "client">;
  readonly daemons: Pick<DaemonClient, "health" | "init">;
  readonly clock: Clock;
  readonly random: Random;
}

export type ArmOutcome = { readonly kind: "armed"; readonly pod: Pod } | StartFailure;

/**
 * What kept the sandbox from starting. Another pod may do when this one is `taken` (armed for a sandbox that had ended before), `unwell` (its
 * daemon did not answer, or was started anew while it waited) or `gone`. `none`: the pod is not what is wrong.
 */
export interface StartFailure {
  readonly kind: "failed";
  readonly fault: PodFault | "none";
  readonly why: string;
  readonly cause?: unknown;
}

export type PodFault = "taken" | "unwell" | "gone";

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

/** `later`: the same try may succeed a moment later. */
type Step = { readonly kind: "armed" } | { readonly kind: "later" } | StartFailure;

/** Nodes need not ask daemons whether they are well, so it may turn out here that one is not. */
const silenceMs = 10_000;

/** A container that is exchanged comes up within tens of milliseconds, or after a pull of minutes. */
const askAgain: Backoff = { baseMs: 10, maxMs: 250, factor: 1.4, jitter: "equal" };

/** With the pod as it is known then. Throws the signal's reason. */
export async function armSandbox(deps: ArmDeps, { pod, bootId }: ClaimedPod, body: InitBody, signal: AbortSignal): Promise<ArmOutcome> {
  const start = startOf(pod, bootId);
  const arming = new Arming(deps, pod, body, signal);
  let step: Step = { kind: "later" };
  const isReportNeeded = start.isReportNeeded || !isNodeDone(pod);
  if (start.only !== undefined && !isReportNeeded) {
    step = await arming.tryInit(start.only);
    if (step.kind === "later") step = (await arming.look()) ?? step;
  }
  const since = deps.clock.now();
  for (let failures = 1; step.kind === "later"; failures++) {
    step = await arming.tryNow(start);
    if (step.kind !== "later") break;
    const { silence } = arming;
    if (silence !== undefined && start.isWaiting && deps.clock.now() - since > silenceMs) return failed("unwell", silence.message, silence);
    await sleep(deps.clock, backoffMs(askAgain, failures, deps.random), signal);
  }
  return step.kind === "failed" ? step : arming.armed();
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

/** Before its policy holds, its first program could connect to anywhere; before its volumes are mounted, it would write beside them. */
function isNodeDone(pod: Pod): boolean {
  return isEgressApplied(pod) && areVolumesMounted(pod);
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
  /** Why no daemon answered, the last time. */
  silence: DaemonError | undefined;

  constructor(deps: ArmDeps, claimed: Pod, body: InitBody, signal: AbortSignal) {
    this.#deps = deps;
    this.#claimed = claimed;
    this.#body = body;
    this.#signal = signal;
    this.#at = daemonAddress(claimed);
  }

  /** The pod as it is known now, if it still carries the sandbox and may yet come up. */
  armed(): ArmOutcome {
    const pod = this.#deps.cache.pods.get(keyOf(this.#claimed));
    if (pod === undefined || pod.metadata.uid !== this.#claimed.metadata.uid) return podGone();
    if (!isClaimed(pod) || sandboxIdOf(pod) !== sandboxIdOf(this.#claimed)) return failed("none", "it was ended before it was ready");
    const detail = statusDetailFromPod(pod);
    const notMounted = mountRefusal(pod);
    if (notMounted !== undefined) return failed("none", notMounted);
    if (detail !== undefined && !mayPass.has(detail.reason)) return failed("none", `${detail.reason}: ${detail.message}`);
    return { kind: "armed", pod };
  }

  /** A claim that is written elsewhere succeeds even if its pod is gone or being deleted. Asks the server, and returns that as a failure. */
  async look(): Promise<StartFailure | undefined> {
    if (!isClaimElsewhere(this.#claimed)) return undefined;
    const { cache } = this.#deps;
    try {
      const { uid, deletionTimestamp } = (await cache.readPod(cache.client, keyOf(this.#claimed), this.#signal)).metadata;
      return uid === this.#claimed.metadata.uid && deletionTimestamp === undefined ? undefined : podGone();
    } catch (error) {
      if (isApiError(error, "NotFound")) return podGone(error);
      // A server that does not answer says nothing about the pod.
      if (!isApiError(error)) throw error;
      return undefined;
    }
  }

  /** Arms the daemon that is meant, once it is up. */
  async tryNow({ not, only, isReportNeeded }: Start): Promise<Step> {
    const known = this.armed();
    if (known.kind === "failed") return known;
    const { pod } = known;
    if ((isReportNeeded && !isStarted(pod)) || !isNodeDone(pod)) return { kind: "later" };
    const health = await this.#boot();
    if (health.kind !== "boot") return health;
    const { bootId } = health;
    if (bootId === undefined || bootId === not) return { kind: "later" };
    if (only !== undefined && bootId !== only) return failed("unwell", "its container ended and was started anew");
    return this.tryInit(bootId);
  }

  /** Which boot answers; undefined when none of this pod does. */
  async #boot(): Promise<{ readonly kind: "boot"; readonly bootId: string | undefined } | Step> {
    try {
      const { podUid, bootId } = await this.#deps.daemons.health(this.#at, { signal: this.#signal });
      this.silence = undefined;
      // Addresses are used again: the daemon that answers may be another pod's by now.
      if (podUid !== this.#claimed.metadata.uid) return { kind: "boot", bootId: undefined };
      if (bootId === this.#refusedBy) return failed("none", "its daemon does not take orders that this control plane signs");
      return { kind: "boot", bootId };
    } catch (error) {
      return this.#afterError(error);
    }
  }

  async tryInit(bootId: string): Promise<Step> {
    const { uid: podUid = "" } = this.#claimed.metadata;
    const order: InitOrder = { podUid, bootId, sandboxId: sandboxIdOf(this.#claimed) ?? "", body: this.#body };
    try {
      await this.#deps.daemons.init(this.#at, order, { signal: this.#signal });
      return { kind: "armed" };
    } catch (error) {
      if (error instanceof DaemonError && error.failure === "other-boot") this.#refusedBy = bootId;
      return this.#afterError(error);
    }
  }

  /** A daemon that is not up yet is asked again; what it says and another try will not change is a failure. */
  #afterError(error: unknown): Step {
    if (!(error instanceof DaemonError)) throw error;
    if (error.failure === "taken") return failed("taken", error.message, error);
    if (error.failure === "refused") return failed("none", error.message, error);
    this.silence = error.failure === "unreachable" ? error : undefined;
    return { kind: "later" };
  }
}

/** What a start may show and still come to a good end before its deadline. */
const mayPass: ReadonlySet<string> = new Set([diagnosisReasons.pulling, diagnosisReasons.errImagePull, diagnosisReasons.unschedulable]);

/** Another pod can take its place. */
function podGone(cause?: unknown): StartFailure {
  return failed("gone", "its pod is gone", cause);
}

function failed(fault: StartFailure["fault"], why: string, cause?: unknown): StartFailure {
  return { kind: "failed", fault, why, ...(cause === undefined ? {} : { cause }) };
}
