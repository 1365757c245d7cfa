/**
 * Rights to open one terminal, for clients that cannot send a key with it, such as browsers: good for a short time and for one use.
 * Kept in this process only, like the connection that they are for; nothing but a hash is kept.
 */
import { createHash, randomBytes } from "node:crypto";
import type { Clock } from "#lib/clock.ts";
import type { Caller } from "./caller.ts";
import { ServiceError } from "./service-error.ts";

/** What was granted: to whom, for which sandbox, and with what there. */
export interface ExecGrant<Command> {
  readonly caller: Caller;
  readonly sandboxId: string;
  readonly command: Command;
}

export interface ExecTokenOptions {
  readonly clock: Clock;
  readonly lifetimeMs?: number;
  readonly maxTokens?: number;
  /** One tenant alone: he must not take the places of all others. */
  readonly maxOfTenant?: number;
}

interface Kept<Command> extends ExecGrant<Command> {
  readonly expiresAt: number;
}

export class ExecTokens<Command> {
  readonly #clock: Clock;
  readonly #lifetimeMs: number;
  readonly #maxTokens: number;
  readonly #maxOfTenant: number;
  /** In the order of their expiry: all live equally long. */
  readonly #kept = new Map<string, Kept<Command>>();
  /** How many of them each team has. */
  readonly #ofTeam = new Map<string, number>();

  constructor({ clock, lifetimeMs = 30_000, maxTokens = 10_000, maxOfTenant = 1000 }: ExecTokenOptions) {
    this.#clock = clock;
    this.#lifetimeMs = lifetimeMs;
    this.#maxTokens = maxTokens;
    this.#maxOfTenant = maxOfTenant;
  }

  issue(grant: ExecGrant<Command>): { readonly token: string; readonly expiresAt: string } {
    this.#sweep();
    if (this.#kept.size >= this.#maxTokens) throw tooMany(`there are ${this.#maxTokens} unused terminal tokens already`);
    const { role, team } = grant.caller;
    if (role === "tenant" && (this.#ofTeam.get(team) ?? 0) >= this.#maxOfTenant) {
      throw tooMany(`your team has ${this.#maxOfTenant} unused terminal tokens already`);
    }
    const token = randomBytes(32).toString("base64url");
    const expiresAt = this.#clock.now() + this.#lifetimeMs;
    this.#kept.set(hashOf(token), { ...grant, expiresAt });
    this.#ofTeam.set(team, (this.#ofTeam.get(team) ?? 0) + 1);
    return { token, expiresAt: new Date(expiresAt).toISOString() };
  }

  /** Takes the token, which is used up whether it is for this sandbox or not. Undefined: it was used, is too old, or never was. */
  redeem(token: string, sandboxId: string): ExecGrant<Command> | undefined {
    this.#sweep();
    const kept = this.#take(hashOf(token));
    return kept?.sandboxId === sandboxId ? kept : undefined;
  }

  #take(hash: string): Kept<Command> | undefined {
    const kept = this.#kept.get(hash);
    if (kept === undefined) return undefined;
    this.#kept.delete(hash);
    const { team } = kept.caller;
    const left = (this.#ofTeam.get(team) ?? 1) - 1;
    if (left === 0) this.#ofTeam.delete(team);
    else this.#ofTeam.set(team, left);
    return kept;
  }

  #sweep(): void {
    const now = this.#clock.now();
    for (const [hash, { expiresAt }] of this.#kept) {
      if (expiresAt > now) return;
      this.#take(hash);
    }
  }
}

function tooMany(message: string): ServiceError {
  return new ServiceError("limit_reached", message, { retryAfterSeconds: 30 });
}

/** Looked up by the hash, so that no comparison tells how much of a guess was right. */
function hashOf(token: string): string {
  return createHash("sha256").update(token).digest("base64url");
}
