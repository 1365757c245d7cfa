/**
 * All plugins of a process, asked one after the other: each sees what the one before it made of the object. The first refusal ends the
 * chain.
 *
 * - `plugin.ts`             what a plugin is                    - `plugin-chain.ts`   the chain
 * - `call-plugin.ts`        one hook: deadline, and what counts as an answer
 * - `check-answer.ts`       what a plugin may not change (pure)  - `probe-size.ts`    how many replicas are admitted
 * - `read-configuration.ts` plugins.json (pure)                 - `load-plugins.ts`   the plugins that it names
 * - `http-plugin.ts`        a plugin behind an HTTP endpoint, and how its requests are signed
 * - `pod-amounts.ts`        what a pod counts (pure)            - `pool-spec.ts`      what a pool's pods are made from
 * - `quota-bounds.ts`       what quotas leave of pods (pure)
 * - `instance-types.ts`, `quota.ts`, `capacity.ts`, `reservation.ts`   the plugins that are always there
 */
import type { Clock } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import type { Metrics } from "#lib/metrics.ts";
import type { Pod } from "#model/pod.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import { type CallDeps, callPlugin, type Hook } from "./call-plugin.ts";
import type { NamedRefusal, NamedVerdict, Plugin, PluginChain, Verdict } from "./plugin.ts";
import { probeSize } from "./probe-size.ts";

export interface PluginChainOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** How long one hook of one plugin may take. */
  readonly deadlineMs?: number | undefined;
}

export const defaultDeadlineMs = 5_000;

export function openPluginChain(plugins: readonly Plugin[], options: PluginChainOptions): PluginChain {
  const deps = callDeps(options);
  const chain: Omit<PluginChain, "probe"> = {
    preCreatePool: (pool, signal) => run(deps, { hook: "preCreatePool", plugins, signal }, pool),
    preUpdatePool: (pool, signal) => run(deps, { hook: "preUpdatePool", plugins, signal }, pool),
    preDeletePool: async (pool, signal) => {
      const verdict = await run(deps, { hook: "preDeletePool", plugins, signal }, pool);
      return "refusal" in verdict ? verdict : { object: pool };
    },
    preCreatePod: (pod, pool, signal) => run(deps, { hook: "preCreatePod", plugins, signal, pool }, pod),
  };
  return { ...chain, probe: (pool, wanted, signal) => probeSize((size) => chain.preUpdatePool(size, signal), pool, wanted) };
}

/** Calls `start` of each plugin in order. Rejects with the name of the plugin that cannot start. */
export async function startPlugins(
  plugins: readonly Plugin[],
  { clock, deadlineMs = startDeadlineMs }: { readonly clock: Clock; readonly deadlineMs?: number },
  signal: AbortSignal,
): Promise<void> {
  for (const plugin of plugins) {
    if (plugin.start === undefined) continue;
    const { promise: late, reject } = Promise.withResolvers<never>();
    const timer = clock.after(deadlineMs, () => reject(new Error(`it did not start within ${deadlineMs} ms`)));
    try {
      await Promise.race([plugin.start(signal), late]);
    } catch (error) {
      throw new Error(`plugin ${plugin.name} cannot start: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
    } finally {
      timer.cancel();
    }
  }
}

const startDeadlineMs = 30_000;

interface Run {
  readonly hook: Hook;
  readonly plugins: readonly Plugin[];
  readonly signal: AbortSignal;
  /** The pool of a pod. */
  readonly pool?: SandboxPool;
}

async function run<T extends Pod | SandboxPool>(deps: CallDeps, { hook, plugins, signal, pool }: Run, given: T): Promise<NamedVerdict<T>> {
  const short: NamedRefusal[] = [];
  let object = given;
  for (const plugin of plugins) {
    if (plugin[hook] === undefined) continue;
    const call = (copy: T, inner: AbortSignal): Promise<Verdict<T>> => callOf(plugin, hook, { copy, pool, signal: inner });
    const verdict = await callPlugin(deps, { plugin: plugin.name, hook, call, signal }, object);
    if ("object" in verdict) object = verdict.object;
    // It has no side effects, so all plugins are asked: the answer holds for the smallest number and the longest wait.
    else if (hook === "preUpdatePool" && verdict.refusal.kind === "InsufficientResources") short.push(verdict.refusal);
    else return verdict;
  }
  const [first, ...others] = short;
  return first === undefined ? { object } : { refusal: joinedRefusal(first, others) };
}

interface Call<T> {
  readonly copy: T;
  readonly pool: SandboxPool | undefined;
  readonly signal: AbortSignal;
}

/** As a method of the plugin, so that plugins may be classes. */
async function callOf<T extends Pod | SandboxPool>(plugin: Plugin, hook: Hook, { copy, pool, signal }: Call<T>): Promise<Verdict<T>> {
  const verdict =
    hook === "preCreatePod"
      ? plugin.preCreatePod?.(copy as Pod, structuredClone(pool) as SandboxPool, signal)
      : plugin[hook]?.(copy as SandboxPool, signal);
  return (await verdict) as Verdict<T>;
}

function callDeps({ clock, log, metrics, deadlineMs = defaultDeadlineMs }: PluginChainOptions): CallDeps {
  const labels = ["plugin", "hook", "outcome"] as const;
  const calls = metrics.counter({
    name: "agentbox_plugin_calls_total",
    help: "Calls of plugins, by what came of them: admitted, changed, or the kind of the refusal.",
    labels,
  });
  const times = metrics.histogram({
    name: "agentbox_plugin_duration_seconds",
    help: "How long hooks of plugins take.",
    labels: ["plugin", "hook"],
  });
  return { clock, log, deadlineMs, calls, times };
}

/** What holds for all of them: the smallest number that would fit, in the words of its plugin, and the longest wait. */
function joinedRefusal(first: NamedRefusal, others: readonly NamedRefusal[]): NamedRefusal {
  const tightest = others.reduce((least, one) => ((one.wouldFit ?? Infinity) < (least.wouldFit ?? Infinity) ? one : least), first);
  const waits = [first, ...others].flatMap(({ retryAfterMs }) => (retryAfterMs === undefined ? [] : [retryAfterMs]));
  return { ...tightest, ...(waits.length > 0 && { retryAfterMs: Math.max(...waits) }) };
}
