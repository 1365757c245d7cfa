/**
 * The same request again, with the same key from the same caller, is the same sandbox: who does not know whether his create was done
 * may just repeat it. Only requests with a key pay for it, with one object that remembers the key: a ConfigMap named after it, so that
 * of several processes one makes it. It holds no part of the request but its hash.
 */
import { createHash } from "node:crypto";
import { isApiError } from "#kube/api-error.ts";
import { isLostRace } from "#kube/lost-race.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import type { Clock } from "#lib/clock.ts";
import { type ConfigMap, ConfigMaps } from "#model/core-kinds.ts";
import { labelKeys } from "#model/keys.ts";
import type { Caller } from "./caller.ts";
import { newSandboxId } from "./sandbox-id.ts";
import type { CreatedSandbox, CreateSandbox } from "./sandbox-service.ts";
import { ServiceError } from "./service-error.ts";
import { translated } from "./service-failure.ts";

export interface IdempotencyDeps {
  readonly client: ObjectClient;
  readonly clock: Clock;
  /** Where keys are kept. */
  readonly keysNamespace: string;
  /** How long a create may take at most: after that nobody can be making it any more. */
  readonly longestCreateMs: number;
}

export interface Making {
  readonly create: (sandboxId: string) => Promise<CreatedSandbox>;
  /** The sandbox if it was made, live or ended. */
  readonly find: (sandboxId: string) => Promise<CreatedSandbox | undefined>;
}

const keptMs = 24 * 3_600_000;

export async function createOnce(deps: IdempotencyDeps, caller: Caller, command: CreateSandbox, making: Making): Promise<CreatedSandbox> {
  const { idempotencyKey } = command;
  if (idempotencyKey === undefined) return making.create(newSandboxId(deps.clock.now()));
  const name = nameOf(caller, idempotencyKey);
  const request = hashOf(command);
  for (;;) {
    const known = await translated(read(deps, name));
    const note = known === undefined ? undefined : noteIn(known);
    if (note === undefined || known === undefined) {
      const fresh = await translated(write(deps, name, request));
      if (fresh !== undefined) return made(deps, fresh, making);
      continue;
    }
    if (note.request !== request) {
      throw new ServiceError("conflict", "the idempotency key was used for another request: use a new key", { field: "idempotencyKey" });
    }
    const there = await making.find(note.sandboxId);
    if (there !== undefined) return there;
    if (deps.clock.now() < note.until) {
      throw new ServiceError("conflict", "a request with this idempotency key is under way", { retryAfterSeconds: 1 });
    }
    // Its maker died before there was a sandbox: whoever removes the note makes a new one.
    await translated(remove(deps, known));
  }
}

/** Forgets keys that are old. Any number of processes may do it at once. */
export async function forgetOldKeys(deps: Pick<IdempotencyDeps, "client" | "clock" | "keysNamespace">): Promise<void> {
  const { client, clock, keysNamespace: namespace } = deps;
  let token: string | undefined;
  do {
    const page = await client.list(ConfigMaps, { namespace, labelSelector: labelKeys.idempotencyKey, limit: 500, continue: token });
    for (const known of page.items) if (clock.now() > (noteIn(known)?.until ?? 0) + keptMs) await remove(deps, known);
    token = page.continue;
  } while (token !== undefined && token !== "");
}

async function made(deps: IdempotencyDeps, note: ConfigMap, { create }: Making): Promise<CreatedSandbox> {
  try {
    return await create(noteIn(note)?.sandboxId ?? "");
  } catch (error) {
    // What failed may be tried again under the same key. If this fails as well the note runs out.
    await remove(deps, note).catch(() => {});
    throw error;
  }
}

interface Note {
  readonly sandboxId: string;
  readonly request: string;
  readonly until: number;
}

function noteIn({ data = {} }: ConfigMap): Note | undefined {
  const { sandboxId, request, until } = data;
  const at = Number(until);
  return sandboxId === undefined || request === undefined || !Number.isFinite(at) ? undefined : { sandboxId, request, until: at };
}

async function read({ client, keysNamespace: namespace }: IdempotencyDeps, name: string): Promise<ConfigMap | undefined> {
  try {
    return await client.get(ConfigMaps, { namespace, name });
  } catch (error) {
    if (isApiError(error, "NotFound")) return undefined;
    throw error;
  }
}

/** Undefined when somebody else was first. */
async function write(deps: IdempotencyDeps, name: string, request: string): Promise<ConfigMap | undefined> {
  const { client, clock, keysNamespace: namespace, longestCreateMs } = deps;
  const now = clock.now();
  const metadata = { namespace, name, labels: { [labelKeys.idempotencyKey]: "true" } };
  try {
    return await client.create(ConfigMaps, {
      metadata,
      data: { sandboxId: newSandboxId(now), request, until: String(now + longestCreateMs) },
    });
  } catch (error) {
    if (isApiError(error, "AlreadyExists")) return undefined;
    throw error;
  }
}

async function remove({ client }: Pick<IdempotencyDeps, "client">, { metadata }: ConfigMap): Promise<void> {
  const { namespace, name = "", uid } = metadata;
  try {
    await client.delete(ConfigMaps, { namespace, name }, { preconditions: { uid } });
  } catch (error) {
    if (!isLostRace(error)) throw error;
  }
}

/** Nobody can find out another's keys by the names of the objects. */
function nameOf({ role, team, user }: Caller, key: string): string {
  return `idempotency-${hash([role, team, user ?? null, key])}`;
}

function hashOf(command: CreateSandbox): string {
  return hash(Object.entries({ ...command, idempotencyKey: undefined }).sort(([left], [right]) => (left < right ? -1 : 1)));
}

function hash(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("hex").slice(0, 40);
}
