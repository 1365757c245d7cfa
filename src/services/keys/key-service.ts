/**
 * API keys: the caller of a key, and creating, listing and revoking keys.
 *
 * - `api-key.ts`         the text of a key, its hash and its id
 * - `key-secret.ts`      keys as Secrets
 * - `key-rights.ts`      which keys a caller may create (pure)
 * - `key-book.ts`        the valid keys, and which key created which
 * - `key-ends.ts`        aborts open requests when their key ends
 * - `first-admin-key.ts` the key that a new AgentBox starts with
 *
 * Reads come from the cache, so that no request waits for the server because of its key.
 */
import { timingSafeEqual } from "node:crypto";
import { isApiError } from "#kube/api-error.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import type { Clock } from "#lib/clock.ts";
import { Secrets } from "#model/core-kinds.ts";
import { type Caller, owns } from "../caller.ts";
import { checkLocal } from "#services/templates/global-objects.ts";
import type { LimitGuard } from "../limits/limit-guard.ts";
import { ServiceError } from "../service-error.ts";
import { isPerson } from "../sign-in/person.ts";
import { hashOfKey, isApiKey, isKeyId, keyIdOf, newApiKey } from "./api-key.ts";
import { KeyBook, type KeySecrets, type KnownKey } from "./key-book.ts";
import { KeyEnds } from "./key-ends.ts";
import { type CreateKey, grantedKey } from "./key-rights.ts";
import { type ApiKeyView, hasExpired, keySecret, type StoredKey } from "./key-secret.ts";

export interface KeyService {
  /** Undefined for every invalid key, without the reason. */
  authenticate(key: string): Caller | undefined;
  /** Undefined once the key with this id is revoked or has expired. */
  callerOf(id: string): Caller | undefined;
  /** False once the key with this id is revoked or has expired. */
  isLive(id: string): boolean;
  /** Calls `ended` once, when the key is revoked or expires; at once if it has. Returns how to take that back. */
  whenEnded(id: string, ended: () => void): () => void;
  /** The only time that the key itself is shown. */
  create(caller: Caller, wish: CreateKey): Promise<CreatedKey>;
  /** Oldest first. */
  list(caller: Caller): readonly ApiKeyView[];
  /** Also revokes the keys that it made, and those that these made, unless they are kept. An admin key that made some needs the choice. */
  revoke(caller: Caller, id: string, made?: FateOfMade): Promise<void>;
}

/** What becomes of the keys that a revoked key has made. */
export type FateOfMade = "revoke" | "keep";

export interface CreatedKey extends ApiKeyView {
  readonly key: string;
}

export interface KeyServiceDeps {
  readonly client: ObjectClient;
  readonly secrets: KeySecrets;
  /** The system namespace. */
  readonly namespace: string;
  readonly clock: Clock;
  readonly newKey?: () => string;
  /** No limits when left out. */
  readonly limits?: Pick<LimitGuard, "reserve"> | undefined;
}

/** Each request looks at the whole chain of keys that made its own. */
const longestChain = 16;

export function openKeyService(deps: KeyServiceDeps): KeyService {
  const { clock } = deps;
  const book = new KeyBook(deps);
  const live = (id: string): KnownKey | undefined => {
    const known = book.find(id);
    return known === undefined || hasExpired(known.key, clock.now()) ? undefined : known;
  };
  // Ids of another form are not of keys: those are callers inside the process.
  const isLive = (id: string): boolean => !isKeyId(id) || live(id) !== undefined;
  const ends = new KeyEnds({ clock, isLive, expiresAt: (id) => book.find(id)?.key.expiresAt });
  deps.secrets.onChange(() => ends.check());
  return {
    authenticate: (text) => {
      if (!isApiKey(text)) return undefined;
      const hash = hashOfKey(text);
      const key = live(keyIdOf(hash))?.key;
      return key === undefined || !sameHash(key.hash, hash) ? undefined : callerWith(key);
    },
    callerOf: (id) => {
      const key = live(id)?.key;
      return key && callerWith(key);
    },
    isLive,
    whenEnded: (id, ended) => ends.follow(id, ended),
    create: (caller, wish) => create(deps, book, caller, wish),
    list: (caller) =>
      visibleKeys(book, caller)
        .toArray()
        .sort((a, b) => a.createdAt.localeCompare(b.createdAt) || a.id.localeCompare(b.id)),
    revoke: async (caller, id, made) => {
      try {
        await revoke(deps, book, { caller, id, made });
      } finally {
        ends.check();
      }
    },
  };
}

function callerWith({ id, role, team = "", user }: StoredKey): Caller {
  return { role, team, ...(user !== undefined && { user }), keyId: id };
}

