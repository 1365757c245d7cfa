/**
 * API keys: who a key is, and making, listing and revoking them.
 *
 * - `api-key.ts`         the text of a key, its hash and its id
 * - `key-secret.ts`      keys as Secrets
 * - `key-rights.ts`      who may make which key (pure)
 * - `first-admin-key.ts` the key that a new AgentBox starts with
 *
 * Reads come from the cache, so that no request waits for the server because of its key.
 */
import { timingSafeEqual } from "node:crypto";
import { isApiError } from "#kube/api-error.ts";
import type { Informer } from "#kube/informer/informer.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import type { Clock } from "#lib/clock.ts";
import { type Secret, Secrets } from "#model/core-kinds.ts";
import { type Caller, owns } from "../caller.ts";
import { ServiceError } from "../service-error.ts";
import { hashOfKey, isApiKey, isKeyId, keyIdOf, newApiKey } from "./api-key.ts";
import { type CreateKey, grantedKey } from "./key-rights.ts";
import { type ApiKeyView, hasExpired, keySecret, keySecretName, storedKey, type StoredKey } from "./key-secret.ts";

export interface KeyService {
  /** Undefined for everything that is no valid key; why is nobody's business. */
  authenticate(key: string): Caller | undefined;
  /** The only time that the key itself is shown. */
  create(caller: Caller, wish: CreateKey): Promise<CreatedKey>;
  /** Oldest first. */
  list(caller: Caller): readonly ApiKeyView[];
  revoke(caller: Caller, id: string): Promise<void>;
}

export interface CreatedKey extends ApiKeyView {
  readonly key: string;
}

export interface KeyServiceDeps {
  readonly client: ObjectClient;
  readonly secrets: Pick<Informer<Secret>, "get" | "remember" | "objects">;
  /** The system namespace. */
  readonly namespace: string;
  readonly clock: Clock;
  readonly newKey?: () => string;
}

export function openKeyService(deps: KeyServiceDeps): KeyService {
  // What was revoked here is over at once, however late the watch tells the cache.
  const revoked = new Set<string>();
  const find = (id: string): { readonly secret: Secret; readonly key: StoredKey } | undefined => {
    const secret = isKeyId(id) && !revoked.has(id) ? deps.secrets.get({ namespace: deps.namespace, name: keySecretName(id) }) : undefined;
    const key = secret && storedKey(secret);
    return secret === undefined || key === undefined ? undefined : { secret, key };
  };
  return {
    authenticate: (text) => {
      if (!isApiKey(text)) return undefined;
      const hash = hashOfKey(text);
      const key = find(keyIdOf(hash))?.key;
      if (key === undefined || !sameHash(key.hash, hash) || hasExpired(key, deps.clock.now())) return undefined;
      return callerWith(key);
    },
    create: async (caller, wish) => {
      const granted = grantedKey(caller, wish, find(caller.keyId)?.key, deps.clock.now());
      const text = (deps.newKey ?? newApiKey)();
      const hash = hashOfKey(text);
      deps.secrets.remember(await deps.client.create(Secrets, keySecret(deps.namespace, { hash, ...granted })));
      return { id: keyIdOf(hash), ...granted, key: text };
    },
    list: (caller) =>
      [...visibleKeys(deps, caller, revoked)].sort((a, b) => a.createdAt.localeCompare(b.createdAt) || a.id.localeCompare(b.id)),
    revoke: async (caller, id) => {
      const found = find(id);
      if (found === undefined || !owns(caller, found.secret))
        throw new ServiceError("not_found", `there is no API key ${JSON.stringify(id)}`);
      if (found.key.role === "admin") refuseLastAdmin(deps, found.key, revoked);
      await deps.client.delete(Secrets, { namespace: deps.namespace, name: keySecretName(id) }).catch(unlessGone);
      revoked.add(id);
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

function* visibleKeys({ secrets, namespace }: KeyServiceDeps, caller: Caller, revoked: ReadonlySet<string>): Iterable<ApiKeyView> {
  for (const secret of secrets.objects.list(namespace)) {
    const key = storedKey(secret);
    if (key === undefined || revoked.has(key.id) || !owns(caller, secret)) continue;
    const { hash: _, ...view } = key;
    yield view;
  }
}

/** Nobody could make an admin key again. Two that are revoked at the same moment by two processes get through; a Secret can mend that. */
function refuseLastAdmin(deps: KeyServiceDeps, last: StoredKey, revoked: ReadonlySet<string>): void {
  const admin: Caller = { role: "admin", team: "", keyId: "" };
  for (const key of visibleKeys(deps, admin, revoked)) {
    if (key.role === "admin" && key.id !== last.id && !hasExpired(key, deps.clock.now())) return;
  }
  throw new ServiceError("conflict", "this is the last admin key: create another one first");
}

function unlessGone(error: unknown): void {
  if (!isApiError(error, "NotFound")) throw error;
}
