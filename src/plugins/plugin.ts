/**
 * What a plugin is: hooks that may change or refuse pools and pods before they are made.
 *
 * Each hook gets a copy and returns it changed or unchanged, or a refusal. `preUpdatePool` has no side effects: it is asked for sizes that
 * are never used. `preCreatePool` runs once for each member of an Env; its result is stored as the member's snapshot.
 */
import type { Pod } from "#model/pod.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";

export type RefusalKind = "InsufficientResources" | "InvalidSpec" | "Internal";

export interface Refusal {
  readonly kind: RefusalKind;
  /** What is wrong and what would be right, in one line. */
  readonly message: string;
  /** So many replicas would be admitted. */
  readonly wouldFit?: number | undefined;
  readonly retryAfterMs?: number | undefined;
}

export type Verdict<T> = { readonly object: T } | { readonly refusal: Refusal };

/** Hooks that are left out admit everything as it is. */
export interface Plugin {
  readonly name: string;
  /** Called once, before any other hook. A rejection keeps the server from starting. */
  start?(signal: AbortSignal): Promise<void>;
  preCreatePool?(pool: SandboxPool, signal: AbortSignal): Promise<Verdict<SandboxPool>>;
  preUpdatePool?(pool: SandboxPool, signal: AbortSignal): Promise<Verdict<SandboxPool>>;
  /** Only a refusal counts. */
  preDeletePool?(pool: SandboxPool, signal: AbortSignal): Promise<Verdict<SandboxPool>>;
  preCreatePod?(pod: Pod, pool: SandboxPool, signal: AbortSignal): Promise<Verdict<Pod>>;
}

/** A refusal with the name of the plugin that gave it. */
export interface NamedRefusal extends Refusal {
  readonly plugin: string;
}

export type NamedVerdict<T> = { readonly object: T } | { readonly refusal: NamedRefusal };

/** How many of the wanted pods a pool may have. */
export interface Admission {
  /** The wanted number, or the largest smaller one that was admitted; never below the present one. */
  readonly admitted: number;
  /** Why it is less than wanted. */
  readonly refusal?: NamedRefusal | undefined;
}

/** All plugins of a process, one after the other. Never rejects for what a plugin does: that is a refusal with the plugin's name. */
export interface PluginChain {
  preCreatePool(pool: SandboxPool, signal: AbortSignal): Promise<NamedVerdict<SandboxPool>>;
  preUpdatePool(pool: SandboxPool, signal: AbortSignal): Promise<NamedVerdict<SandboxPool>>;
  preDeletePool(pool: SandboxPool, signal: AbortSignal): Promise<NamedVerdict<SandboxPool>>;
  preCreatePod(pod: Pod, pool: SandboxPool, signal: AbortSignal): Promise<NamedVerdict<Pod>>;
  /** Asks `preUpdatePool` for `wanted` replicas and, if that is refused, for the largest number that is admitted. */
  probe(pool: SandboxPool, wanted: number, signal: AbortSignal): Promise<Admission>;
}
