/**
 * Creating and ending sandboxes, put together for one process.
 *
 * - `sandbox-claims.ts`, `claim-deps.ts`  what it offers and what it is made from; `claim-context.ts` what its steps share
 * - `check-create.ts`, `check-abilities.ts`, `resolve-create.ts`  whether a request is right, can be fulfilled here, and what it means; `create-source.ts` which Env or pool it names,
 *   `env-members.ts` what an Env says of its member pools
 * - `create-sandbox.ts`  the loop of a create; `create-time.ts` how long it may take; `create-failure.ts` how it is told that it failed
 * - `take-turn.ts`  the turn in the queue; `pool-standing.ts`, `pool-shortage.ts` how pools stand and why none has a pod
 * - `life/claim`, `life/arm`  the claim of one pod, and the order to its daemon; `services/hooks` what runs before the answer
 * - `resume-on-pod.ts`  a sandbox that a checkpoint has, on a pod again; `start-order.ts` what it starts with
 * - `create-many.ts`  several creates at once; `idempotent-create.ts`, `find-created.ts`, `forget-keys.ts` the same request again
 * - `end-sandbox.ts`  the end
 * - `sandbox-id.ts`, `sandbox-tokens.ts`  names and secrets; `claim-metrics.ts` what is counted; `background-work.ts` what goes on alone
 */
import { recentDigests } from "#pools/recent-digests.ts";
import { restingPods } from "#life/recycle/resting.ts";
import { ClaimQueue } from "#scheduling/claim-queue.ts";
import type { Pod } from "#model/pod.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import type { PoolRef } from "#scheduling/pool-ref.ts";
import { BackgroundWork } from "./background-work.ts";
import { BootIds, deleteArmedIdle } from "#life/arm/boot-ids.ts";
import type { Caller } from "#services/caller.ts";
import { checkCreate } from "./check-create.ts";
import { checkEgress, checkTimeoutAction } from "./check-abilities.ts";
import type { ClaimContext } from "./claim-context.ts";
import type { SandboxClaimsDeps } from "./claim-deps.ts";
import { claimMetrics } from "./claim-metrics.ts";
import { createMany } from "./create-many.ts";
import { createSandbox } from "./create-sandbox.ts";
import { CreateTime, serverStops } from "./create-time.ts";
import { endForCaller } from "./end-sandbox.ts";
import { findCreated } from "./find-created.ts";
import { KeysToForget } from "./forget-keys.ts";
import { createOnce, type IdempotencyDeps } from "./idempotent-create.ts";
import { meantCreate } from "#services/checkpoints/meant-checkpoint.ts";
import { resolveCreate } from "./resolve-create.ts";
import type { SandboxClaims } from "./sandbox-claims.ts";
import type { CreatedSandbox, CreateOptions, CreateSandbox } from "#services/sandbox-service.ts";
import { resumeOnPod } from "./resume-on-pod.ts";
import { sandboxTokens } from "./sandbox-tokens.ts";
import { StartOrders } from "./start-order.ts";
import { HookSeal } from "#services/hooks/sealed-hooks.ts";
import { ServiceError } from "#services/service-error.ts";
import { resolveMounts } from "#services/volumes/resolve-mounts.ts";
import { startUnfinishedHooks } from "#services/hooks/unfinished-hooks.ts";

const defaultKeysNamespace = "default";
/** What a create may take beside its startup timeout, with clocks that differ. */
const marginMs = 10_000;
/** How long what was taken is given back before it is left to the next process. */
const lastReleasesMs = 5000;

