/** Simulated clients: they create, wait or give up, use their sandboxes, and end them, some of them twice. */
import { failureCode } from "./failure-code.ts";
import { checkArmed } from "./arming-check.ts";
import type { Caller } from "#services/caller.ts";
import { isServiceError } from "#services/service-error.ts";
import type { CreateSandbox, SandboxService } from "#services/sandbox-service.ts";
import type { Judge } from "./judge.ts";
import { type Ledger, type Request, type Sandbox, wasAnswered } from "./ledger.ts";
import type { SimulatedNode } from "./node.ts";
import { userLabel } from "./pod-monitor.ts";
import type { Process } from "./process.ts";
import type { SeededRandom } from "./random.ts";
import type { Trace } from "./trace.ts";

/** A process that takes requests. */
export interface Api {
  readonly process: Process;
  readonly service: Pick<SandboxService, "create" | "end" | "setTimeouts">;
}

export interface ClientsDeps {
  readonly ledger: Ledger;
  readonly judge: Judge;
  readonly node: SimulatedNode;
  readonly trace: Trace;
  readonly random: SeededRandom;
  readonly now: () => number;
  /** Of a pool or Env; undefined: every tenant may use it. */
  readonly ownerOf: (pool: string) => Tenant | undefined;
}

/** So much later than its deadline a request may end: an answer may be on its way, and what was taken is given back first. */
export const patienceMs = 60_000;

const tenants = ["red", "blue"] as const;
export type Tenant = (typeof tenants)[number];

export class Clients {
  readonly #deps: ClientsDeps;

  constructor(deps: ClientsDeps) {
    this.#deps = deps;
  }

  /** Some tenant wants something from one of the pools that it may use. */
  create(api: Api, pools: readonly string[]): Request {
    const { random, ownerOf } = this.#deps;
    const tenant = random.pick(tenants) ?? "red";
    const pool = random.pick(pools) ?? "";
    return this.createFor(api, ownerOf(pool) ?? tenant, pool, random.between(2, 40) * 1000);
  }

  /** A tenant names a pool of another one. */
  createForeign(api: Api, pools: readonly string[]): void {
    const { random, ownerOf } = this.#deps;
    const pool = random.pick(pools.filter((one) => ownerOf(one) !== undefined));
    const tenant = tenants.find((one) => one !== ownerOf(pool ?? ""));
    if (pool !== undefined && tenant !== undefined) this.createFor(api, tenant, pool, 10_000);
  }

  createFor(api: Api, tenant: Tenant, pool: string, startupTimeoutMs: number): Request {
    const { ledger, trace, now } = this.#deps;
    const name = `r${ledger.requests.length + 1}`;
    const command = this.#command({ name, pool, startupTimeoutMs });
    const request: Request = {
      name,
      tenant,
      pool,
      api: api.process.name,
      sentAtMs: now(),
      endsByMs: now() + startupTimeoutMs + patienceMs,
      abort: new AbortController(),
      state: "pending",
      sandboxId: undefined,
      error: undefined,
      isCanceled: false,
      isAbandoned: false,
      isExcused: false,
      limitsAsked: 0,
      limitsOpen: 0,
      hasIdleTimeout: command.idleTimeoutMs !== undefined,
      hasLifetime: command.lifetimeMs !== undefined,
    };
    ledger.requests.push(request);
    trace.add(
      "client",
      `${name} asks ${api.process.name} for a sandbox of ${pool} within ${startupTimeoutMs} ms${command.image === undefined ? "" : ` on ${command.image}`}`,
    );
    api.process.whenKilled(() => {
      if (request.state === "pending") request.state = "lost";
      if (request.state === "failed") request.isAbandoned = true;
    });
    const caller: Caller = { role: "tenant", team: tenant, keyId: tenant };
    api.service.create(caller, command, { signal: request.abort.signal, wait: true }).then(
      ({ sandbox }) => this.#answered(request, sandbox.sandboxId),
      (error: unknown) => this.#failed(request, error),
    );
    return request;
  }

  /** A waiting client disconnects. */
  cancel(): void {
    const { ledger, random, trace } = this.#deps;
    const request = random.pick(ledger.requests.filter(({ state, isCanceled }) => state === "pending" && !isCanceled));
    if (request === undefined) return;
    request.isCanceled = true;
    trace.add("client", `${request.name} goes away`);
    request.abort.abort(new Error("the client went away"));
  }

  /** Ends one of the sandboxes that clients have; the same one may be chosen again while its end is under way. */
  end(api: Api): void {
    const { ledger, random } = this.#deps;
    const theirs = [...ledger.sandboxes.values()].filter((sandbox) => wasAnswered(sandbox) && !sandbox.isEndTold);
    const sandbox = random.pick(theirs);
    if (sandbox !== undefined) this.endOne(api, sandbox);
  }

