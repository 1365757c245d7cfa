/** Query parameters of a request, as options of the port. */
import type { DeleteOptions, ListOptions, WatchOptions, WriteOptions } from "#kube/object-client.ts";
import { badRequest, forbiddenOption, unsupportedOption } from "./bad-request.ts";

type Query = URLSearchParams;

export function wantsWatch(query: Query): boolean {
  return flag(query, "watch");
}

export function listOptions(query: Query): ListOptions {
  rejectVersionMatch(query);
  leastVersion(query);
  return {
    ...selectors(query),
    // 0 asks for no limit, as leaving it out does.
    limit: wholeNumber(query, "limit") || undefined,
    continue: nonEmpty(query, "continue"),
  };
}

/**
 * The version that an answer must not be older than; 0 when any will do. The store always answers from its newest state, which is
 * at least as new as any version it ever gave out: only a version that it did not give out can be asked for in vain.
 */
export function leastVersion(query: Query): number {
  const version = query.get("resourceVersion") ?? "";
  if (/^\d*$/.test(version)) return Number(version);
  throw badRequest(`invalid resource version: resourceVersion: Invalid value: ${JSON.stringify(version)}: must be a whole number`);
}

export function watchOptions(query: Query): WatchOptions {
  rejectVersionMatch(query);
  if (query.has("sendInitialEvents")) {
    throw forbiddenOption(
      "ListOptions",
      "sendInitialEvents",
      "this server does not stream initial lists: list first, then watch from there",
    );
  }
  const version = nonEmpty(query, "resourceVersion");
  return {
    ...selectors(query),
    // "0" asks for any state at all followed by the changes, which is what no version asks for.
    resourceVersion: version === "0" ? undefined : version,
    bookmarks: flag(query, "allowWatchBookmarks"),
    timeoutSeconds: wholeNumber(query, "timeoutSeconds"),
  };
}

/** `options` names the option object in complaints: CreateOptions, UpdateOptions or PatchOptions. */
export function writeOptions(query: Query, options: string): WriteOptions {
  return {
    dryRun: dryRunFrom(query.getAll("dryRun"), options),
    fieldValidation: fieldValidation(query, options),
    fieldManager: nonEmpty(query, "fieldManager"),
  };
}

export function deleteOptions(query: Query): DeleteOptions {
  return {
    dryRun: dryRunFrom(query.getAll("dryRun"), "DeleteOptions"),
    propagationPolicy: propagationPolicyFrom(nonEmpty(query, "propagationPolicy")),
    gracePeriodSeconds: wholeNumber(query, "gracePeriodSeconds"),
  };
}

export function dryRunFrom(values: readonly string[], options: string): boolean | undefined {
  if (values.length === 0) return undefined;
  if (values.every((value) => value === "All")) return true;
  throw unsupportedOption(options, "dryRun", JSON.stringify(values), ["All"]);
}

export function propagationPolicyFrom(value: string | undefined): DeleteOptions["propagationPolicy"] {
  if (value === undefined || value === "Background" || value === "Foreground" || value === "Orphan") return value;
  throw unsupportedOption("DeleteOptions", "propagationPolicy", JSON.stringify(value), ["Foreground", "Background", "Orphan", "nil"]);
}

function fieldValidation(query: Query, options: string): WriteOptions["fieldValidation"] {
  const value = nonEmpty(query, "fieldValidation");
  if (value === undefined || value === "Ignore" || value === "Warn" || value === "Strict") return value;
  throw unsupportedOption(options, "fieldValidation", JSON.stringify(value), ["", "Ignore", "Strict", "Warn"]);
}

function rejectVersionMatch(query: Query): void {
  const match = nonEmpty(query, "resourceVersionMatch");
  if (match === undefined) return;
  if (nonEmpty(query, "resourceVersion") === undefined) {
    throw forbiddenOption("ListOptions", "resourceVersionMatch", "resourceVersionMatch is forbidden unless resourceVersion is provided");
  }
  if (match !== "NotOlderThan") {
    throw unsupportedOption("ListOptions", "resourceVersionMatch", JSON.stringify(match), ["NotOlderThan"]);
  }
}

function selectors(query: Query): Pick<ListOptions, "labelSelector" | "fieldSelector"> {
  return { labelSelector: nonEmpty(query, "labelSelector"), fieldSelector: nonEmpty(query, "fieldSelector") };
}

function nonEmpty(query: Query, name: string): string | undefined {
  const value = query.get(name);
  return value === null || value === "" ? undefined : value;
}

function flag(query: Query, name: string): boolean {
  const value = query.get(name);
  if (value === null) return false;
  // `?watch` and `?watch=1` are as common as `?watch=true`.
  return !["false", "False", "FALSE", "f", "F", "0"].includes(value);
}

function wholeNumber(query: Query, name: string): number | undefined {
  const value = nonEmpty(query, name);
  if (value === undefined) return undefined;
  if (!/^-?\d{1,15}$/.test(value)) throw badRequest(`${name} must be a whole number, not ${JSON.stringify(value)}`);
  return Number(value);
}