/** Follows the cache from now on, which may be started before or after. */
export function openSandboxClaims(deps: SandboxClaimsDeps): SandboxClaims {
  const { clock, cache, limits, random = Math.random } = deps;
  const queue = new ClaimQueue(limits);
  const background = new BackgroundWork(deps.log);
  const onArmed = (pod: Pod): void => background.run("", () => deleteArmedIdle(deps, pod));
  const bootIds = new BootIds({ daemons: deps.daemons, clock, random, onArmed });
  const [stop, abandon] = [new AbortController(), new AbortController()];
  const keysNamespace = deps.keysNamespace ?? defaultKeysNamespace;
  const forgetting = new KeysToForget({ client: deps.client, clock, random, log: deps.log, keysNamespace });
  const context: ClaimContext = {
    ...deps,
    digests: recentDigests(deps.digests, clock),
    random,
    keysNamespace,
    onKeyNoted: () => forgetting.noted(),
    queue,
    bootIds,
    tokens: sandboxTokens(deps.privateKey),
    hookSeal: new HookSeal(deps.privateKey),
    startOrders: new StartOrders(deps.privateKey),
    resting: restingPods({ cache, daemon: deps.daemons, clock }),
    meters: claimMetrics({ metrics: deps.metrics, queue }),
    creating: new Set(),
    background,
    stopped: stop.signal,
    abandoned: abandon.signal,
  };
  const followed = followCache(context);
  const unfinished = startUnfinishedHooks(context);
  return {
    create: (caller, command, options) => context.background.follow(createChecked(context, caller, command, options)),
    createMany: async (caller, command, options) => {
      const create = (index: number): Promise<CreatedSandbox> => createChecked(context, caller, nth(command, index), options);
      const end = (sandboxId: string): Promise<void> => endForCaller(context, caller, sandboxId);
      return context.background.follow(createMany({ create, end }, options));
    },
    resumeOnPod: (owner, order) => context.background.follow(resumeOnPod(context, owner, order)),
    end: (caller, sandboxId) => endForCaller(context, caller, sandboxId),
    pending: (pool) => queue.waiting(pool),
    waitingSets: (pool) => (pool === undefined ? queue.sets() : queue.setsAt(pool)),
    inFlight: (pool) => queue.reserved(pool),
    onWaiting: (handler) => queue.onWaiting(handler),
    accessTokenOf: (sandboxId) => context.tokens.accessTokenOf(sandboxId),
    stop: async () => {
      stop.abort(new Error("claims were stopped"));
      queue.stop();
      await unfinished.stop();
      const timer = clock.after(lastReleasesMs, () => abandon.abort(new Error("claims were stopped")));
      await context.background.ended();
      timer.cancel();
      for (const registration of followed) registration.remove();
      await Promise.all([bootIds.stop(), forgetting.stop()]);
    },
  };
}

function followCache(context: ClaimContext): readonly { remove(): void }[] {
  const { cache, bootIds, queue } = context;
  return [
    // Boot ids before the queue: when a request gets a pod in the same turn as the pod's event, its boot has at least been asked for.
    cache.pods.onChange((now, before) => bootIds.observe(now, before)),
    cache.pods.onChange((now, before) => queue.observe(now, before)),
    cache.pools.onChange((now, before) => observePool(context, now, before)),
  ];
}

async function createChecked(
  context: ClaimContext,
  caller: Caller,
  command: CreateSandbox,
  options: CreateOptions,
): Promise<CreatedSandbox> {
  checkCreate(command);
  checkEgress(command.egress, context.abilities);
  checkTimeoutAction(context.abilities, command.onTimeout);
  const { clock, client, keysNamespace, stopped, abilities } = context;
  if (stopped.aborted) throw serverStops();
  const objects = abilities.objects();
  if (!objects.able) throw new ServiceError("unavailable", objects.why, { retryAfterSeconds: 2 });
  const volumeMounts = resolveMounts(context, caller, command.volumeMounts ?? []);
  context.rate?.take(caller.team, caller.user);
  // Before anything is noted: a request that means nothing is no use of its key.
  const wanted = await meantCreate(context, caller, command);
  const meant = resolveCreate(context, caller, wanted);
  const { startupTimeoutMs: timeoutMs } = meant;
  using time = new CreateTime({ clock, timeoutMs, waitMs: command.waitMs, caller: options.signal, stopped });
  const once: IdempotencyDeps = { client, clock, keysNamespace, longestCreateMs: timeoutMs + marginMs, onNoted: context.onKeyNoted };
  const request = { wait: options.wait, time, caller, command: wanted, volumeMounts };
  return await createOnce(once, caller, command, {
    create: (sandboxId, nextId) => createSandbox(context, { ...request, meant, sandboxId, nextId }),
    find: (sandboxId) => findCreated(context, { ...request, sandboxId }),
  });
}

/** Every sandbox of a batch is a request of its own. */
function nth(command: CreateSandbox, index: number): CreateSandbox {
  const { idempotencyKey } = command;
  return idempotencyKey === undefined ? command : { ...command, idempotencyKey: `${idempotencyKey} #${index}` };
}

function observePool({ queue, meters }: ClaimContext, now: SandboxPool | undefined, before: SandboxPool | undefined): void {
  const pool = now ?? before;
  if (pool === undefined) return;
  const ref: PoolRef = { namespace: pool.metadata.namespace ?? "", name: pool.metadata.name ?? "" };
  if (now !== undefined && now.metadata.deletionTimestamp === undefined) {
    meters.follow(ref);
    return;
  }
  queue.removePool(ref);
  if (now === undefined) meters.unfollow(ref);
}
