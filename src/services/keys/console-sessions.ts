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
  readonly #signedOut = new SignedOut();

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
    if (session !== undefined) this.#signedOut.add(session, this.#options.clock.now());
  }

  #read(text: string): Session | undefined {
    const [body = "", code = "", ...more] = text.split(".");
    if (text.length > longestText || more.length > 0 || !isSame(code, this.#codeOf(body))) return undefined;
    // The code proves that this process's own key wrote it.
    const session = JSON.parse(Buffer.from(body, "base64url").toString("utf8")) as Session;
    return session.expiresAt > this.#options.clock.now() && !this.#signedOut.has(session) ? session : undefined;
  }

  #codeOf(body: string): string {
    return createHmac("sha256", this.#key).update(body).digest("base64url");
  }
}

/** So many sign-outs of one key are remembered one by one. */
const mostOfKey = 100;
const sweepEveryMs = 60_000;

/** Bounded by the number of keys: of a key that signs out very often, all sessions until then are over. */
class SignedOut {
  /** Key id to the ids of its sessions that are over, and when each expires. */
  readonly #ids = new Map<string, Map<string, number>>();
  /** Key id to the last expiry of the sessions that are over together. */
  readonly #until = new Map<string, number>();
  #sweptAt = 0;

  has({ id, keyId, expiresAt }: Session): boolean {
    return expiresAt <= (this.#until.get(keyId) ?? 0) || this.#ids.get(keyId)?.has(id) === true;
  }

  add({ id, keyId, expiresAt }: Session, now: number): void {
    if (Math.abs(now - this.#sweptAt) >= sweepEveryMs) this.#forgetExpired(now);
    const ids = this.#ids.get(keyId) ?? new Map<string, number>();
    this.#ids.set(keyId, ids.set(id, expiresAt));
    if (ids.size <= mostOfKey) return;
    this.#until.set(keyId, Math.max(this.#until.get(keyId) ?? 0, ...ids.values()));
    this.#ids.delete(keyId);
  }

  #forgetExpired(now: number): void {
    this.#sweptAt = now;
    for (const [keyId, ids] of this.#ids) {
      for (const [id, expiresAt] of ids) if (expiresAt <= now) ids.delete(id);
      if (ids.size === 0) this.#ids.delete(keyId);
    }
    for (const [keyId, until] of this.#until) if (until <= now) this.#until.delete(keyId);
  }
}

function isSame(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
