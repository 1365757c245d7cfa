import type { JsonPatchOperation } from "#kube/object-client.ts";
import { maxJsonDepth } from "#lib/json-depth.ts";
import type { Json, JsonObject } from "#model/meta.ts";
import { equalJson, isJsonArray, isJsonObject, setOwn, without } from "./json-tree.ts";

/** The operation cannot be done on this document, or its test does not hold. */
export class JsonPatchError extends Error {
  override readonly name = "JsonPatchError";
}

/** As many operations, and as much text in copies, as a kube-apiserver takes: each copy could double what there is. */
export const jsonPatchLimits = {
  operations: 10_000,
  copiedSize: 3 * 1024 * 1024,
  /** Fields and items of what is written anew on the way to each place. */
  steps: 5_000_000,
} as const;

/** What a patch may still cost. */
class Budget {
  #steps: number = jsonPatchLimits.steps;
  #copied: number = jsonPatchLimits.copiedSize;

  change(parent: Container): void {
    this.#steps -= isJsonArray(parent) ? parent.length : Object.keys(parent).length;
    if (this.#steps < 0) throw new JsonPatchError("it changes too much in too large lists and objects: send it in parts");
  }

  copy(value: Json): void {
    this.#copied = restAfter(value, this.#copied);
    if (this.#copied < 0) throw new JsonPatchError(`it copies more than ${jsonPatchLimits.copiedSize} bytes`);
  }
}

/** What is left of a size after this value; counted no further than that. */
function restAfter(value: Json, left: number): number {
  if (typeof value === "string") return left - value.length - 1;
  if (typeof value !== "object" || value === null) return left - 1;
  let rest = left - 1;
  for (const [key, item] of isJsonArray(value) ? value.entries() : Object.entries(value)) {
    if (rest < 0) return rest;
    rest = restAfter(item, typeof key === "string" ? rest - key.length : rest);
  }
  return rest;
}

/**
 * RFC 6902 on documents that are never changed: each operation copies the way to its place and shares the rest.
 * Like API servers, and beyond the RFC, it takes negative indexes (-1 is the last item) and lets a test for null hold where
 * an object has no such field.
 */
export function applyJsonPatch(document: Json, operations: readonly JsonPatchOperation[]): Json {
  const { operations: most } = jsonPatchLimits;
  if (operations.length > most) throw new JsonPatchError(`it has at most ${most} operations, not ${operations.length}`);
  const budget = new Budget();
  return operations.reduce((patched, operation) => applyOperation(patched, operation, budget), document);
}

function applyOperation(document: Json, operation: JsonPatchOperation, budget: Budget): Json {
  const change: Change = (within, at, edit) => changed(within, at, edit, budget);
  const path = parsePointer(operation.path);
  switch (operation.op) {
    case "add":
      return change(document, path, (parent, key) => add(parent, key, operation.value));
    case "replace":
      if (path.length === 0) return operation.value;
      return change(document, path, (parent, key) => replace(parent, key, operation.value));
    case "remove":
      return change(document, path, remove);
    case "move": {
      const from = parsePointer(operation.from);
      const value = read(document, from);
      return change(change(document, from, remove), path, (parent, key) => add(parent, key, value));
    }
    case "copy": {
      const value = read(document, parsePointer(operation.from));
      budget.copy(value);
      return change(document, path, (parent, key) => add(parent, key, value));
    }
    case "test":
      if (!equalJson(readForTest(document, path), operation.value)) throw new JsonPatchError(`test failed at ${operation.path}`);
      return document;
  }
}

function parsePointer(pointer: string): readonly string[] {
  if (pointer === "") return [];
  if (!pointer.startsWith("/")) throw new JsonPatchError(`a path is empty or begins with a slash, not ${JSON.stringify(pointer)}`);
  const parts = pointer.slice(1).split("/");
  if (parts.length > maxJsonDepth) throw new JsonPatchError(`a path has at most ${maxJsonDepth} parts, not ${parts.length}`);
  return parts.map((part) => part.replace(/~[01]/g, (escape) => (escape === "~1" ? "/" : "~")));
}

type Container = JsonObject | readonly Json[];

type Edit = (parent: Container, key: string) => Container;
type Change = (document: Json, path: readonly string[], edit: Edit) => Json;

/** A copy of the document in which the container at the path's end is replaced by what `edit` makes of it. */
function changed(document: Json, path: readonly string[], edit: Edit, budget: Budget): Json {
  const [key, ...rest] = path;
  if (key === undefined) throw new JsonPatchError("the whole document can only be replaced or tested");
  const parent = container(document, key);
  budget.change(parent);
  if (rest.length === 0) return edit(parent, key);
  return replace(parent, key, changed(child(parent, key), rest, edit, budget));
}

function read(document: Json, path: readonly string[]): Json {
  return path.reduce((value, key) => child(container(value, key), key), document);
}

function readForTest(document: Json, path: readonly string[]): Json {
  const key = path.at(-1);
  if (key === undefined) return document;
  const parent = read(document, path.slice(0, -1));
  return isJsonObject(parent) && !Object.hasOwn(parent, key) ? null : child(container(parent, key), key);
}

function container(value: Json, key: string): Container {
  if (isJsonArray(value) || isJsonObject(value)) return value;
  throw new JsonPatchError(`there is nothing that could have a "${key}"`);
}

function child(parent: Container, key: string): Json {
  const value = isJsonArray(parent) ? parent[indexOf(parent, key)] : Object.hasOwn(parent, key) ? parent[key] : undefined;
  if (value === undefined) throw new JsonPatchError(`there is no "${key}"`);
  return value;
}

function add(parent: Container, key: string, value: Json): Container {
  if (!isJsonArray(parent)) return withField(parent, key, value);
  const index = key === "-" ? parent.length : indexOf(parent, key, parent.length + 1);
  return parent.toSpliced(index, 0, value);
}

function replace(parent: Container, key: string, value: Json): Container {
  if (isJsonArray(parent)) return parent.with(indexOf(parent, key), value);
  if (!Object.hasOwn(parent, key)) throw new JsonPatchError(`there is no "${key}" to replace`);
  return withField(parent, key, value);
}

function remove(parent: Container, key: string): Container {
  if (isJsonArray(parent)) return parent.toSpliced(indexOf(parent, key), 1);
  if (!Object.hasOwn(parent, key)) throw new JsonPatchError(`there is no "${key}" to remove`);
  return without(parent, key);
}

function withField(parent: JsonObject, key: string, value: Json): JsonObject {
  const copy = { ...parent };
  setOwn(copy, key, value);
  return copy;
}

function indexOf(list: readonly Json[], key: string, places: number = list.length): number {
  const index = /^[+-]?\d+$/.test(key) ? Number(key) : Number.NaN;
  const place = index < 0 ? index + places : index;
  if (!(place >= 0 && place < places)) throw new JsonPatchError(`"${key}" is no place in a list of ${list.length}`);
  return place;
}
