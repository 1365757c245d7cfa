/**
 * What is run in a sandbox once it is armed and before its create is answered, in order. Each hook is tried again for a while, because
 * what it needs may still be starting; the first that fails for good fails the create, and its output says why.
 */
import { abortable } from "#lib/abortable.ts";
import { type Backoff, backoffMs, type Random } from "#lib/backoff.ts";
import { type Clock, sleep } from "#lib/clock.ts";
import { keyOf } from "#kube/informer/indexed-store.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import type { ExecSession } from "#kube/pod-access.ts";
import type { SandboxCache } from "#read-model/sandbox-cache.ts";
import { patchPodAsSeen } from "#life/patch-pod.ts";
import { sandboxIdOf } from "#model/claimed-pod.ts";
import { annotationKeys } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import { areHooksPending } from "#sandbox/hooks-mark.ts";
import { podPatch } from "#sandbox/pod-patch.ts";
import type { SandboxClaimsDeps } from "#services/creating/claim-deps.ts";
import type { PostStartHook } from "#services/sandbox-service.ts";
import { ServiceError } from "#services/service-error.ts";

export interface HookDeps extends Pick<SandboxClaimsDeps, "pods" | "http"> {
  readonly clock: Clock;
  readonly random?: Random | undefined;
}

const tries = 5;
const pause: Backoff = { baseMs: 200, maxMs: 5000, jitter: "equal" };
const execTimeoutMs = 30_000;
const httpTimeoutMs = 15_000;
/** Of what a hook said: its end tells why it failed. */
const keptBytes = 2048;

export interface Hooks {
  readonly hooks: readonly PostStartHook[];
  /** The sandbox's own environment, for those that are programs. */
  readonly env: Readonly<Record<string, string>>;
}

/** Throws hook_failed, or the signal's reason. */
export async function runPostStartHooks(deps: HookDeps, pod: Pod, { hooks, env }: Hooks, signal: AbortSignal): Promise<void> {
  for (const [index, hook] of hooks.entries()) await runHook(deps, pod, { hook, index, env }, signal);
}

interface Numbered {
  readonly hook: PostStartHook;
  readonly index: number;
  readonly env: Hooks["env"];
}

async function runHook(deps: HookDeps, pod: Pod, numbered: Numbered, signal: AbortSignal): Promise<void> {
  const { clock, random = Math.random } = deps;
  const { index } = numbered;
  for (let attempt = 1; ; attempt++) {
    const why = await tryHook(deps, pod, numbered, signal);
    if (why === undefined) return;
    signal.throwIfAborted();
    if (attempt === tries) {
      throw new ServiceError("hook_failed", `post-start hook ${index + 1} failed ${tries} times: ${why}`, {
        field: `postStartHooks[${index}]`,
      });
    }
    await sleep(clock, backoffMs(pause, attempt, random), signal);
  }
}

/** Undefined when it succeeded, else why not. */
async function tryHook(deps: HookDeps, pod: Pod, { hook, env }: Numbered, signal: AbortSignal): Promise<string | undefined> {
  const timeoutMs = "exec" in hook ? (hook.exec.timeoutMs ?? execTimeoutMs) : (hook.http.timeoutMs ?? httpTimeoutMs);
  const late = new AbortController();
  const timer = deps.clock.after(timeoutMs, () => late.abort());
  const ended = AbortSignal.any([signal, late.signal]);
  try {
    return "exec" in hook
      ? await tryExec(deps, pod, { ...hook.exec, env }, ended)
      : await tryHttp(deps, pod, { ...hook.http, timeoutMs }, ended);
  } catch (error) {
    if (late.signal.aborted) return `it took longer than ${timeoutMs / 1000} s`;
    return error instanceof Error ? error.message : String(error);
  } finally {
    timer.cancel();
  }
}

type ExecHook = Extract<PostStartHook, { exec: unknown }>["exec"];
type HttpHook = Extract<PostStartHook, { http: unknown }>["http"];

async function tryExec(
  { pods }: HookDeps,
  pod: Pod,
  { command, user, env }: ExecHook & Pick<Hooks, "env">,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { namespace, name = "" } = pod.metadata;
  const session = await pods.exec({
    pod: { namespace, name },
    command: { argv: command, env, signal, ...(user === undefined ? {} : { user }) },
  });
  session.stdin.end();
  // An exec that is given up may not end its streams by itself.
  const [said, exitCode] = await abortable(Promise.all([outputOf(session), session.exitCode]), signal);
  return exitCode === 0 ? undefined : `${JSON.stringify(command[0])} ended with exit code ${exitCode}${said === "" ? "" : `: ${said}`}`;
}

async function tryHttp(
  { http }: HookDeps,
  pod: Pod,
  hook: HttpHook & { readonly timeoutMs: number },
  signal: AbortSignal,
): Promise<string | undefined> {
  const { port, path = "/", method = "POST", headers = {}, body, timeoutMs } = hook;
  const request = { method, path, headers, timeoutMs, ...(body === undefined ? {} : { body }) };
  const { status, text } = await http.send({ ip: pod.status?.podIP ?? "", port }, request, signal);
  if (status >= 200 && status < 300) return undefined;
  return `${method} ${path} on port ${port} was answered ${status}${text === "" ? "" : `: ${text.slice(0, keptBytes)}`}`;
}

/** Both streams in the order in which they came, as far as that can be known; the end of them. */
async function outputOf({ stdout, stderr }: ExecSession): Promise<string> {
  let kept = Buffer.alloc(0);
  const collect = async (stream: NodeJS.ReadableStream): Promise<void> => {
    for await (const chunk of stream) kept = Buffer.concat([kept, Buffer.from(chunk)]).subarray(-keptBytes);
  };
  await Promise.all([collect(stdout), collect(stderr)]);
  return kept.toString("utf8").trim();
}

export interface HooksDoneDeps {
  readonly client: ObjectClient;
  readonly cache: Pick<SandboxCache, "pods" | "readPod">;
}

const markTries = 8;

/**
 * Takes the mark of post-start hooks off a sandbox when they have run. A sandbox that still has it when its start should be over was left by a
 * process that died: another one runs its hooks (`unfinished-hooks.ts`), or it is ended (`sandbox/end.ts`). Resolves with the pod as it is then;
 * undefined where the sandbox has ended meanwhile.
 */
export async function hooksDone(deps: HooksDoneDeps, armed: Pod, signal: AbortSignal): Promise<Pod | undefined> {
  let pod = deps.cache.pods.get(keyOf(armed)) ?? armed;
  for (let attempt = 1; attempt <= markTries; attempt++) {
    if (sandboxIdOf(pod) !== sandboxIdOf(armed)) return undefined;
    if (!areHooksPending(pod)) return pod;
    const patch = podPatch(pod, { removeAnnotations: [annotationKeys.postStartHooks] });
    const written = await patchPodAsSeen(deps, pod, patch, signal);
    if (written !== undefined) return written;
    pod = await deps.cache.readPod(deps.client, keyOf(armed), signal);
  }
  return undefined;
}
