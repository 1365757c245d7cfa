/**
 * The log of a sandbox's container since the claim. A recycled pod has a new container, so its log belongs to this sandbox only. A container that waited
 * with the run image (fast path) wrote lines before its claim, without a user. Both are cut off at the claim, so that a sandbox never shows foreign
 * output. The log of the previous container is never read: it belonged to another sandbox.
 *
 * Of an ended sandbox, what was kept of its log is read (life/record/keep-log.ts).
 */
import { ChildAbort } from "#lib/abortable.ts";
import type { Clock, Timer } from "#lib/clock.ts";
import { keyOf } from "#kube/informer/indexed-store.ts";
import type { PodAccess } from "#kube/pod-access.ts";
import { withoutUndefined } from "#lib/without-undefined.ts";
import type { Pod } from "#model/pod.ts";
import { isResting, sandboxIdOf } from "#model/claimed-pod.ts";
import { claimTime, liveStatusOf } from "#sandbox/sandbox-base.ts";
import type { HistoryStore } from "#store/history-store.ts";
import { type Caller, owns, scopeOf } from "#services/caller.ts";
import { type CarriedDeps, carriedPod, containerIn, podByServer } from "#services/inside/carried-pod.ts";
import { findPod, findSandbox } from "./find-sandbox.ts";
import type { LiveSandboxes } from "./live-sandboxes.ts";
import type { LogRequest } from "#services/sandbox-service.ts";
import { ServiceError } from "#services/service-error.ts";
import { asServiceError, translated } from "#services/service-failure.ts";

export interface LogDeps extends CarriedDeps {
  readonly pods: Pick<PodAccess, "readLogs">;
  readonly live: Pick<LiveSandboxes, "follow">;
  readonly history: Pick<HistoryStore, "get" | "logs">;
  readonly clock: Clock;
}

const nothingYet = Buffer.alloc(0);

/** All that runs in a pod that comes to rest is ended right afterwards; what it says then is still the sandbox's. */
const lastWordsMs = 2_000;

/** An empty piece comes first, once it is known that there is such a sandbox and container (W13). */
export async function* sandboxLogs(deps: LogDeps, caller: Caller, sandboxId: string, request: LogRequest): AsyncGenerator<Buffer, void> {
  const { signal } = request;
  const kept = await keptLog(deps, caller, sandboxId, request);
  if (kept !== undefined) {
    yield nothingYet;
    yield kept;
    return;
  }
  const pod = await carriedPod(deps, { caller, sandboxId, wish: "reading its log" }, request.follow ?? signal);
  const container = containerIn(pod, request.container);
  yield nothingYet;
  using following = new Following(deps, caller, sandboxId, request.follow);
  const { follow } = following;
  const sinceMs = Math.min(request.sinceMs ?? Infinity, sinceClaim(pod, deps.clock));
  const { tail } = request;
  let isOurs = false;
  try {
    for await (const piece of deps.pods.readLogs({ pod: keyOf(pod), container, sinceMs, ...withoutUndefined({ tail, follow, signal }) })) {
      // Between checking the pod and opening its log, the pod may have got another sandbox. The log was opened before this second check, so if the pod
      // still has the sandbox, the log is its own.
      isOurs ||= await isStillCarried(deps, caller, sandboxId, pod);
      if (!isOurs) throw new ServiceError("conflict", `sandbox ${sandboxId} has ended meanwhile: its log can no longer be read`);
      yield piece;
    }
  } catch (error) {
    if (follow?.aborted !== true && signal?.aborted !== true) throw asServiceError(error);
  }
}

/** Undefined for a sandbox that has not ended, and for one of which nothing was kept. */
async function keptLog(deps: LogDeps, caller: Caller, sandboxId: string, request: LogRequest): Promise<Buffer | undefined> {
  const { record } = await findSandbox(deps, caller, sandboxId);
  const kept = record && (await translated(deps.history.logs.get(sandboxId, scopeOf(caller))));
  if (kept === undefined) return undefined;
  if (request.sinceMs !== undefined) {
    throw new ServiceError("invalid_request", "the kept log of an ended sandbox has no times: use tail", { field: "since" });
  }
  if (request.container !== undefined && request.container !== kept.container) {
    const message = `of an ended sandbox only the log of its first container is kept, ${kept.container}`;
    throw new ServiceError("invalid_request", message, { field: "container", available: [kept.container] });
  }
  return lastLines(kept.text, request.tail ?? Infinity);
}

function lastLines(text: Buffer, count: number): Buffer {
  let from = text.length;
  // A line end at the very end belongs to the last line.
  for (let lines = 0, at = text.length - 1; lines < count && at >= 0; lines++) {
    at = at === 0 ? -1 : text.lastIndexOf(10, at - 1);
    from = at + 1;
  }
  return text.subarray(from);
}

/** Also while it stops: its last words are its own. */
async function isStillCarried(deps: LogDeps, caller: Caller, sandboxId: string, seen: Pod): Promise<boolean> {
  const pod = await podByServer(deps, seen);
  return pod !== undefined && sandboxIdOf(pod) === sandboxId && liveStatusOf(pod) !== undefined && owns(caller, pod);
}

function sinceClaim(pod: Pod, clock: Clock): number {
  return Math.max(0, clock.now() - Date.parse(claimTime(pod)));
}

/** Following ends with the sandbox, whatever goes on in its pod: one that rests keeps the container, and its log, for minutes. */
class Following implements Disposable {
  readonly follow: AbortSignal | undefined;
  readonly #abort: ChildAbort | undefined;
  readonly #unfollow: () => void = () => {};
  #lastWords: Timer | undefined;

  constructor(deps: LogDeps, caller: Caller, sandboxId: string, wished: AbortSignal | undefined) {
    if (wished === undefined) return;
    const abort = new ChildAbort(wished);
    this.#abort = abort;
    this.follow = abort.signal;
    const end = (): void => abort.abort(new Error("the sandbox has ended"));
    const look = (): void => {
      const pod = findPod(deps, caller, sandboxId);
      if (pod === undefined) end();
      else if (isResting(pod)) this.#lastWords ??= deps.clock.after(lastWordsMs, end);
    };
    this.#unfollow = deps.live.follow(sandboxId, look);
    // The caller may have waited long since the last check.
    look();
  }

  [Symbol.dispose](): void {
    this.#lastWords?.cancel();
    this.#unfollow();
    this.#abort?.[Symbol.dispose]();
  }
}
