import { randomInt } from "node:crypto";
import { isApiError } from "#kube/api-error.ts";
import type { WriteOptions } from "#kube/object-client.ts";
import { deepFreeze } from "#lib/deep-freeze.ts";
import type { ApiObject, ObjectMeta } from "#model/meta.ts";
import { asJson, copyJson } from "./json-tree.ts";
import { storeKey } from "./keys.ts";
import { requireNamespace } from "./namespace-lifecycle.ts";
import type { ObjectTable } from "./object-table.ts";
import { readBody } from "./read-body.ts";
import { alreadyExists, badRequest, invalid, unnamedFailure } from "./refusals.ts";
import { newMetadata } from "./server-metadata.ts";
import type { StoreState } from "./store-state.ts";

/** No vowels, and nothing that is mistaken for one: the alphabet of Kubernetes' own generated names. */
const nameAlphabet = "bcdfghjklmnpqrstvwxz2456789";
const suffixLength = 5;
const longestPrefix = 63 - suffixLength;
const nameAttempts = 8;

export function createObject(state: StoreState, table: ObjectTable, object: ApiObject, options: WriteOptions): ApiObject {
  const given = readBody(table, asJson(copyJson(object)), { fieldValidation: options.fieldValidation, patched: false });
  checkNamespace(state, table, given.metadata);
  const { name, generateName } = given.metadata;
  const dryRun = options.dryRun === true;
  if (name !== undefined || generateName === undefined) return insert(state, table, prepare(state, table, given), dryRun);
  for (let attempt = 1; ; attempt++) {
    const named = { ...given, metadata: { ...given.metadata, name: generatedName(generateName) } };
    try {
      return insert(state, table, prepare(state, table, named), dryRun);
    } catch (error) {
      if (attempt === nameAttempts || !isApiError(error, "AlreadyExists")) throw error;
    }
  }
}

function checkNamespace(state: StoreState, { type }: ObjectTable, { namespace, name = "" }: ObjectMeta): void {
  if (!type.namespaced) return;
  if (namespace === undefined) throw badRequest("an empty namespace may not be set during creation");
  requireNamespace(state, type, namespace, name);
}

function insert(state: StoreState, table: ObjectTable, object: ApiObject, dryRun: boolean): ApiObject {
  const { namespace, name = "", generateName } = object.metadata;
  const key = storeKey(table.type, { namespace, name });
  const existing = table.get(key);
  if (existing !== undefined) {
    const terminating = existing.metadata.deletionTimestamp !== undefined;
    throw alreadyExists(table.type, name, { generated: generateName !== undefined, terminating });
  }
  return dryRun ? deepFreeze(object) : (state.commit({ table, key, object }) ?? object);
}

/** The object as it would be stored, but for its version. */
function prepare({ clock }: StoreState, { type, rules, traits }: ObjectTable, given: ApiObject): ApiObject {
  const prepared = rules.prepareForCreate({ ...given, metadata: placed(newMetadata(given.metadata, clock.now()), type.namespaced) });
  const made = traits.countsGenerations ? { ...prepared, metadata: { ...prepared.metadata, generation: 1 } } : prepared;
  const causes = rules.validateCreate(made);
  if (causes.length > 0) throw invalid(type, made.metadata.name ?? "", causes);
  const { resourceVersion = "0" } = given.metadata;
  if (resourceVersion !== "0") throw unnamedFailure("resourceVersion should not be set on objects to be created");
  return made;
}

/** Cluster-scoped objects have no namespace, even if the client names one. */
function placed({ namespace, ...metadata }: ObjectMeta, namespaced: boolean): ObjectMeta {
  return namespaced && namespace !== undefined ? { ...metadata, namespace } : metadata;
}

function generatedName(prefix: string): string {
  const suffix = Array.from({ length: suffixLength }, () => nameAlphabet[randomInt(nameAlphabet.length)]).join("");
  return prefix.slice(0, longestPrefix) + suffix;
}
