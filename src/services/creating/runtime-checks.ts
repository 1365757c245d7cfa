/** Waits until the runtimes of a sandbox are ready, all at once. The first that is not fails the create, which says which one it was, and what it answered last. */
import { abortable } from "#lib/abortable.ts";
import { type Clock, sleep } from "#lib/clock.ts";
import type { DaemonAddress } from "#daemon-client/daemon-client.ts";
import type { Pod } from "#model/pod.ts";
import type { ReadyCheck } from "#sandbox/runtimes/ready-checks.ts";
import { isServiceError, ServiceError } from "#services/service-error.ts";
import type { SandboxClaimsDeps } from "./claim-deps.ts";
import { startFailed } from "./create-failure.ts";

export interface RuntimeCheckDeps extends Pick<SandboxClaimsDeps, "pods" | "http" | "dial"> {
  readonly clock: Clock;
}

/** The first tries follow one another faster than the probe says: a create waits for them. */
const firstPauseMs = 50;
const keptBytes = 512;

/** Throws start_failed or timeout, or the signal's reason. */
export async function runtimesReady(deps: RuntimeCheckDeps, pod: Pod, checks: readonly ReadyCheck[], signal: AbortSignal): Promise<void> {
  const stop = new AbortController();
  const over = AbortSignal.any([signal, stop.signal]);
  try {
    await Promise.all(checks.map((check) => runtimeReady(deps, pod, check, over)));
  } finally {
    stop.abort();
  }
}

async function runtimeReady(deps: RuntimeCheckDeps, pod: Pod, check: ReadyCheck, signal: AbortSignal): Promise<void> {
  const { runtime, delayMs, periodMs, successes, patienceMs } = check;
  const { clock } = deps;
  let why = "it was not asked yet";
  try {
    if (delayMs > 0) await sleep(clock, delayMs, signal);
    const since = clock.now();
    for (let [inARow, pauseMs] = [0, firstPauseMs]; ; pauseMs = Math.min(2 * pauseMs, periodMs)) {
      const problem = await tryCheck(deps, pod, check, signal);
      signal.throwIfAborted();
      inARow = problem === undefined ? inARow + 1 : 0;
      if (inARow === successes) return;
      why = problem ?? why;
      if (problem !== undefined && patienceMs !== undefined && clock.now() - since >= patienceMs) {
        throw startFailed(`the runtime ${JSON.stringify(runtime)} is not ready: ${why}`);
      }
      await sleep(clock, Math.min(pauseMs, periodMs), signal);
    }
  } catch (error) {
    // The deadline of the create ends the wait, and its reason cannot know for what.
    if (!isServiceError(error, "timeout")) throw error;
    throw new ServiceError("timeout", `${error.message}: the runtime ${JSON.stringify(runtime)} is not ready: ${why}`, error.details);
  }
}

/** Undefined when it is ready, else why not. */
async function tryCheck(
  deps: RuntimeCheckDeps,
  pod: Pod,
  { way, timeoutMs }: ReadyCheck,
  signal: AbortSignal,
): Promise<string | undefined> {
  const late = new AbortController();
  const timer = deps.clock.after(timeoutMs, () => late.abort());
  const ended = AbortSignal.any([signal, late.signal]);
  const at = (port: number): DaemonAddress => ({ ip: pod.status?.podIP ?? "", port });
  try {
    if (way.kind === "exec") return await tryExec(deps, pod, way.command, ended);
    if (way.kind === "tcp") {
      await abortable(deps.dial(at(way.port), ended), ended);
      return undefined;
    }
    const { path, headers } = way;
    const { status } = await deps.http.send(at(way.port), { method: "GET", path, headers, timeoutMs }, ended);
    return status >= 200 && status < 400 ? undefined : `GET ${path} on port ${way.port} was answered ${status}`;
  } catch (error) {
    if (late.signal.aborted) return `no answer within ${timeoutMs / 1000} s`;
    return error instanceof Error ? error.message : String(error);
  } finally {
    timer.cancel();
  }
}

async function tryExec({ pods }: RuntimeCheckDeps, pod: Pod, argv: readonly string[], signal: AbortSignal): Promise<string | undefined> {
  const { namespace, name = "" } = pod.metadata;
  const session = await pods.exec({ pod: { namespace, name }, command: { argv, signal } });
  session.stdin.end();
  let said = "";
  const collect = async (stream: NodeJS.ReadableStream): Promise<void> => {
    for await (const chunk of stream) said = `${said}${String(chunk)}`.slice(-keptBytes);
  };
  const [exitCode] = await abortable(Promise.all([session.exitCode, collect(session.stdout), collect(session.stderr)]), signal);
  return exitCode === 0 ? undefined : `${JSON.stringify(argv[0])} ended with exit code ${exitCode}${said === "" ? "" : `: ${said.trim()}`}`;
}
