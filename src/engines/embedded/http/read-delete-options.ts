import type { IncomingMessage } from "node:http";
import type { DeleteOptions } from "#kube/object-client.ts";
import type { Json } from "#model/meta.ts";
import { badRequest } from "./bad-request.ts";
import { dryRunFrom, propagationPolicyFrom } from "./query-options.ts";
import { isJsonObject, parseBody, readBody } from "./request-body.ts";

/** The DeleteOptions in a request's body; undefined when it has none. */
export async function readDeleteOptions(request: IncomingMessage): Promise<DeleteOptions | undefined> {
  const text = await readBody(request);
  if (text.trim() === "") return undefined;
  const body = parseBody(text, (why) => `couldn't get version/kind; ${why}`);
  const kind = body["kind"] ?? "DeleteOptions";
  if (kind !== "DeleteOptions") throw badRequest(`the body of a delete is a DeleteOptions, not a ${JSON.stringify(kind)}`);
  return {
    gracePeriodSeconds: wholeNumber(body["gracePeriodSeconds"], "gracePeriodSeconds"),
    propagationPolicy: propagationPolicyFrom(optionalText(body["propagationPolicy"], "propagationPolicy")),
    preconditions: preconditions(body["preconditions"]),
    dryRun: dryRunFrom(textList(body["dryRun"], "dryRun"), "DeleteOptions"),
  };
}

function preconditions(value: Json | undefined): DeleteOptions["preconditions"] {
  if (value === undefined || value === null) return undefined;
  if (!isJsonObject(value)) throw badRequest("preconditions must be an object");
  const { uid, resourceVersion } = value;
  return { uid: optionalText(uid, "preconditions.uid"), resourceVersion: optionalText(resourceVersion, "preconditions.resourceVersion") };
}

function wholeNumber(value: Json | undefined, field: string): number | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === "number" && Number.isInteger(value)) return value;
  throw badRequest(`${field} must be a whole number, not ${JSON.stringify(value)}`);
}

function optionalText(value: Json | undefined, field: string): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === "string") return value;
  throw badRequest(`${field} must be a string, not ${JSON.stringify(value)}`);
}

function textList(value: Json | undefined, field: string): readonly string[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value) && value.every((entry) => typeof entry === "string")) return value;
  throw badRequest(`${field} must be a list of strings, not ${JSON.stringify(value)}`);
}
