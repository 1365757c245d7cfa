/** One hook of one plugin, on a copy. A plugin that throws, hangs or answers nonsense has refused, with its name; it never fails its caller. */
import { isDeepStrictEqual } from "node:util";
import { ChildAbort } from "#lib/abortable.ts";
import type { Clock } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import type { Counter, Histogram } from "#lib/metrics.ts";
import { formatDuration } from "#model/duration.ts";
import type { Pod } from "#model/pod.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import { answerFault, readRefusal } from "./check-answer.ts";
import type { NamedRefusal, NamedVerdict, Plugin, Refusal, Verdict } from "./plugin.ts";

export type Hook = keyof Pick<Plugin, "preCreatePool" | "preUpdatePool" | "preDeletePool" | "preCreatePod">;
export const hooks = ["preCreatePool", "preUpdatePool", "preDeletePool", "preCreatePod"] as const satisfies readonly Hook[];

export interface CallDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly deadlineMs: number;
  readonly calls: Counter<"plugin" | "hook" | "outcome">;
  readonly times: Histogram<"plugin" | "hook">;
}

export interface PluginCall<T> {
  readonly plugin: string;
  readonly hook: Hook;
  readonly call: (copy: T, signal: AbortSignal) => Promise<Verdict<T>>;
  readonly signal: AbortSignal;
}

/** The same object when nothing of it was changed. Rejects only if `signal` is aborted. */
export async function callPlugin<T extends Pod | SandboxPool>(deps: CallDeps, call: PluginCall<T>, object: T): Promise<NamedVerdict<T>> {
  const { plugin, hook, signal } = call;
  signal.throwIfAborted();
  const since = deps.clock.now();
  const verdict = await judged(deps, call, object);
  signal.throwIfAborted();
  deps.times.observe({ plugin, hook }, (deps.clock.now() - since) / 1000);
  if ("object" in verdict) {
    deps.calls.add({ plugin, hook, outcome: verdict.object === object ? "admitted" : "changed" });
    return verdict;
  }
  const refusal: NamedRefusal = { ...verdict.refusal, plugin };
  deps.calls.add({ plugin, hook, outcome: refusal.kind });
  const { namespace, name } = object.metadata;
  if (refusal.kind === "Internal") deps.log.warn({ plugin, hook, namespace, name, why: verdict.why ?? refusal.message }, "plugin failed");
  return { refusal };
}

/** `why`: what the log says of a failure beside the refusal. */
type Judged<T> = Verdict<T> & { readonly why?: string };

async function judged<T extends Pod | SandboxPool>(deps: CallDeps, call: PluginCall<T>, object: T): Promise<Judged<T>> {
  try {
    return asVerdict(await inTime(deps, call, object), call, object);
  } catch (error) {
    if (error instanceof TooLate) return internal(error.message);
    // Tenants read refusals: where a plugin is, and what it said when it failed, is for the operator.
    return { ...internal(`${call.hook} failed; the server's log says why`), why: error instanceof Error ? error.message : String(error) };
  }
}

class TooLate extends Error {
  override readonly name = "TooLate";
}

/** The plugin is told by its signal that its time is over, and is not waited for. */
async function inTime<T>({ clock, deadlineMs }: CallDeps, { call, hook, signal }: PluginCall<T>, object: T): Promise<unknown> {
  using abort = new ChildAbort(signal);
  const { promise: over, reject } = Promise.withResolvers<never>();
  const end = (): void => reject(abort.signal.reason as Error);
  abort.signal.addEventListener("abort", end, { once: true });
  const timer = clock.after(deadlineMs, () => abort.abort(new TooLate(`${hook} gave no answer within ${formatDuration(deadlineMs)}`)));
  try {
    // A plugin may throw before its first await.
    const answer = (async () => call(structuredClone(object), abort.signal))();
    // What it answers or throws too late is of no interest.
    answer.catch(() => {});
    return await Promise.race([answer, over]);
  } finally {
    timer.cancel();
    abort.signal.removeEventListener("abort", end);
  }
}

function asVerdict<T extends Pod | SandboxPool>(answer: unknown, { hook }: PluginCall<T>, given: T): Verdict<T> {
  if (typeof answer !== "object" || answer === null)
    return internal(`${hook} answered ${typeOf(answer)}: it must be { object } or { refusal }`);
  if ("refusal" in answer && answer.refusal !== undefined) return { refusal: readRefusal(hook, answer.refusal) };
  // Only a refusal counts.
  if (hook === "preDeletePool") return { object: given };
  if (!("object" in answer)) return internal(`${hook} answered neither { object } nor { refusal }`);
  // Refuses what is no data, such as functions; and what the plugin keeps and changes later is not ours.
  const object = structuredClone(answer.object) as T;
  const fault = answerFault(given, object);
  if (fault !== undefined) return internal(`${hook} ${fault}`);
  if (hook === "preUpdatePool") return sizeVerdict(given as SandboxPool, object as SandboxPool) as Verdict<T>;
  return { object: isDeepStrictEqual(object, given) ? given : object };
}

/** A smaller number in the answer is a partial grant. */
function sizeVerdict(given: SandboxPool, answer: SandboxPool): Verdict<SandboxPool> {
  const [asked, granted] = [given.spec.replicas, answer.spec.replicas];
  if (granted > asked) return internal(`preUpdatePool raised spec.replicas from ${asked} to ${granted}: it may lower it only`);
  if (granted === asked) return { object: isDeepStrictEqual(answer, given) ? given : answer };
  const message = `${granted} of ${asked} replicas are admitted`;
  return { refusal: { kind: "InsufficientResources", message, wouldFit: granted } };
}

function internal(message: string): { readonly refusal: Refusal } {
  return { refusal: { kind: "Internal", message } };
}

function typeOf(answer: unknown): string {
  return answer === null || answer === undefined ? "nothing" : `a ${typeof answer}`;
}
