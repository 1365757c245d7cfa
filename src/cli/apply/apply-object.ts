/** Applies one object: creates it, or patches it to match the file. */
import { ApiError, isApiError } from "#kube/api-error.ts";
import type { ObjectClient, WriteOptions } from "#kube/object-client.ts";
import { type Clock, sleep } from "#lib/clock.ts";
import type { ApiObject, JsonObject } from "#model/meta.ts";
import { apiVersionOf } from "#model/resource.ts";
import { CliError } from "../failure.ts";
import type { Manifest } from "../manifest/read-manifests.ts";
import { goJson } from "../print/go-json.ts";
import { lastAppliedAnnotation, lastAppliedTo, withLastApplied, withoutNulls } from "./last-applied.ts";
import { listKeysOf } from "./list-keys.ts";
import { threeWayMergePatch } from "./three-way-merge.ts";

export interface Applying {
  readonly client: ObjectClient;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** `client` sends no write at all, `server` lets the server try without keeping the result. */
  readonly dryRun: "none" | "client" | "server";
  readonly fieldValidation: "Strict" | "Warn" | "Ignore";
  readonly warn: (text: string) => void;
}

export type Outcome = "created" | "configured" | "unchanged";

/** After a conflict with another writer, the object is read again: this many times, the later ones after a second. */
const conflictRetries = 5;
const retriesAtOnce = 1;

export async function applyObject(applying: Applying, manifest: Manifest): Promise<Outcome> {
  if (manifest.name === "") throw nameless(manifest);
  const current = await find(applying, manifest);
  if (current === undefined) return await create(applying, manifest);
  if (current.metadata.annotations?.[lastAppliedAnnotation] === undefined) applying.warn(missingAnnotation(manifest));
  if (current.metadata.deletionTimestamp !== undefined) {
    applying.warn(`Warning: Detected changes to resource ${manifest.name} which is currently being deleted.\n`);
  }
  return await patch(applying, manifest, current);
}

async function create(applying: Applying, manifest: Manifest): Promise<Outcome> {
  if (applying.dryRun === "client") return "created";
  const object = withoutNulls(withLastApplied(manifest.object));
  try {
    await applying.client.create(manifest.type, object, writeOptions(applying));
    return "created";
  } catch (error) {
    throw during(error, `error when creating ${JSON.stringify(manifest.source)}`);
  }
}

async function patch(applying: Applying, manifest: Manifest, found: ApiObject): Promise<Outcome> {
  let current = found;
  for (let retry = 0; ; retry++) {
    const body = patchFor(manifest, current);
    if (Object.keys(body).length === 0) return "unchanged";
    if (applying.dryRun === "client") return "configured";
    try {
      await applying.client.patch(
        manifest.type,
        keyOf(manifest),
        { type: "merge", body: conditional(manifest, body, current) },
        writeOptions(applying),
      );
      return "configured";
    } catch (error) {
      if (!isApiError(error, "Conflict") || retry === conflictRetries) throw patchFailed(error, manifest, body);
    }
    if (retry >= retriesAtOnce) await sleep(applying.clock, 1000, applying.signal);
    current = await applying.client.get(manifest.type, keyOf(manifest), { signal: applying.signal });
  }
}

function patchFor(manifest: Manifest, current: ApiObject): JsonObject {
  return threeWayMergePatch({
    original: lastAppliedTo(current) ?? {},
    modified: asJson(withLastApplied(manifest.object)),
    current: asJson(current),
    listKeys: listKeysOf(manifest.type),
  });
}

/** A list merged here replaces the server's list, so the patch is conditional on the version that was merged. */
function conditional({ type }: Manifest, body: JsonObject, { metadata: { resourceVersion } }: ApiObject): JsonObject {
  if (listKeysOf(type) === undefined || resourceVersion === undefined) return body;
  const metadata = body["metadata"] as JsonObject | undefined;
  return { ...body, metadata: { ...metadata, resourceVersion } };
}

async function find({ client, signal }: Applying, manifest: Manifest): Promise<ApiObject | undefined> {
  try {
    return await client.get(manifest.type, keyOf(manifest), { signal });
  } catch (error) {
    if (isApiError(error, "NotFound")) return undefined;
    throw during(
      error,
      `error when retrieving current configuration of:\n${described(manifest)}\nfrom server for: ${JSON.stringify(manifest.source)}`,
    );
  }
}

function writeOptions({ dryRun, fieldValidation, signal }: Applying): WriteOptions {
  return { dryRun: dryRun === "server", fieldValidation, fieldManager: "agentbox-apply", signal };
}

function keyOf({ namespace, name }: Manifest): { namespace: string | undefined; name: string } {
  return { namespace, name };
}

/** Objects of the port are JSON; their types only add detail. */
function asJson(object: ApiObject): JsonObject {
  return object as unknown as JsonObject;
}

function during(error: unknown, doing: string): unknown {
  if (!isApiError(error)) return error;
  return new ApiError(error.reason, `${doing}: ${error.message}`, { ...error.details, cause: error, code: error.code });
}

function patchFailed(error: unknown, manifest: Manifest, body: JsonObject): unknown {
  const file = JSON.stringify(manifest.source);
  return during(
    error,
    `error when applying patch:\n${goJson(body)}\nto:\n${described(manifest)}\nfor: ${file}: error when patching ${file}`,
  );
}

function nameless(manifest: Manifest): CliError {
  const generate = manifest.object.metadata.generateName ?? "";
  if (generate !== "") return new CliError(`from ${generate}: cannot use generate name with apply`);
  return new CliError(
    `error when retrieving current configuration of:\n${described(manifest)}\nfrom server for: ${JSON.stringify(manifest.source)}: resource name may not be empty`,
  );
}

function described({ type, name, namespace }: Manifest): string {
  const version = type.group === "" ? `/${type.version}` : apiVersionOf(type);
  const what = `Resource: "${version}, Resource=${type.plural}", GroupVersionKind: "${version}, Kind=${type.kind}"`;
  return `${what}\nName: ${JSON.stringify(name)}, Namespace: ${JSON.stringify(namespace ?? "")}`;
}

function objectName({ type, name }: Manifest): string {
  return `${type.plural}/${name}`;
}

function missingAnnotation(manifest: Manifest): string {
  return (
    `Warning: resource ${objectName(manifest)} is missing the ${lastAppliedAnnotation} annotation which is required by agentbox apply. ` +
    "agentbox apply should only be used on resources created declaratively by agentbox apply. The missing annotation will be patched automatically.\n"
  );
}
