import { randomInt } from "node:crypto";
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
  const { type } = table;
  const given = readBody(table, asJson(copyJson(object)), { fieldValidation: options.fieldValidation, patched: false });
  const { name, generateName, namespace } = given.metadata;
  if (type.namespaced && namespace === undefined) throw badRequest("an empty namespace may not be set during creation");
  if (type.namespaced) requireNamespace(state, type, namespace ?? "", name ?? "");
  const generate = name === undefined && generateName !== undefined;
  for (let attempt = 1; ; attempt++) {
    const made = prepare(state, table, generate ? { ...given, metadata: { ...given.metadata, name: generatedName(generateName) } } : given);
    const key = storeKey(type, { namespace, name: made.metadata.name ?? "" });
    const existing = table.get(key);
    if (existing === undefined) return options.dryRun === true ? deepFreeze(made) : (state.commit({ table, key, object: made }) ?? made);
    if (generate && attempt < nameAttempts) continue;
    throw alreadyExists(type, made.metadata.name ?? "", {
      generated: generateName !== undefined,
      terminating: existing.metadata.deletionTimestamp !== undefined,
    });
  }
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
