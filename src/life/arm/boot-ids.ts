/**
 * Asks the daemon of each idle pod for its boot before a request wants the pod, so that arming is one call. The answer is only a hint: if it is wrong or
 * missing, arming asks the daemon itself. This also finds pods that only look idle: a daemon that was armed too late, for a sandbox that had ended, cannot
 * serve another one.
 */
import { type Backoff, backoffMs, type Random } from "#lib/backoff.ts";
import { type Clock, sleep } from "#lib/clock.ts";
import { Limiter } from "#lib/limiter.ts";
import type { DaemonClient, DaemonHealth } from "#daemon-client/daemon-client.ts";
import { keyOf } from "#kube/informer/indexed-store.ts";
import type { Logger } from "#lib/log.ts";
import { type DeletePodDeps, deletePodAsSeen } from "#life/delete-pod.ts";
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import type { Pod } from "#model/pod.ts";
import { whyNotClaimable } from "#sandbox/claimable.ts";
import { daemonAddress } from "./ask-daemon.ts";

export interface BootIdsDeps {
  readonly daemons: Pick<DaemonClient, "health">;
  readonly clock: Clock;
  readonly random: Random;
  /** Called with a pod that was idle when it was asked, but whose daemon is armed for a sandbox. */
  readonly onArmed: (pod: Pod) => void;
}

interface Asked {
  /** Of the sandbox's container: another one is another boot. */
  readonly containerId: string;
  readonly abort: AbortController;
  bootId: string | undefined;
}

/** After a start of ours every idle pod is asked: not all at once. */
const askedAtOnce = 16;
const maxTries = 6;
const tryAgain: Backoff = { baseMs: 50, maxMs: 5000, jitter: "equal" };

export class BootIds {
  readonly #deps: BootIdsDeps;
  readonly #asked = new Map<string, Asked>();
  readonly #limiter = new Limiter(askedAtOnce);
  readonly #underWay = new Set<Promise<void>>();
  #isStopped = false;

  constructor(deps: BootIdsDeps) {
    this.#deps = deps;
  }

  /** Every change of every pod. */
  observe(now: Pod | undefined, before: Pod | undefined): void {
    const uid = (now ?? before)?.metadata.uid;
    if (uid === undefined || this.#isStopped) return;
    const containerId = now === undefined || whyNotClaimable(now) !== undefined ? undefined : sandboxContainer(now);
    const asked = this.#asked.get(uid);
    if (asked?.containerId === containerId) return;
    this.#forget(uid, asked);
    if (now !== undefined && containerId !== undefined) this.#ask(uid, now, containerId);
  }

  of(pod: Pod): string | undefined {
    const asked = this.#asked.get(pod.metadata.uid ?? "");
    return asked !== undefined && asked.containerId === sandboxContainer(pod) ? asked.bootId : undefined;
  }

  /** Asks the daemon itself if need be. Undefined when it does not answer. */
  async find(pod: Pod, signal: AbortSignal): Promise<string | undefined> {
    return this.of(pod) ?? (await this.#health(pod, signal))?.bootId;
  }

  /** Resolves when all questions have ended. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const [uid, asked] of this.#asked) this.#forget(uid, asked);
    await Promise.all(this.#underWay);
  }

  #forget(uid: string, asked: Asked | undefined): void {
    // Most daemons have been asked already, and this is part of every claim: do nothing for them.
    if (asked?.bootId === undefined) asked?.abort.abort(new Error("the pod is not idle any more"));
    this.#asked.delete(uid);
  }

  #ask(uid: string, pod: Pod, containerId: string): void {
    const asked: Asked = { containerId, abort: new AbortController(), bootId: undefined };
    this.#asked.set(uid, asked);
    // Not awaited. A pod that is deleted before it answers needs no message.
    const asking = this.#learn(pod, asked).catch(() => {});
    this.#underWay.add(asking);
    void asking.finally(() => this.#underWay.delete(asking));
  }

  async #learn(pod: Pod, asked: Asked): Promise<void> {
    const { clock, random, onArmed } = this.#deps;
    const { signal } = asked.abort;
    for (let tries = 1; tries <= maxTries && !signal.aborted; tries++) {
      const health = await this.#limiter.run(() => this.#health(pod, signal));
      if (health !== undefined) {
        asked.bootId = health.bootId;
        if (health.sandboxId !== undefined && !signal.aborted) onArmed(pod);
        return;
      }
      await sleep(clock, backoffMs(tryAgain, tries, random), signal);
    }
  }

  /** Undefined for no answer, and for that of another pod which has the address by now. */
  async #health(pod: Pod, signal: AbortSignal): Promise<DaemonHealth | undefined> {
    if (signal.aborted) return undefined;
    try {
      const health = await this.#deps.daemons.health(daemonAddress(pod), { signal });
      return health.podUid === pod.metadata.uid ? health : undefined;
    } catch {
      return undefined;
    }
  }
}

function sandboxContainer({ spec, status }: Pod): string | undefined {
  const name = spec.containers[0]?.name;
  return status?.containerStatuses?.find((container) => container.name === name)?.containerID;
}

export interface DeleteArmedDeps extends DeletePodDeps {
  readonly cache: Pick<SandboxCache, "pods" | "claims">;
  readonly log: Logger;
}

/**
 * An idle pod whose daemon is armed got the order too late, for a sandbox that has ended. It would refuse every other sandbox, so the pod is deleted,
 * conditional on the current state: a pod that was claimed and armed in the meantime is not idle any more, and stays (I4).
 */
export async function deleteArmedIdle(deps: DeleteArmedDeps, asked: Pod): Promise<void> {
  const { cache, log } = deps;
  const pod = cache.pods.get(keyOf(asked));
  if (pod === undefined || pod.metadata.uid !== asked.metadata.uid || whyNotClaimable(pod) !== undefined) return;
  try {
    if (await deletePodAsSeen(deps, pod)) log.warn({ pod: pod.metadata.name }, "an idle pod was armed for an ended sandbox; it is deleted");
  } catch (error) {
    // A create that claims it meanwhile is told by its daemon, and tries another pod.
    log.warn({ pod: pod.metadata.name, error }, "an idle pod that is armed could not be deleted");
  }
}
