/**
 * One create, from what it means to an answer: one loop over pods. Each round waits for a pod, claims it, arms it and runs the hooks, and
 * its outcome says whether that was a sandbox, whether another pod is to be tried, or why there is none. The whole of it has one deadline,
 * and costs one write and one call to the daemon where the pod waits on the wanted image. What fails after the claim ends the sandbox (I5).
 *
 * `resolve-create.ts` what the request means · `take-turn.ts` its turn at a pod · `life/claim/claim-pod.ts` the claim ·
 * `life/arm/arm-sandbox.ts` the order to the daemon · `services/hooks` what runs before the answer · `create-failure.ts` how failures are told
 */
import type { InitBody } from "#envd-protocol/arming.ts";
import type { Span } from "#lib/tracing.ts";
import { withoutUndefined } from "#lib/without-undefined.ts";
import { armSandbox, type PodFault, type StartFailure } from "#life/arm/arm-sandbox.ts";
import { type ClaimedPod, type ClaimPath, claimPod } from "#life/claim/claim-pod.ts";
import { endClaimed } from "#life/claim/end-doubtful-claim.ts";
import type { Claim } from "#life/claim/plan-claim.ts";
import type { Pod } from "#model/pod.ts";
import type { VolumeMount } from "#model/volume-mounts.ts";
import { runsImageCommand } from "#sandbox/pods/runtimes.ts";
import { readyChecksOf } from "#sandbox/runtimes/ready-checks.ts";
import type { Reservation } from "#scheduling/idle-pods.ts";
import { poolKey, type PoolRef } from "#scheduling/pool-ref.ts";
import type { Caller } from "#services/caller.ts";
import { hooksDone, runPostStartHooks } from "#services/hooks/post-start-hooks.ts";
import { sizeOfCreate } from "#services/limits/create-size.ts";
import { viewOf } from "#services/reading/sandbox-view.ts";
import type { CreatedSandbox, CreateOptions, CreateSandbox } from "#services/sandbox-service.ts";
import { isServiceError, ServiceError } from "#services/service-error.ts";
import { translated } from "#services/service-failure.ts";
import type { ClaimContext } from "./claim-context.ts";
import { failureOf, loggable, startFailed } from "./create-failure.ts";
import { CreateTime } from "./create-time.ts";
import { type ReadyOffer, type ResolvedCreate, resolveOffers } from "./resolve-create.ts";
import { runtimesReady } from "./runtime-checks.ts";
import { takeTurn } from "./take-turn.ts";

export interface CreateRequest extends Pick<CreateOptions, "wait"> {
  /** Of the whole create, up to its answer. */
  readonly time: CreateTime;
  readonly caller: Caller;
  /** What the command's volumes are. */
  readonly volumeMounts: readonly VolumeMount[];
  readonly command: CreateSandbox;
  /** What the command means. */
  readonly meant: ResolvedCreate;
  readonly sandboxId: string;
  /** The id of the next try: a sandbox that was claimed and did not start has its end already. */
  readonly nextId: () => Promise<string>;
  /** The sandbox was there before, and has only this try: what does not start falls back to its checkpoint. */
  readonly resume?: { readonly restored: Readonly<Record<string, string>>; readonly confirm: (pod: Pod) => Promise<void> };
}

/** Throws ServiceError. The command has been checked. */
export async function createSandbox(deps: ClaimContext, request: CreateRequest): Promise<CreatedSandbox> {
  const { source, offers } = request.meant;
  const { namespace, name } = offers[0].pool;
  const env = source.env?.metadata.name;
  const attributes = { sandboxId: request.sandboxId, namespace, pool: name, ...(env === undefined ? {} : { env }) };
  return deps.tracer.span("create", attributes, (span) => new Create(deps, request, span).run());
}

type Round =
  | { readonly kind: "created"; readonly sandbox: CreatedSandbox }
  /** The pod is not as it was offered: the next one, for the same sandbox. */
  | { readonly kind: "outdated"; readonly instead: Reservation }
  /** The sandbox did not start, and has its end. */
  | { readonly kind: "bad-pod"; readonly fault: PodFault; readonly error: ServiceError };

class Create {
  readonly #deps: ClaimContext;
  readonly #request: CreateRequest;
  readonly #span: Span;
  readonly #since: number;
  #sandboxId: string;
  #path: ClaimPath | "none" = "none";
  /** The pool that serves it, or until there is one the first that could. */
  #pool: PoolRef;
  #offers: readonly ReadyOffer[] = [];
  /** Counts the sandbox against the limits of its team until the pod that carries it is in the cache, and counted there. */
  #held: Disposable | undefined;

  constructor(deps: ClaimContext, request: CreateRequest, span: Span) {
    this.#deps = deps;
    this.#request = request;
    this.#sandboxId = request.sandboxId;
    this.#pool = request.meant.offers[0].pool;
    this.#span = span;
    this.#since = deps.clock.now();
  }

