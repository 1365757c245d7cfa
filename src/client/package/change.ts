import type { SandboxEnv, Sandbox, SandboxPool } from "../generated/api-types.generated.ts";

export type Change =
  /** Earlier changes are unknown: list everything now, and apply what follows. */
  | { readonly kind: "start" }
  | { readonly kind: "sandbox"; readonly sandbox: Sandbox }
  /** It has ended: its record is in the history. */
  | { readonly kind: "sandbox-ended"; readonly sandboxId: string }
  | { readonly kind: "pool"; readonly pool: SandboxPool }
  | { readonly kind: "pool-deleted"; readonly namespace: string; readonly name: string }
  | { readonly kind: "env"; readonly env: SandboxEnv }
  | { readonly kind: "env-deleted"; readonly namespace: string; readonly name: string };
