/**
 * One create: resolve, wait, claim, arm, hooks. The whole of it has one deadline, and costs one write and one call to the daemon where
 * the pod waits on the wanted image. What fails after the claim gives the pod back (I5).
 */
import { keyOf } from "#kube/informer/indexed-store.ts";
import { withoutUndefined } from "#lib/without-undefined.ts";
import type { Span } from "#lib/tracing.ts";
import type { ImageCommand, InitBody } from "#envd-protocol/arming.ts";
import { failureReasons } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import type { Claim } from "#sandbox/claim-patch.ts";
import type { TargetImages } from "#sandbox/images.ts";
import { runsImageCommand } from "#sandbox/runtimes.ts";
import { armSandbox } from "./arm-sandbox.ts";
import type { Caller } from "./caller.ts";
import type { ClaimContext } from "./claim-context.ts";
import { type ClaimedPod, claimPod } from "./claim-pod.ts";
import type { ClaimPath } from "./claim-metrics.ts";
import { CreateTime } from "./create-time.ts";
import { runPostStartHooks } from "./post-start-hooks.ts";
import { type ResolvedCreate, resolveCreate, resolveImages } from "./resolve-create.ts";
import type { CreatedSandbox, CreateOptions, CreateSandbox } from "./sandbox-service.ts";
import { viewOf } from "./sandbox-view.ts";
import { isServiceError, type ServiceError } from "./service-error.ts";
import { giveBack } from "./withdraw-claim.ts";

export interface CreateRequest extends Pick<CreateOptions, "wait"> {
  /** Of the whole create, up to its answer. */
  readonly time: CreateTime;
  readonly caller: Caller;
  readonly command: CreateSandbox;
  readonly sandboxId: string;
}

/** Throws ServiceError. The command has been checked. */
export async function createSandbox(deps: ClaimContext, request: CreateRequest): Promise<CreatedSandbox> {
  const meant = resolveCreate(deps, request.caller, request.command);
  const { pool } = meant;
  const attributes = { sandboxId: request.sandboxId, namespace: pool.namespace, pool: pool.name };
  return deps.tracer.span("create", attributes, (span) => new Create(deps, request, meant, span).run());
}

class Create {
  readonly #deps: ClaimContext;
  readonly #request: CreateRequest;
  readonly #meant: ResolvedCreate;
  readonly #span: Span;
  readonly #since: number;
  #path: ClaimPath | "none" = "none";
  #imageCommand: ImageCommand | undefined;

  constructor(deps: ClaimContext, request: CreateRequest, meant: ResolvedCreate, span: Span) {
    this.#deps = deps;
    this.#request = request;
    this.#meant = meant;
    this.#span = span;
    this.#since = deps.clock.now();
  }

  async run(): Promise<CreatedSandbox> {
    const { time, wait } = this.#request;
    try {
      const claimed = await this.#claim(time);
      if (wait) return this.#created(claimed.path, await this.#startOrGiveBack(claimed, time.over), "Running");
      this.#startLater(claimed);
      return this.#created(claimed.path, claimed.pod, "Starting");
    } catch (error) {
      this.#failed(error);
      throw error;
    }
  }

  async #claim(time: CreateTime): Promise<ClaimedPod> {
    const { pool, first } = this.#meant;
    const { targets, imageCommand } = await this.#span.span("resolve", {}, () => resolveImages(this.#deps, this.#meant, time.over));
    this.#imageCommand = imageCommand;
    const wish = {
      pool,
      tenant: this.#request.caller.team,
      digest: targets[first]?.digest ?? "",
      claimAt: (now: number) => this.#claimAt(targets, now),
      time,
    };
    const claimed = await claimPod(this.#deps, wish, this.#span);
    this.#path = claimed.path;
    this.#span.set({ path: claimed.path, pod: claimed.pod.metadata.name ?? "" });
    return claimed;
  }

