/**
 * A repeated create with the same key from the same caller returns the same sandbox, so a caller that does not know if its create succeeded can repeat it.
 * Only requests with a key pay for this, with one object: a ConfigMap named after the key, so that only one of several processes can create it. It
 * contains a hash of the request, and no part of it. `forget-keys.ts` says how long it stays.
 */
import { createHash } from "node:crypto";
import { ifFound, isApiError } from "#kube/api-error.ts";
import { isLostRace } from "#kube/lost-race.ts";
import type { ObjectClient } from "#kube/object-client.ts";
import type { Clock } from "#lib/clock.ts";
import { type ConfigMap, ConfigMaps } from "#model/core-kinds.ts";
import { labelKeys } from "#model/keys.ts";
import type { Caller } from "#services/caller.ts";
import { newSandboxId } from "./sandbox-id.ts";
import type { CreatedSandbox, CreateSandbox } from "#services/sandbox-service.ts";
import { ServiceError } from "#services/service-error.ts";
import { translated } from "#services/service-failure.ts";

export interface IdempotencyDeps {
  readonly client: ObjectClient;
  readonly clock: Clock;
  /** Where keys are kept. */
  readonly keysNamespace: string;
  /** Maximum duration of a create: after that, no process can still be working on it. */
  readonly longestCreateMs: number;
  /** Told of each key that is remembered from now on. */
  readonly onNoted?: (() => void) | undefined;
}

export interface Making {
  /** `nextId`: a new id for the same request, where the sandbox of the last one has ended before it started. */
  readonly create: (sandboxId: string, nextId: () => Promise<string>) => Promise<CreatedSandbox>;
  /** The sandbox if it was made, live or ended. */
  readonly find: (sandboxId: string) => Promise<CreatedSandbox | undefined>;
}

export async function createOnce(deps: IdempotencyDeps, caller: Caller, command: CreateSandbox, making: Making): Promise<CreatedSandbox> {
  const { idempotencyKey } = command;
  if (idempotencyKey === undefined) {
    const newId = (): string => newSandboxId(deps.clock.now());
    return making.create(newId(), async () => newId());
  }
  const name = nameOf(caller, idempotencyKey);
  const request = hashOf(command);
  for (;;) {
    const known = await translated(read(deps, name));
    const note = known === undefined ? undefined : noteIn(known);
    if (note === undefined || known === undefined) {
      const fresh = await translated(write(deps, { name, team: caller.team }, request));
      if (fresh !== undefined) return made(deps, fresh, making);
      continue;
    }
    if (note.request !== request) {
      throw new ServiceError("conflict", "the idempotency key was used for another request: use a new key", {
        field: "idempotencyKey",
        idempotency: "mismatch",
      });
    }
    const there = await making.find(note.sandboxId);
    if (there !== undefined) return there;
    if (deps.clock.now() < note.until) {
      throw underWay();
    }
    // The creating process died before there was a sandbox: the process that removes the note creates a new one.
    await translated(remove(deps, known));
  }
}

function underWay(): ServiceError {
  return new ServiceError("conflict", "a request with this idempotency key is under way", {
    retryAfterSeconds: 1,
    idempotency: "in_progress",
  });
}

async function made(deps: IdempotencyDeps, note: ConfigMap, { create }: Making): Promise<CreatedSandbox> {
  let latest = note;
  const nextId = async (): Promise<string> => {
    latest = await translated(renoted(deps, latest));
    return noteIn(latest)?.sandboxId ?? "";
  };
  try {
    return await create(noteIn(note)?.sandboxId ?? "", nextId);
  } catch (error) {
    // What failed may be tried again under the same key. If this fails as well the note runs out.
    await remove(deps, note).catch(() => {});
    throw error;
  }
}

export interface Note {
  readonly sandboxId: string;
  readonly request: string;
  readonly until: number;
}

export function noteIn({ data = {} }: ConfigMap): Note | undefined {
  const { sandboxId, request, until } = data;
  const at = Number(until);
  return sandboxId === undefined || request === undefined || !Number.isFinite(at) ? undefined : { sandboxId, request, until: at };
}

async function read({ client, keysNamespace: namespace }: IdempotencyDeps, name: string): Promise<ConfigMap | undefined> {
  return ifFound(client.get(ConfigMaps, { namespace, name }));
}

/** Undefined if another process was first. */
async function write(
  deps: IdempotencyDeps,
  { name, team }: { readonly name: string; readonly team: string },
  request: string,
): Promise<ConfigMap | undefined> {
  const { client, clock, keysNamespace: namespace, longestCreateMs } = deps;
  const now = clock.now();
  const labels = { [labelKeys.idempotencyKey]: "true", ...(team !== "" && { [labelKeys.team]: team }) };
  try {
    const note = await client.create(ConfigMaps, {
      metadata: { namespace, name, labels },
      data: { sandboxId: newSandboxId(now), request, until: String(now + longestCreateMs) },
    });
    deps.onNoted?.();
    return note;
  } catch (error) {
    if (isApiError(error, "AlreadyExists")) return undefined;
    throw error;
  }
}

/** The note with a new sandbox id. Throws conflict where another request has taken the key: this one took longer than it may. */
async function renoted({ client, clock, longestCreateMs }: IdempotencyDeps, note: ConfigMap): Promise<ConfigMap> {
  const now = clock.now();
  const data = { ...note.data, sandboxId: newSandboxId(now), until: String(now + longestCreateMs) };
  try {
    return await client.update(ConfigMaps, { ...note, data });
  } catch (error) {
    throw isLostRace(error) ? underWay() : error;
  }
}

export async function remove({ client }: Pick<IdempotencyDeps, "client">, { metadata }: Pick<ConfigMap, "metadata">): Promise<void> {
  const { namespace, name = "", uid } = metadata;
  try {
    await client.delete(ConfigMaps, { namespace, name }, { preconditions: { uid } });
  } catch (error) {
    if (!isLostRace(error)) throw error;
  }
}

/** The names of the objects must not reveal other callers' keys. */
function nameOf({ role, team, user }: Caller, key: string): string {
  return `idempotency-${hash([role, team, user ?? null, key])}`;
}

function hashOf(command: CreateSandbox): string {
  return hash(Object.entries({ ...command, idempotencyKey: undefined }).sort(([left], [right]) => (left < right ? -1 : 1)));
}

function hash(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("hex").slice(0, 40);
}