  endOne(api: Api, sandbox: Sandbox): void {
    const { trace } = this.#deps;
    const team = sandbox.request?.tenant ?? "";
    sandbox.isEndAsked = true;
    trace.add("client", `asks ${api.process.name} to end ${sandbox.id}`);
    api.service.end({ role: "tenant", team, keyId: team }, sandbox.id).then(
      () => this.#endTold(sandbox),
      (error: unknown) => this.#notEnded(sandbox, error),
    );
  }

  /** Sets limits of one of the sandboxes, or removes them. A sandbox without limits must not be ended by one. */
  changeTimeouts(api: Api): void {
    const { ledger, random, trace } = this.#deps;
    const sandbox = random.pick(ledger.held());
    const { request } = sandbox ?? {};
    if (sandbox === undefined || request === undefined) return;
    const isLifted = random.chance(0.5);
    const change = isLifted
      ? { idleTimeoutMs: 0, lifetimeMs: null }
      : { idleTimeoutMs: random.between(10, 90) * 1000, lifetimeMs: random.between(20, 200) * 1000 };
    trace.add("client", `asks ${api.process.name} to ${isLifted ? "lift" : "set"} the timeouts of ${sandbox.id}`);
    const { limitsAsked, limitsOpen } = request;
    if (!isLifted) {
      request.hasIdleTimeout = request.hasLifetime = true;
      request.limitsAsked += 1;
      request.limitsOpen += 1;
    }
    const told = (): void => {
      trace.add("client", `hears that the timeouts of ${sandbox.id} are ${isLifted ? "lifted" : "set"}`);
      if (!isLifted) request.limitsOpen -= 1;
      // Of two changes at the same time either may have been the last.
      else if (limitsOpen === 0 && limitsAsked === request.limitsAsked) request.hasIdleTimeout = request.hasLifetime = false;
    };
    api.service
      .setTimeouts({ role: "tenant", team: request.tenant, keyId: request.tenant }, sandbox.id, change)
      .then(told, (error: unknown) => trace.add("client", `cannot change the timeouts of ${sandbox.id}: ${failureCode(error)}`));
  }

  #endTold(sandbox: Sandbox): void {
    sandbox.isEndTold = true;
    this.#deps.trace.add("client", `hears that ${sandbox.id} has ended`);
  }

  #command({ name, pool, startupTimeoutMs }: { name: string; pool: string; startupTimeoutMs: number }): CreateSandbox {
    const { random } = this.#deps;
    return {
      from: `ns/${pool}`,
      startupTimeoutMs,
      metadata: { request: name },
      ...(random.chance(0.5) ? { labels: { [userLabel]: name }, annotations: { [userLabel]: name } } : {}),
      ...(random.chance(0.25) ? { image: "registry.invalid/other:1" } : {}),
      ...(random.chance(0.15) ? { idleTimeoutMs: random.between(10, 90) * 1000 } : {}),
      ...(random.chance(0.15) ? { lifetimeMs: random.between(20, 200) * 1000 } : {}),
    };
  }

  #answered(request: Request, sandboxId: string): void {
    const { judge, trace, ledger, ownerOf } = this.#deps;
    trace.add("client", `${request.name} has ${sandboxId}`);
    const owner = ownerOf(request.pool) ?? request.tenant;
    judge.hold("I8", owner === request.tenant, () => `${request.name} of ${request.tenant} was answered with a pod of ${owner}`);
    request.state = "answered";
    request.sandboxId = sandboxId;
    const other = ledger.requests.find((one) => one !== request && one.sandboxId === sandboxId);
    if (other !== undefined) judge.violate("I1", `${request.name} and ${other.name} were both given ${sandboxId}`);
    checkArmed(this.#deps, request, sandboxId);
    this.#inTime(request);
  }

  #failed(request: Request, error: unknown): void {
    const { judge, trace } = this.#deps;
    request.state = "failed";
    request.error = error;
    trace.add("client", `${request.name} fails: ${failureCode(error)}`);
    // Everything that can go wrong for a caller has a code; anything else is a mistake of ours.
    judge.hold(
      "I5",
      isServiceError(error) || request.isCanceled,
      () => `${request.name} failed without a clear reason: ${failureCode(error)}`,
    );
    judge.hold("I5", !isServiceError(error, "internal"), () => `${request.name} failed without a clear reason: ${failureCode(error)}`);
    this.#inTime(request);
  }

  #inTime(request: Request): void {
    const late = this.#deps.now() - request.endsByMs;
    this.#deps.judge.hold("I9", late <= 0 || request.isExcused, () => `${request.name} ended ${late} ms too late`);
  }

  #notEnded(sandbox: Sandbox, error: unknown): void {
    const { judge, trace, ledger } = this.#deps;
    trace.add("client", `cannot end ${sandbox.id}: ${failureCode(error)}`);
    const isLost = isServiceError(error, "not_found") && !ledger.records.has(sandbox.id);
    judge.hold("I3", !isLost, () => `${sandbox.id} was answered and is not to be found, neither alive nor in the history`);
  }
}
