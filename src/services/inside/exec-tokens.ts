/**
 * Rights to open one terminal, for clients that cannot send a key with it, such as browsers: good for a short time and for one use.
 *
 * Nothing is kept: a token holds the grant itself, sealed with a key that is made from the control plane's, so every process that has
 * that key takes tokens of all the others. It stands in an address, which ends up in logs of others: so it is not to be read, and
 * not to be used for long. Each process remembers what was used there until it has expired; of several processes each might take a
 * token once. A token ends with the key that it was issued to.
 */
import { createCipheriv, createDecipheriv, hkdfSync, type KeyObject, randomBytes } from "node:crypto";
import type { Clock } from "#lib/clock.ts";
import type { Caller } from "#services/caller.ts";
import { ServiceError } from "#services/service-error.ts";

/** The grant in a token: caller, sandbox, and permitted action. */
export interface ExecGrant<Command> {
  readonly caller: Caller;
  readonly sandboxId: string;
  readonly command: Command;
}

export interface ExecTokenOptions {
  readonly clock: Clock;
  /** The control plane's. */
  readonly privateKey: KeyObject;
  readonly lifetimeMs?: number;
  /** A token for one purpose is none for another. */
  readonly purpose?: string;
  readonly keys: LiveKeys;
}

/** Says whether the key that a token was issued to is still good. */
export interface LiveKeys {
  isLive(keyId: string): boolean;
}

interface Sealed<Command> extends ExecGrant<Command> {
  readonly expiresAt: number;
}

const [nonceBytes, tagBytes] = [12, 16];
/** Servers take request lines of 16 KiB with all that stands in them. */
const longestToken = 8 * 1024;

export class ExecTokens<Command> {
  readonly #clock: Clock;
  readonly #key: Buffer;
  readonly #lifetimeMs: number;
  readonly #keys: LiveKeys;
  /** Token to when it expires. All live equally long, so those that expire first stand first, or nearly. */
  readonly #used = new Map<string, number>();

  constructor({ clock, privateKey, lifetimeMs = 30_000, purpose = "terminal", keys }: ExecTokenOptions) {
    this.#clock = clock;
    this.#lifetimeMs = lifetimeMs;
    this.#keys = keys;
    const secret = privateKey.export({ type: "pkcs8", format: "der" });
    this.#key = Buffer.from(hkdfSync("sha256", secret, "", `agentbox ${purpose} token v1`, 32));
  }

  issue({ caller, sandboxId, command }: ExecGrant<Command>): { readonly token: string; readonly expiresAt: string } {
    const expiresAt = this.#clock.now() + this.#lifetimeMs;
    const token = this.#seal({ caller, sandboxId, command, expiresAt });
    if (token.length > longestToken) {
      const message = "command and environment are too long for an address: send the rest through the terminal, or as a file";
      throw new ServiceError("invalid_request", message, { field: "command" });
    }
    return { token, expiresAt: new Date(expiresAt).toISOString() };
  }

  /** Takes the token, which is used up whether it is for this sandbox or not. Undefined: it was used, is too old, is of a revoked key, or never was. */
  redeem(token: string, sandboxId: string): ExecGrant<Command> | undefined {
    this.#sweep();
    const sealed = this.#used.has(token) ? undefined : this.#open(token);
    if (sealed === undefined || sealed.expiresAt <= this.#clock.now()) return undefined;
    this.#used.set(token, sealed.expiresAt);
    const { expiresAt: _, ...grant } = sealed;
    return grant.sandboxId === sandboxId && this.#keys.isLive(grant.caller.keyId) ? grant : undefined;
  }

  #seal(grant: Sealed<Command>): string {
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv("aes-256-gcm", this.#key, nonce);
    const text = Buffer.concat([cipher.update(JSON.stringify(grant), "utf8"), cipher.final()]);
    return Buffer.concat([nonce, cipher.getAuthTag(), text]).toString("base64url");
  }

  #open(token: string): Sealed<Command> | undefined {
    const bytes = Buffer.from(token, "base64url");
    // One grant has one text: a second spelling of the same bytes would be a second use.
    if (bytes.length <= nonceBytes + tagBytes || bytes.toString("base64url") !== token) return undefined;
    const decipher = createDecipheriv("aes-256-gcm", this.#key, bytes.subarray(0, nonceBytes));
    decipher.setAuthTag(bytes.subarray(nonceBytes, nonceBytes + tagBytes));
    try {
      const text = Buffer.concat([decipher.update(bytes.subarray(nonceBytes + tagBytes)), decipher.final()]);
      return JSON.parse(text.toString("utf8")) as Sealed<Command>;
    } catch {
      return undefined;
    }
  }

  #sweep(): void {
    const now = this.#clock.now();
    for (const [token, expiresAt] of this.#used) {
      if (expiresAt > now) return;
      this.#used.delete(token);
    }
  }
}
