/**
 * Secrets that all processes share: the signing key of the control plane, and the first admin key for the administrator. The first process creates them;
 * the create decides which one that is, and all others read.
 */
import { createPrivateKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { CliError } from "#cli/failure.ts";
import { ifFound, isApiError } from "#kube/api-error.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import { type Secret, Secrets } from "#model/core-kinds.ts";
import type { KeyKeeper } from "#services/keys/first-admin-key.ts";

export interface SecretsDeps {
  readonly client: ObjectClient;
  readonly namespace: string;
}

const signing = { name: "agentbox-signing-key", field: "private.pem" };
const admin = { name: "agentbox-admin-key", field: "key" };

export async function signingKey(deps: SecretsDeps): Promise<KeyObject> {
  const pem = await madeOnce(deps, signing, () => generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }));
  const where = `the Secret ${deps.namespace}/${signing.name}`;
  const help = "put back the key that was there, or delete the Secret to get a new one: sandboxes that run now cannot be reached with it";
  let key: KeyObject;
  try {
    key = createPrivateKey(pem);
  } catch {
    // Not what the library says: its words may hold a part of the key.
    throw new CliError(`${where} holds no private key under ${signing.field}: ${help}`);
  }
  if (key.asymmetricKeyType === "ed25519") return key;
  throw new CliError(`${where} holds a key of type ${key.asymmetricKeyType ?? "unknown"}, not Ed25519: ${help}`);
}

/** For the administrator, to read with kubectl; after its deletion the key cannot be shown again. */
export function adminKeySecret(deps: SecretsDeps): KeyKeeper {
  const { client, namespace } = deps;
  return {
    read: () => read(deps, admin),
    write: (key) => madeOnce(deps, admin, () => key),
    forget: async () => {
      try {
        await client.delete(Secrets, { namespace, name: admin.name });
      } catch (error) {
        if (!isApiError(error, "NotFound")) throw error;
      }
    },
  };
}

interface Place {
  readonly name: string;
  readonly field: string;
}

/** Returns the existing value, or creates one; concurrent callers get the same value. */
async function madeOnce(deps: SecretsDeps, place: Place, make: () => string): Promise<string> {
  const there = await read(deps, place);
  if (there !== undefined) return there;
  const { client, namespace } = deps;
  const value = make();
  const data = { [place.field]: Buffer.from(value).toString("base64") };
  const secret: Secret = { metadata: { namespace, name: place.name }, type: "Opaque", data };
  try {
    await client.create(Secrets, secret);
    return value;
  } catch (error) {
    if (!isApiError(error, "AlreadyExists")) throw error;
    return (await read(deps, place)) ?? "";
  }
}

async function read({ client, namespace }: SecretsDeps, { name, field }: Place): Promise<string | undefined> {
  const secret = await ifFound(client.get(Secrets, { namespace, name }));
  return secret === undefined ? undefined : Buffer.from(secret.data?.[field] ?? "", "base64").toString();
}
