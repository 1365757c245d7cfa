/**
 * Sessions of the web console: a text that a browser keeps in a cookie in place of an API key.
 *
 * Nothing is kept on the server: the text names the key that signed in, or the person that an OpenID Connect provider vouched for, and when the session
 * ends (signed-text.ts). So every process that has the control plane's key accepts the sessions of all others, and a restart ends none. A session ends with
 * its API key; that of a person ends when the rules of sign-in change. A sign-out is remembered by the process that was asked, and the browser forgets the
 * cookie.
 */
import { type KeyObject, randomBytes } from "node:crypto";
import type { Clock } from "#lib/clock.ts";
import type { Caller } from "#services/caller.ts";
import { SignedText } from "./signed-text.ts";

export interface ConsoleSessionsOptions {
  readonly clock: Clock;
  /** The control plane's. */
  readonly privateKey: KeyObject;
  readonly keys: { callerOf(keyId: string): Caller | undefined };
  readonly lifetimeMs?: number;
  /** Changes with the rules by which people sign in; left out: people do not. */
  readonly rules?: string | undefined;
}

export interface OpenedSession {
  readonly text: string;
  readonly lifetimeMs: number;
}

interface Session {
  readonly id: string;
  readonly keyId: string;
  readonly expiresAt: number;
  /** Of a person: what it may do, and by which rules. */
  readonly person?: { readonly caller: Caller; readonly rules: string };
}

const usualLifetimeMs = 12 * 3_600_000;
const longestText = 1024;

export class ConsoleSessions {
  readonly #options: ConsoleSessionsOptions;
  readonly #lifetimeMs: number;
  readonly #texts: SignedText<Session>;
  readonly #signedOut = new SignedOut();

  constructor(options: ConsoleSessionsOptions) {
    this.#options = options;
    this.#lifetimeMs = options.lifetimeMs ?? usualLifetimeMs;
    this.#texts = new SignedText({ ...options, purpose: "agentbox console session v1", longest: longestText });
  }

  /** For the holder of a key. */
  open({ keyId }: Caller): OpenedSession {
    return this.#write({ keyId }, this.#lifetimeMs);
  }

  /** For a person without a key: the session itself says what it may do. */
  openForPerson(caller: Caller, lifetimeMs: number): OpenedSession {
    const { rules } = this.#options;
    if (rules === undefined) throw new Error("people cannot sign in here");
    return this.#write({ keyId: caller.keyId, person: { caller, rules } }, lifetimeMs);
  }

  /** As the key is now; undefined when the session was never opened, has ended, or its key or the rules of its person are not good any more. */
  callerOf(text: string): Caller | undefined {
    const session = this.#read(text);
    if (session?.person === undefined) return session && this.#options.keys.callerOf(session.keyId);
    return session.person.rules === this.#options.rules ? session.person.caller : undefined;
  }

  /** A text that is no session is left alone. */
  close(text: string): void {
    const session = this.#read(text);
    if (session !== undefined) this.#signedOut.add(session, this.#options.clock.now());
  }

  #write(of: Pick<Session, "keyId" | "person">, lifetimeMs: number): OpenedSession {
    const expiresAt = this.#options.clock.now() + lifetimeMs;
    return { text: this.#texts.write({ id: randomBytes(12).toString("base64url"), expiresAt, ...of }), lifetimeMs };
  }

  #read(text: string): Session | undefined {
    const session = this.#texts.read(text);
    return session !== undefined && session.expiresAt > this.#options.clock.now() && !this.#signedOut.has(session) ? session : undefined;
  }
}

/** So many sign-outs of one key are remembered one by one. */
const mostOfKey = 100;
const sweepEveryMs = 60_000;

/** Bounded by the number of keys and people: of a key that signs out very often, all sessions until then are over. */
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
