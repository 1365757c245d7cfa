/** The known objects of the caller, and how changes update them. Pure. */
import type { Change } from "#client/changes.ts";
import type { Sandbox } from "#client/sandbox-types.ts";
import type { SandboxEnv } from "#model/sandbox-env.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";

export interface Known {
  readonly sandboxes: ReadonlyMap<string, Sandbox>;
  readonly pools: ReadonlyMap<string, SandboxPool>;
  readonly envs: ReadonlyMap<string, SandboxEnv>;
}

export const nothingKnown: Known = { sandboxes: new Map(), pools: new Map(), envs: new Map() };

export interface Listed {
  readonly sandboxes: readonly Sandbox[];
  readonly pools: readonly SandboxPool[];
  readonly envs: readonly SandboxEnv[];
}

export function knownOf({ sandboxes, pools, envs }: Listed): Known {
  return {
    sandboxes: new Map(sandboxes.map((one) => [one.sandboxId, one])),
    pools: new Map(pools.map((one) => [nameOf(one.metadata), one])),
    envs: new Map(envs.map((one) => [nameOf(one.metadata), one])),
  };
}

/** A map without changes stays the same object. */
export function applyChanges(known: Known, changes: readonly Change[]): Known {
  const next = {
    sandboxes: new Draft(known.sandboxes),
    pools: new Draft(known.pools),
    envs: new Draft(known.envs),
  };
  for (const change of changes) {
    if (change.kind === "sandbox") next.sandboxes.set(change.sandbox.sandboxId, change.sandbox);
    else if (change.kind === "sandbox-ended") next.sandboxes.delete(change.sandboxId);
    else if (change.kind === "pool") next.pools.set(nameOf(change.pool.metadata), change.pool);
    else if (change.kind === "pool-deleted") next.pools.delete(nameOf(change));
    else if (change.kind === "env") next.envs.set(nameOf(change.env.metadata), change.env);
    else if (change.kind === "env-deleted") next.envs.delete(nameOf(change));
  }
  return { sandboxes: next.sandboxes.done(), pools: next.pools.done(), envs: next.envs.done() };
}

export function nameOf({ namespace = "", name = "" }: { readonly namespace?: string; readonly name?: string }): string {
  return `${namespace}/${name}`;
}

/** Copied at the first change. */
class Draft<Value> {
  readonly #before: ReadonlyMap<string, Value>;
  #copy: Map<string, Value> | undefined;

  constructor(before: ReadonlyMap<string, Value>) {
    this.#before = before;
  }

  set(key: string, value: Value): void {
    this.#copy ??= new Map(this.#before);
    this.#copy.set(key, value);
  }

  delete(key: string): void {
    if (!(this.#copy ?? this.#before).has(key)) return;
    this.#copy ??= new Map(this.#before);
    this.#copy.delete(key);
  }

  done(): ReadonlyMap<string, Value> {
    return this.#copy ?? this.#before;
  }
}
