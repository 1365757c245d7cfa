/** The admin key that a new AgentBox starts with: made once, and not again when it is revoked. */
import { ifFound, isApiError } from "#kube/api-error.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import { ConfigMaps, Secrets } from "#model/core-kinds.ts";
import type { Clock } from "#lib/clock.ts";
import { hashOfKey, isApiKey, keyIdOf, newApiKey } from "./api-key.ts";
import { keySecret, keySecretName } from "./key-secret.ts";

export interface FirstAdminKeyDeps {
  readonly client: ObjectClient;
  readonly namespace: string;
  readonly clock: Clock;
  /** Where this process keeps the key for its user. */
  readonly keeper: KeyKeeper;
}

export interface KeyKeeper {
  read(): Promise<string | undefined>;
  /** Resolves with the stored key: another one if several processes share the store and another was faster. */
  write(key: string): Promise<string>;
  forget(): Promise<void>;
}

const noteName = "agentbox-first-admin-key";

/**
 * The new key, or undefined when there was one before or another process was faster. The keeper has it before the server knows it,
 * and the note that says "done" is written last: a start that is cut short anywhere goes on with the same key the next time.
 */
export async function ensureFirstAdminKey({ client, namespace, clock, keeper }: FirstAdminKeyDeps): Promise<string | undefined> {
  if ((await noted(client, namespace)) !== undefined) return undefined;
  const key = await keptKey(keeper);
  const hash = hashOfKey(key);
  const keyId = keyIdOf(hash);
  const createdAt = new Date(clock.now()).toISOString();
  await created(client.create(Secrets, keySecret(namespace, { hash, role: "admin", name: "first admin key", createdAt })));
  if (await created(client.create(ConfigMaps, { metadata: { namespace, name: noteName }, data: { keyId } }))) return key;
  // Two that share a keeper have made the same key, and it stays.
  if ((await noted(client, namespace)) === keyId) return undefined;
  await client.delete(Secrets, { namespace, name: keySecretName(keyId) });
  await keeper.forget();
  return undefined;
}

/** Id of the first key, in every process. */
async function noted(client: ObjectClient, namespace: string): Promise<string | undefined> {
  const note = await ifFound(client.get(ConfigMaps, { namespace, name: noteName }));
  return note === undefined ? undefined : (note.data?.["keyId"] ?? "");
}

async function keptKey(keeper: KeyKeeper): Promise<string> {
  const kept = await keeper.read();
  if (kept !== undefined && isApiKey(kept)) return kept;
  return keeper.write(newApiKey());
}

/** False when it was there already. */
async function created(write: Promise<unknown>): Promise<boolean> {
  try {
    await write;
    return true;
  } catch (error) {
    if (isApiError(error, "AlreadyExists")) return false;
    throw error;
  }
}
