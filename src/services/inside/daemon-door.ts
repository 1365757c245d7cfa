/** The daemon of a caller's sandbox: found by the server's word, asked with the sandbox's token, and every request counts as use. */
import type { DaemonClient } from "#daemon-client/daemon-client.ts";
import type { OpenPodStream, PodStream, PodStreamRequest } from "#daemon-client/pod-stream.ts";
import { GrowingBuffer } from "#lib/growing-buffer.ts";
import { sandboxPhaseOf } from "#model/claimed-pod.ts";
import { isFrozen, pauseWish } from "#model/pause.ts";
import type { Pod } from "#model/pod.ts";
import { interpreterPortOf } from "#sandbox/pods/runtimes.ts";
import { type CarriedDeps, carriedPod, type Wanted } from "./carried-pod.ts";
import { daemonAddress } from "#life/arm/ask-daemon.ts";
import type { ExecActivity } from "./exec-activity.ts";
import { isArmed } from "#life/arm/ask-daemon.ts";
import type { SandboxTokens } from "#services/creating/sandbox-tokens.ts";
import { ServiceError } from "../service-error.ts";

export interface DoorDeps extends CarriedDeps {
  readonly activity: Pick<ExecActivity, "begin">;
  readonly tokens: Pick<SandboxTokens, "accessTokenOf">;
  readonly daemons: Pick<DaemonClient, "health">;
  readonly openStream: OpenPodStream;
}

export interface DaemonDoor extends Disposable {
  /** Resolves with the head of the answer. `port`: of the daemon itself when left out. */
  ask(request: PodStreamRequest, signal: AbortSignal, port?: number): Promise<PodStream>;
  /** Where the code interpreter listens; undefined: the template has none. */
  readonly interpreterPort: number | undefined;
}

export async function openDoor(deps: DoorDeps, wanted: Wanted, signal: AbortSignal): Promise<DaemonDoor> {
  const { sandboxId, wish } = wanted;
  const pod = await carriedPod(deps, wanted, signal);
  await refuseUnready(deps, pod, wanted, signal);
  const token = deps.tokens.accessTokenOf(sandboxId);
  const end = deps.activity.begin(sandboxId);
  return {
    interpreterPort: interpreterPortOf(pod),
    ask: async (request, until, port) => {
      const at = { ...daemonAddress(pod), ...(port !== undefined && { port }) };
      const headers = { "x-access-token": token, ...request.headers };
      try {
        return await deps.openStream(at, { ...request, headers }, until);
      } catch (error) {
        if (until.aborted) throw until.reason;
        const message = `the daemon of sandbox ${sandboxId} does not answer, so ${wish} is not possible now; try again`;
        throw new ServiceError("unavailable", message, { retryAfterSeconds: 1, cause: error });
      }
    },
    [Symbol.dispose]: end,
  };
}

async function refuseUnready({ daemons }: DoorDeps, pod: Pod, { sandboxId, wish }: Wanted, signal: AbortSignal): Promise<void> {
  if (isFrozen(pod) || pauseWish(pod) !== undefined) {
    throw new ServiceError(
      "conflict",
      `sandbox ${sandboxId} is paused: ${wish} is possible once it is resumed (agentbox resume ${sandboxId})`,
    );
  }
  if (sandboxPhaseOf(pod) === "running" || (await isArmed(daemons, pod, sandboxId, signal))) return;
  throw new ServiceError("conflict", `sandbox ${sandboxId} is starting: ${wish} is possible once it runs`);
}

/** Of a user of the sandbox; the daemon's default user when left out. */
export function asUser(user: string | undefined): Readonly<Record<string, string>> {
  return user === undefined ? {} : { authorization: `Basic ${Buffer.from(`${user}:`).toString("base64")}` };
}

/** The beginning of a body, for answers that are read whole. Throws too_large beyond `limit`. */
export async function bodyOf({ body }: PodStream, limit: number): Promise<Buffer> {
  const answer = new GrowingBuffer();
  for await (const chunk of body) {
    if (answer.size + chunk.length > limit)
      throw new ServiceError("too_large", `the sandbox's daemon answered more than ${limit} bytes: ask for less`);
    answer.add(chunk);
  }
  return answer.bytes();
}

const messageLimit = 64 * 1024;

/** What the daemon refused, in its words, which are about the caller's own sandbox; `subject` is said where they do not name it. */
export async function refusalOf(answer: PodStream, subject = ""): Promise<ServiceError> {
  const text = (await bodyOf(answer, messageLimit).catch(() => Buffer.alloc(0))).toString("utf8");
  const { status } = answer;
  const code =
    status === 404 ? "not_found" : status === 413 || status === 507 ? "too_large" : status >= 500 ? "unavailable" : "invalid_request";
  const message = messageIn(text) ?? `the sandbox's daemon answered ${status}`;
  return new ServiceError(code, message.includes(subject) ? message : `${subject}: ${message}`);
}

function messageIn(text: string): string | undefined {
  try {
    const { message } = JSON.parse(text) as { readonly message?: unknown };
    return typeof message === "string" && message !== "" ? message : undefined;
  } catch {
    return text === "" ? undefined : text.slice(0, 1000);
  }
}
