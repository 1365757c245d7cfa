import { randomInt } from "node:crypto";
import type { WriteOptions } from "#kube/object-client.ts";
import { deepFreeze } from "#lib/deep-freeze.ts";
import type { ApiObject, JsonObject } from "#model/meta.ts";
import { asJson, copyJson } from "./json-tree.ts";
import { storeKey } from "./keys.ts";
import { requireNamespace } from "./namespace-lifecycle.ts";
import type { ObjectTable } from "./object-table.ts";
import { readBody } from "./read-body.ts";
import { alreadyExists, badRequest, invalid, unnamedFailure } from "./refusals.ts";
import { newMetadata, replicaCauses, tidyMetadata } from "./server-metadata.ts";
import type { StoreState } from "./store-state.ts";

/** No vowels, and nothing that is mistaken for one: the alphabet of Kubernetes' own generated names. */
const nameAlphabet = "bcdfghjklmnpqrstvwxz2456789";
const suffixLength = 5;
const longestPrefix = 63 - suffixLength;
const nameAttempts = 8;

export function createObject(state: StoreState, table: ObjectTable, object: ApiObject, options: WriteOptions): ApiObject {
  const body = asJson(copyJson(object));
  const { name, generateName } = tidyMetadata(body["metadata"]);
  const generate = name === undefined && typeof generateName === "string";
  for (let attempt = 1; ; attempt++) {
    const made = prepare(state, table, generate ? withGeneratedName(body, generateName) : body, options);
    const key = storeKey(table.type, { namespace: made.metadata.namespace, name: made.metadata.name ?? "" });
    const existing = table.get(key);
    if (existing === undefined) return options.dryRun === true ? deepFreeze(made) : (state.commit({ table, key, object: made }) ?? made);
    if (generate && attempt < nameAttempts) continue;
    throw alreadyExists(table.type, made.metadata.name ?? "", {
      generated: generateName !== undefined,
      terminating: existing.metadata.deletionTimestamp !== undefined,
    });
  }
}

/** The object as it would be stored, but for its version. */
function prepare(state: StoreState, table: ObjectTable, body: JsonObject, options: WriteOptions): ApiObject {
  const { type, rules, traits } = table;
  const read = readBody(table, body, { fieldValidation: options.fieldValidation, patched: false });
  const { namespace, resourceVersion, name = "" } = read.metadata;
  if (type.namespaced && namespace === undefined) throw badRequest("an empty namespace may not be set during creation");
  if (type.namespaced) requireNamespace(state, type, namespace ?? "", name);

  const owned = rules.prepareForCreate({ ...read, metadata: placed(newMetadata(read.metadata, state.clock.now()), type.namespaced) });
  const made = traits.countsGenerations ? { ...owned, metadata: { ...owned.metadata, generation: 1 } } : owned;
  const causes = [...rules.validateCreate(made), ...replicaCauses(made, type.scale?.specReplicasPath)];
  if (causes.length > 0) throw invalid(type, name, causes);
  if (resourceVersion !== undefined && resourceVersion !== "0") throw unnamedFailure("resourceVersion should not be set on objects to be created");
  return made;
}

/** Cluster-scoped objects have no namespace, even if the client names one. */
function placed({ namespace, ...metadata }: ApiObject["metadata"], namespaced: boolean): ApiObject["metadata"] {
  return namespaced && namespace !== undefined ? { ...metadata, namespace } : metadata;
}

function withGeneratedName(body: JsonObject, prefix: string): JsonObject {
  return { ...body, metadata: { ...tidyMetadata(body["metadata"]), name: generatedName(prefix) } };
}

function generatedName(prefix: string): string {
  const suffix = Array.from({ length: suffixLength }, () => nameAlphabet[randomInt(nameAlphabet.length)]).join("");
  return prefix.slice(0, longestPrefix) + suffix;
}