  async run(): Promise<CreatedSandbox> {
    const { meant, time } = this.#request;
    try {
      this.#hold();
      this.#offers = await this.#span.span("resolve", {}, () => resolveOffers(this.#deps, meant.offers, time.over));
      return await this.#untilCreated();
    } catch (error) {
      this.#failed(error);
      throw error;
    } finally {
      this.#counted();
    }
  }

  async #untilCreated(): Promise<CreatedSandbox> {
    let instead: Reservation | undefined;
    for (let unwell = 0; ;) {
      const round = await this.#tryPod(instead);
      if (round.kind === "created") return round.sandbox;
      instead = round.kind === "outdated" ? round.instead : undefined;
      if (round.kind === "outdated") continue;
      if (round.fault === "unwell") unwell += 1;
      // Two silent daemons in a row mean a network or image fault: stop, before more pods are used up.
      if (unwell > 1 || this.#request.time.over.aborted || this.#request.resume !== undefined) throw round.error;
      this.#deps.log.warn({ sandboxId: this.#sandboxId, fault: round.fault, ...loggable(round.error) }, "another pod is tried");
      this.#sandboxId = await this.#request.nextId();
      this.#span.set({ sandboxId: this.#sandboxId });
      this.#hold();
    }
  }

  /** `instead`: the pod that the last round found outdated. */
  async #tryPod(instead: Reservation | undefined): Promise<Round> {
    const { meant, caller, time, wait } = this.#request;
    const wish = { source: meant.source, offers: this.#offers, tenant: caller.team, time };
    const reservation = await this.#span.span("wait", {}, () => takeTurn(this.#deps, wish, instead));
    const { pod, pool } = reservation;
    const claim = { claimAt: (now: number) => this.#claimAt(this.#offerOf(pool), now), over: time.over };
    const outcome = await this.#span.span("claim", { pod: pod.metadata.name ?? "" }, () =>
      translated(claimPod(this.#deps, reservation, claim)),
    );
    if (outcome.kind === "outdated") return { kind: "outdated", instead: reservation };
    if (outcome.kind === "refused") throw new ServiceError("invalid_request", outcome.message);
    if (outcome.kind === "pod-gone") return { kind: "bad-pod", fault: "gone", error: startFailed(outcome.why, outcome.cause) };
    const { claimed } = outcome;
    this.#claimed(claimed);
    if (!wait) {
      this.#startLater(claimed);
      return { kind: "created", sandbox: this.#created(claimed.path, claimed.pod, "Starting") };
    }
    const started = await this.#start(claimed, time.over);
    if (started.kind === "started") return { kind: "created", sandbox: this.#created(claimed.path, started.pod, "Running") };
    const { fault } = started.failure;
    const error = startFailed(started.failure.why, started.failure.cause);
    if (fault === "none") throw error;
    return { kind: "bad-pod", fault, error };
  }

  #hold(): void {
    const sizes = this.#request.meant.offers.map(({ pool }) => pool);
    this.#held = this.#deps.guard?.reserve(this.#request.caller, { sandboxes: 1, ...sizeOfCreate(this.#deps, sizes) });
  }

  #counted(): void {
    this.#held?.[Symbol.dispose]();
    this.#held = undefined;
  }

  #claimed({ pool, path, pod }: ClaimedPod): void {
    this.#counted();
    this.#pool = pool;
    this.#path = path;
    this.#span.set({ path, pod: pod.metadata.name ?? "", pool: pool.name });
  }

  #offerOf(pool: PoolRef): ReadyOffer {
    const offer = this.#offers.find((candidate) => poolKey(candidate.pool) === poolKey(pool));
    if (offer === undefined) throw new Error(`pool ${poolKey(pool)} was not asked for a pod`);
    return offer;
  }

