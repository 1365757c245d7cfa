/**
 * Sessions of the web console: a text that a browser keeps in a cookie in place of an API key.
 *
 * Nothing is kept on the server: the text names the key that signed in and when the session ends, and carries a code that only a holder of
 * the control plane's key can make. So every process that has that key accepts the sessions of all others, and a restart ends none. A
 * session ends with its API key. A sign-out is remembered by the process that was asked, and the browser forgets the cookie.
 */
import { createHmac, hkdfSync, type KeyObject, randomBytes, timingSafeEqual } from "node:crypto";
import type { Clock } from "#lib/clock.ts";
import type { Caller } from "#services/caller.ts";

export interface ConsoleSessionsOptions {
  readonly clock: Clock;
  /** The control plane's. */
  readonly privateKey: KeyObject;
  readonly keys: { callerOf(keyId: string): Caller | undefined };
  readonly lifetimeMs?: number;
}

export interface OpenedSession {
  readonly text: string;
  readonly lifetimeMs: number;
}

interface Session {
  readonly id: string;
  readonly keyId: string;
  readonly expiresAt: number;
}

const usualLifetimeMs = 12 * 3_600_000;
const longestText = 512;

export class ConsoleSessions {
  readonly #options: ConsoleSessionsOptions;
  readonly #lifetimeMs: number;
  readonly #key: Buffer;
  /** Id to when it expires, oldest sign-out first. */
  readonly #signedOut = new Map<string, number>();

  constructor(options: ConsoleSessionsOptions) {
    this.#options = options;
    this.#lifetimeMs = options.lifetimeMs ?? usualLifetimeMs;
    const secret = options.privateKey.export({ type: "pkcs8", format: "der" });
    this.#key = Buffer.from(hkdfSync("sha256", secret, "", "agentbox console session v1", 32));
  }

  open({ keyId }: Caller): OpenedSession {
    const expiresAt = this.#options.clock.now() + this.#lifetimeMs;
    const session: Session = { id: randomBytes(12).toString("base64url"), keyId, expiresAt };
    const body = Buffer.from(JSON.stringify(session)).toString("base64url");
    return { text: `${body}.${this.#codeOf(body)}`, lifetimeMs: this.#lifetimeMs };
  }

  /** As the key is now; undefined when the session was never opened, has ended, or its key is not good any more. */
  callerOf(text: string): Caller | undefined {
    const session = this.#read(text);
    return session && this.#options.keys.callerOf(session.keyId);
  }

  /** A text that is no session is left alone. */
  close(text: string): void {
    const session = this.#read(text);
    if (session === undefined) return;
    const now = this.#options.clock.now();
    for (const [id, expiresAt] of this.#signedOut) if (expiresAt <= now) this.#signedOut.delete(id);
    this.#signedOut.set(session.id, session.expiresAt);
  }

  #read(text: string): Session | undefined {
    const [body = "", code = "", ...more] = text.split(".");
    if (text.length > longestText || more.length > 0 || !isSame(code, this.#codeOf(body))) return undefined;
    // The code proves that this process's own key wrote it.
    const session = JSON.parse(Buffer.from(body, "base64url").toString("utf8")) as Session;
    return session.expiresAt > this.#options.clock.now() && !this.#signedOut.has(session.id) ? session : undefined;
  }

  #codeOf(body: string): string {
    return createHmac("sha256", this.#key).update(body).digest("base64url");
  }
}

function isSame(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