/** The hashes have one length, and comparing them tells nothing about where they differ. */
function sameHash(one: string, other: string): boolean {
  return timingSafeEqual(Buffer.from(one, "hex"), Buffer.from(other, "hex"));
}

async function create(deps: KeyServiceDeps, book: KeyBook, caller: Caller, wish: CreateKey): Promise<CreatedKey> {
  const own = book.find(caller.keyId);
  // Revoked since the request came in: what it makes now would not end with it.
  if (own === undefined && isKeyId(caller.keyId)) throw new ServiceError("unauthenticated", "this API key is no longer valid");
  if (own !== undefined && book.chain(own).length >= longestChain) {
    const message = `this key is at the end of a chain of ${longestChain} keys, each created with the one before: use an earlier one`;
    throw new ServiceError("forbidden", message);
  }
  const granted = { ...grantedKey(caller, wish, own?.key, deps.clock.now()), ...makerIn(caller, own) };
  using _ = deps.limits?.reserve(granted.team ?? "", { keys: 1 });
  const text = (deps.newKey ?? newApiKey)();
  const hash = hashOfKey(text);
  deps.secrets.remember(await deps.client.create(Secrets, keySecret(deps.namespace, { hash, ...granted }, own?.secret)));
  return { id: keyIdOf(hash), ...granted, key: text };
}

/** A person has no key of its own: what it makes ends by itself or is revoked. */
function makerIn(caller: Caller, own: KnownKey | undefined): { readonly createdBy?: string } {
  if (own !== undefined) return { createdBy: own.key.id };
  return isPerson(caller) ? { createdBy: caller.keyId } : {};
}

interface Revocation {
  readonly caller: Caller;
  readonly id: string;
  readonly made: FateOfMade | undefined;
}

async function revoke(deps: KeyServiceDeps, book: KeyBook, { caller, id, made }: Revocation): Promise<void> {
  const found = book.find(id);
  if (found === undefined || !owns(caller, found.secret)) throw new ServiceError("not_found", `there is no API key ${JSON.stringify(id)}`);
  checkLocal(found.secret, `API key ${JSON.stringify(id)}`);
  const madeByIt = book.madeBy(found);
  if (found.key.role === "admin" && made === undefined && madeByIt.length > 0) throw needsChoice(madeByIt.length);
  const kept = made === "keep";
  refuseLastAdmin(deps, book, kept ? [found] : [found, ...madeByIt]);
  if (kept) await release(deps, found, madeByIt);
  // The key itself goes first: without it none of the others is good, whatever happens before they are gone.
  for (const { secret, key } of kept ? [found] : [found, ...madeByIt]) {
    const { namespace, name = "", uid = "" } = secret.metadata;
    await deps.client.delete(Secrets, { namespace, name }, { preconditions: { uid } }).catch(unlessGone);
    book.revoked(key.id);
  }
}

function needsChoice(count: number): ServiceError {
  const keys = count === 1 ? "1 key that is" : `${count} keys that are`;
  return new ServiceError("conflict", `this admin key has made ${keys} still good: say whether to revoke or to keep them (made)`, {
    field: "query.made",
    available: ["revoke", "keep"],
  });
}

/** Removes their maker. Keys that they made themselves keep theirs. */
async function release(deps: KeyServiceDeps, { secret: { metadata } }: KnownKey, made: readonly KnownKey[]): Promise<void> {
  for (const { secret } of made) {
    if (secret.metadata.ownerReferences?.some(({ uid }) => uid === metadata.uid) !== true) continue;
    const { namespace, name = "" } = secret.metadata;
    const patch = { type: "merge", body: { metadata: { ownerReferences: null } } } as const;
    deps.secrets.remember(await deps.client.patch(Secrets, { namespace, name }, patch));
  }
}

function* visibleKeys(book: KeyBook, caller: Caller): Generator<ApiKeyView> {
  for (const { secret, key } of book.all()) {
    if (!owns(caller, secret)) continue;
    const { hash: _, ...view } = key;
    yield view;
  }
}

/** No key could create an admin key again. Two processes can each revoke one of the last two keys at the same moment; a Secret can repair that. */
function refuseLastAdmin({ clock }: KeyServiceDeps, book: KeyBook, doomed: readonly KnownKey[]): void {
  if (!doomed.some(({ key }) => key.role === "admin")) return;
  const ids = new Set(doomed.map(({ key }) => key.id));
  for (const { key } of book.all()) {
    if (key.role === "admin" && !ids.has(key.id) && !hasExpired(key, clock.now())) return;
  }
  const those = ids.size === 1 ? "this is the last admin key" : "no admin key would be left: all others were made by this one";
  throw new ServiceError("conflict", `${those}; create another one first, or keep the keys created with it`);
}

function unlessGone(error: unknown): void {
  if (!isApiError(error, "NotFound")) throw error;
}