  #claimAt(images: TargetImages, now: number): Claim {
    const { caller, command, sandboxId } = this.#request;
    const { startupTimeoutMs, idleTimeoutMs } = this.#meant;
    const { labels, annotations, metadata, lifetimeMs, onTimeout, autoResume, egress, privateTraffic, maskHost } = command;
    return {
      sandboxId,
      images,
      startupTimeoutMs,
      idleTimeoutMs,
      ...(caller.team === "" ? {} : { team: caller.team }),
      ...(caller.user === undefined ? {} : { user: caller.user }),
      ...(lifetimeMs === undefined ? {} : { endTimeMs: now + lifetimeMs }),
      ...withoutUndefined({ onTimeout, autoResume, egress, privateTraffic, maskHost }),
      ...(labels === undefined ? {} : { labels }),
      ...(annotations === undefined ? {} : { annotations }),
      ...(metadata === undefined ? {} : { metadata }),
    };
  }

  /** The caller has its answer; what fails from here on ends the sandbox. */
  #startLater(claimed: ClaimedPod): void {
    const { sandboxId } = this.#request;
    const { clock, stopped } = this.#deps;
    this.#deps.background.run(sandboxId, async () => {
      // From the claim on, as whoever finds the pod without us would count it.
      using time = new CreateTime({ clock, timeoutMs: this.#meant.startupTimeoutMs, stopped });
      try {
        await this.#startOrGiveBack(claimed, time.over);
      } catch (error) {
        this.#deps.log.warn({ sandboxId, ...loggable(error) }, "sandbox did not start");
      }
    });
  }

  async #startOrGiveBack(claimed: ClaimedPod, signal: AbortSignal): Promise<Pod> {
    const { sandboxId } = this.#request;
    this.#deps.creating.add(sandboxId);
    try {
      signal.throwIfAborted();
      const armed = await this.#span.span("arm", { path: claimed.path }, () =>
        armSandbox(this.#deps, claimed, this.#order(claimed.pod), signal),
      );
      const { postStartHooks: hooks = [] } = this.#request.command;
      if (hooks.length === 0) return armed;
      await this.#span.span("hooks", { hooks: hooks.length }, () => runPostStartHooks(this.#deps, armed, hooks, signal));
      return this.#deps.cache.pods.get(keyOf(armed)) ?? armed;
    } catch (error) {
      const release = { sandboxId, stopReason: "Canceled", ...failureOf(error) } as const;
      // Not waited for: the caller is told why at once, whether the server can be reached or not.
      this.#deps.background.run(sandboxId, () => giveBack(this.#deps, claimed.pod, release));
      throw error;
    } finally {
      this.#deps.creating.delete(sandboxId);
    }
  }

  #order(pod: Pod): InitBody {
    const { command, sandboxId } = this.#request;
    const { envVars, secure = true } = command;
    return {
      ...(secure ? { accessToken: this.#deps.tokens.accessTokenOf(sandboxId) } : {}),
      ...(envVars === undefined ? {} : { envVars }),
      ...(this.#imageCommand !== undefined && runsImageCommand(pod) ? { imageCommand: this.#imageCommand } : {}),
    };
  }

  /** The label of an armed sandbox may still say that it starts: the node reports later than the daemon answers. */
  #created(path: ClaimPath, pod: Pod, status: "Running" | "Starting"): CreatedSandbox {
    const { command, sandboxId } = this.#request;
    const sandbox = viewOf(pod);
    if (sandbox === undefined) throw new Error(`pod ${pod.metadata.name ?? ""} carries no sandbox after its claim`);
    const ms = this.#deps.clock.now() - this.#since;
    this.#deps.meters.created(this.#meant.pool, path, ms);
    const { namespace, name } = this.#meant.pool;
    this.#deps.log.info({ sandboxId, namespace, pool: name, pod: pod.metadata.name, path, status, ms }, "sandbox created");
    const token = command.secure === false ? {} : { accessToken: this.#deps.tokens.accessTokenOf(sandboxId) };
    const traffic = command.privateTraffic === true ? { trafficToken: this.#deps.tokens.trafficTokenOf(sandboxId) } : {};
    return { sandbox: { ...sandbox, status }, ...token, ...traffic };
  }

  #failed(error: unknown): void {
    const { sandboxId } = this.#request;
    const { namespace, name } = this.#meant.pool;
    const code = isServiceError(error) ? error.code : "internal";
    this.#deps.meters.failed(this.#meant.pool, this.#path, code);
    this.#deps.log.warn({ sandboxId, namespace, pool: name, path: this.#path, code, ...loggable(error) }, "sandbox not created");
  }
}

/** For the record. A caller who left, or a server that ends, is no failure of the sandbox. */
function failureOf(error: unknown): { readonly failureReason?: string; readonly failureMessage?: string } {
  if (!isServiceError(error, "start_failed", "hook_failed", "timeout")) return {};
  const { startFailed, hookFailed, startupTimeout } = failureReasons;
  const failureMessage = ownWords(error);
  if (error.code === "hook_failed") return { failureReason: hookFailed, failureMessage };
  return { failureReason: error.code === "timeout" ? startupTimeout : startFailed, failureMessage };
}

/** What a defect was is needed in full; what was foreseen says it in its words. */
function loggable(error: unknown): { readonly error?: unknown; readonly why?: string } {
  if (!isServiceError(error)) return { error };
  return { why: ownWords(error), ...(error.cause === undefined ? {} : { error: error.cause }) };
}

/** What a hook printed is its user's, and may be a secret: of that only what we say ourselves is written down. */
function ownWords({ code, message }: ServiceError): string {
  return code === "hook_failed" ? (message.split(":", 1)[0] ?? "") : message;
}