  #claimAt({ targets, startupTimeoutMs, idleTimeoutMs }: ReadyOffer, now: number): Claim {
    const { caller, command, volumeMounts, resume } = this.#request;
    const { labels, annotations, metadata, lifetimeMs, onTimeout, autoResume, egress, privateTraffic, maskHost } = command;
    const { postStartHooks: hooks = [] } = command;
    const sealed = hooks.length === 0 ? undefined : this.#deps.hookSeal.seal(this.#sandboxId, hooks);
    const startOrder = this.#deps.abilities.deepPause().able ? this.#deps.startOrders.textOf(this.#sandboxId, command) : undefined;
    return {
      sandboxId: this.#sandboxId,
      volumeMounts,
      images: targets,
      startupTimeoutMs,
      idleTimeoutMs,
      ...(caller.team === "" ? {} : { team: caller.team }),
      ...(lifetimeMs === undefined ? {} : { endTimeMs: now + lifetimeMs }),
      ...withoutUndefined({
        user: caller.user,
        startOrder,
        restored: resume?.restored,
        lifetimeMs,
        onTimeout,
        autoResume,
        egress,
        privateTraffic,
        maskHost,
        labels,
        annotations,
        metadata,
      }),
      ...(command.secure === false ? { openDaemon: true } : {}),
      ...(hooks.length === 0 ? {} : { hooks: { pending: hooks.length, ...withoutUndefined({ sealed }) } }),
    };
  }

  /** The caller has its answer; what fails from here on ends the sandbox. */
  #startLater(claimed: ClaimedPod): void {
    const sandboxId = this.#sandboxId;
    const { clock, stopped } = this.#deps;
    this.#deps.background.run(sandboxId, async () => {
      // From the claim on, as a process that finds the pod without this one counts it.
      using time = new CreateTime({ clock, timeoutMs: this.#offerOf(claimed.pool).startupTimeoutMs, stopped });
      const notStarted = (error: unknown): void => this.#deps.log.warn({ sandboxId, ...loggable(error) }, "sandbox did not start");
      try {
        const started = await this.#start(claimed, time.over);
        if (started.kind === "failed") notStarted(startFailed(started.failure.why, started.failure.cause));
      } catch (error) {
        notStarted(error);
      }
    });
  }

  /** Arms it and runs its hooks. A sandbox that does not get there is ended. */
  async #start(
    claimed: ClaimedPod,
    signal: AbortSignal,
  ): Promise<{ readonly kind: "started"; readonly pod: Pod } | { readonly kind: "failed"; readonly failure: StartFailure }> {
    const sandboxId = this.#sandboxId;
    this.#deps.creating.add(sandboxId);
    try {
      signal.throwIfAborted();
      await this.#request.resume?.confirm(claimed.pod);
      const order = this.#order(claimed);
      const armed = await this.#span.span("arm", { path: claimed.path }, () => armSandbox(this.#deps, claimed, order, signal));
      if (armed.kind === "failed") {
        this.#endUnstarted(claimed, startFailed(armed.why));
        return { kind: "failed", failure: armed };
      }
      const checks = readyChecksOf(armed.pod);
      if (checks.length > 0) {
        await this.#span.span("runtimes", { runtimes: checks.length }, () => runtimesReady(this.#deps, armed.pod, checks, signal));
      }
      return { kind: "started", pod: await this.#runHooks(armed.pod, signal) };
    } catch (error) {
      this.#endUnstarted(claimed, error);
      throw error;
    } finally {
      this.#deps.creating.delete(sandboxId);
    }
  }

  async #runHooks(armed: Pod, signal: AbortSignal): Promise<Pod> {
    const { postStartHooks: hooks = [], envVars: env = {} } = this.#request.command;
    if (hooks.length === 0) return armed;
    await this.#span.span("hooks", { hooks: hooks.length }, () => runPostStartHooks(this.#deps, armed, { hooks, env }, signal));
    const done = await hooksDone(this.#deps, armed, signal);
    if (done === undefined) throw startFailed("it was ended before its hooks had run");
    return done;
  }

  /** Not waited for: the caller is told why at once, whether the server can be reached or not. */
  #endUnstarted({ pod }: ClaimedPod, error: unknown): void {
    const end = { sandboxId: this.#sandboxId, stopReason: "Canceled", ...failureOf(error) } as const;
    this.#deps.background.run(end.sandboxId, () => endClaimed(this.#deps, pod, end));
  }

  #order({ pod, pool }: ClaimedPod): InitBody {
    const { imageCommand } = this.#offerOf(pool);
    const { envVars, secure = true, defaultUser, defaultWorkdir } = this.#request.command;
    const { tokens } = this.#deps;
    const id = this.#sandboxId;
    return {
      ...(secure ? { accessToken: tokens.accessTokenOf(id), trafficToken: tokens.trafficTokenOf(id) } : {}),
      ...withoutUndefined({ envVars, defaultUser, defaultWorkdir }),
      ...(imageCommand !== undefined && runsImageCommand(pod) ? { imageCommand } : {}),
    };
  }

  /** The label of an armed sandbox may still say that it starts: the node reports later than the daemon answers. */
  #created(path: ClaimPath, pod: Pod, status: "Running" | "Starting"): CreatedSandbox {
    const { command } = this.#request;
    const sandboxId = this.#sandboxId;
    const sandbox = viewOf(pod);
    if (sandbox === undefined) throw new Error(`pod ${pod.metadata.name ?? ""} carries no sandbox after its claim`);
    const ms = this.#deps.clock.now() - this.#since;
    this.#deps.meters.created(this.#pool, path, ms);
    const { namespace, name } = this.#pool;
    this.#deps.log.info({ sandboxId, namespace, pool: name, pod: pod.metadata.name, path, status, ms }, "sandbox created");
    const token = command.secure === false ? {} : { accessToken: this.#deps.tokens.accessTokenOf(sandboxId) };
    const traffic = command.privateTraffic === true ? { trafficToken: this.#deps.tokens.trafficTokenOf(sandboxId) } : {};
    return { sandbox: { ...sandbox, status }, ...token, ...traffic };
  }

  #failed(error: unknown): void {
    const { namespace, name } = this.#pool;
    const code = isServiceError(error) ? error.code : "internal";
    this.#deps.meters.failed(this.#pool, this.#path, code);
    const facts = { sandboxId: this.#sandboxId, namespace, pool: name, path: this.#path, code };
    this.#deps.log.warn({ ...facts, ...loggable(error) }, "sandbox not created");
  }
}
