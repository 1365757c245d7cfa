/**
 * Creating and ending sandboxes, put together for one process.
 *
 * - `sandbox-claims.ts`, `claim-deps.ts`  what it offers and what it is made from; `claim-context.ts` what its steps share
 * - `check-create.ts`, `resolve-create.ts`  whether a request is right, and what it means
 * - `create-sandbox.ts`  the steps of a create; `create-time.ts` how long they may take
 * - `claim-pod.ts`  the turn and the write; `withdraw-claim.ts` giving back what was taken
 * - `arm-sandbox.ts`  the order to the daemon; `boot-ids.ts` which boot it is, known beforehand; `replace-armed.ts` pods that only look idle
 * - `post-start-hooks.ts`  what is run before the answer; `create-many.ts` several at once
 * - `idempotent-create.ts`, `find-created.ts`, `forget-keys.ts`  the same request again
 * - `end-sandbox.ts`  the end
 * - `sandbox-id.ts`, `sandbox-tokens.ts`  names and secrets; `claim-metrics.ts` what is counted; `background-work.ts` what goes on alone
 */
import { recentDigests } from "#lifecycle/recent-digests.ts";
import { restingPods } from "#lifecycle/resting.ts";
import { ClaimQueue } from "#scheduling/claim-queue.ts";
import type { Pod } from "#model/pod.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import type { PoolRef } from "#scheduling/pool-ref.ts";
import { faultOfPod } from "./arm-sandbox.ts";
import { BackgroundWork } from "./background-work.ts";
import { BootIds } from "./boot-ids.ts";
import type { Caller } from "./caller.ts";
import { checkCreate } from "./check-create.ts";
import { checkEgress } from "./check-egress.ts";
import { checkPausing } from "./check-pausing.ts";
import type { ClaimContext } from "./claim-context.ts";
import type { SandboxClaimsDeps } from "./claim-deps.ts";
import { claimMetrics } from "./claim-metrics.ts";
import { createMany } from "./create-many.ts";
import { createSandbox } from "./create-sandbox.ts";
import { CreateTime, serverStops } from "./create-time.ts";
import { endSandbox } from "./end-sandbox.ts";
import { findCreated } from "./find-created.ts";
import { forgetKeysNowAndThen } from "./forget-keys.ts";
import { createOnce, type IdempotencyDeps, type Making } from "./idempotent-create.ts";
import { replaceArmed } from "./replace-armed.ts";
import { resolveCreate } from "./resolve-create.ts";
import type { SandboxClaims } from "./sandbox-claims.ts";
import type { CreatedSandbox, CreateOptions, CreateSandbox } from "./sandbox-service.ts";
import { sandboxTokens } from "./sandbox-tokens.ts";
import { ServiceError } from "./service-error.ts";

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
  const onArmed = (pod: Pod): void => background.run("", () => replaceArmed(deps, pod));
  const bootIds = new BootIds({ daemons: deps.daemons, clock, random, onArmed });
  const [stop, abandon] = [new AbortController(), new AbortController()];
  const context: ClaimContext = {
    ...deps,
    digests: recentDigests(deps.digests, clock),
    random,
    keysNamespace: deps.keysNamespace ?? defaultKeysNamespace,
    queue,
    bootIds,
    tokens: sandboxTokens(deps.privateKey),
    resting: restingPods({ cache, daemon: deps.daemons, clock }),
    meters: claimMetrics({ metrics: deps.metrics, queue }),
    creating: new Set(),
    background,
    stopped: stop.signal,
    abandoned: abandon.signal,
  };
  const { keysNamespace } = context;
  const forgetting = forgetKeysNowAndThen({ client: deps.client, clock, random, log: deps.log, keysNamespace }, stop.signal);
  const followed = [
    // Boots before the queue: who gets a pod in the turn of its event finds it asked for at least.
    cache.pods.onChange((now, before) => bootIds.observe(now, before)),
    cache.pods.onChange((now, before) => queue.observe(now, before)),
    cache.pools.onChange((now, before) => observePool(context, now, before)),
  ];
  let asked = 0;
  return {
    create: (caller, command, options) => {
      asked += 1;
      return context.background.follow(createChecked(context, caller, command, options));
    },
    createMany: async (caller, command, options) => {
      asked += 1;
      const create = (index: number): Promise<CreatedSandbox> => createChecked(context, caller, nth(command, index), options);
      const end = (sandboxId: string): Promise<void> => endSandbox(context, caller, sandboxId);
      return context.background.follow(createMany({ create, end }, options));
    },
    end: (caller, sandboxId) => endSandbox(context, caller, sandboxId),
    asked: () => asked,
    pending: (pool) => queue.waiting(pool),
    inFlight: (pool) => queue.reserved(pool),
    onWaiting: (handler) => queue.onWaiting(handler),
    accessTokenOf: (sandboxId) => context.tokens.accessTokenOf(sandboxId),
    stop: async () => {
      stop.abort(new Error("claims were stopped"));
      queue.stop();
      const timer = clock.after(lastReleasesMs, () => abandon.abort(new Error("claims were stopped")));
      await context.background.ended();
      timer.cancel();
      for (const registration of followed) registration.remove();
      await Promise.all([bootIds.stop(), forgetting]);
    },
  };
}

async function createChecked(
  context: ClaimContext,
  caller: Caller,
  command: CreateSandbox,
  options: CreateOptions,
): Promise<CreatedSandbox> {
  checkCreate(command);
  checkEgress(command.egress, context.enforcesEgress);
  if (command.onTimeout === "pause") checkPausing(context, { field: "onTimeout" });
  const { clock, client, keysNamespace, stopped, isServerGone = () => false } = context;
  if (stopped.aborted) throw serverStops();
  if (isServerGone()) throw serverGone();
  // Before anything is noted: a request that means nothing is no use of its key.
  const { startupTimeoutMs: timeoutMs } = resolveCreate(context, caller, command);
  using time = new CreateTime({ clock, timeoutMs, waitMs: command.waitMs, caller: options.signal, stopped });
  const once: IdempotencyDeps = { client, clock, keysNamespace, longestCreateMs: timeoutMs + marginMs };
  const request = { wait: options.wait, time, caller, command };
  const making: Making = {
    create: (sandboxId) => createSandbox(context, { ...request, sandboxId }),
    find: (sandboxId) => findCreated(context, { ...request, sandboxId }),
  };
  for (let unwell = 0; ;) {
    try {
      return await createOnce(once, caller, command, making);
    } catch (error) {
      const fault = faultOfPod(error);
      if (fault === "unwell") unwell += 1;
      // What its caller cannot help is tried with another pod, and as another sandbox: this one has its end already. Who finds two of
      // them unwell has lost his way to all of them, or they are made that way: he must not go on to spoil the rest.
      if (fault === undefined || unwell > 1 || time.over.aborted) throw error;
    }
  }
}

function serverGone(): ServiceError {
  return new ServiceError("unavailable", "the object server does not answer now: sandboxes that run go on, new ones cannot be made", {
    retryAfterSeconds: 2,
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
