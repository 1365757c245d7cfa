import type { IncomingMessage } from "node:http";
import { header, isSignedInit, publicKeyFromText, type InitBody } from "#envd-protocol/arming.ts";
import type { ArmedState } from "./armed-state.ts";

export interface Identity {
  readonly podUid: string;
  readonly bootId: string;
  /** Written by publicKeyText. */
  readonly controlPlaneKey: string;
}

export interface Answer {
  readonly status: number;
  readonly message?: string;
}

const bodyLimit = 1024 * 1024;

/** Arms the daemon if the control plane signed the request for exactly this boot. */
export async function answerInit(identity: Identity, state: ArmedState, request: IncomingMessage): Promise<Answer> {
  const { sandboxId, signature } = signedHeaders(request);
  if (sandboxId === undefined || signature === undefined) {
    return { status: 401, message: `an /init carries the headers ${header.sandboxId} and ${header.signature}` };
  }
  const body = await readBody(request);
  if (body === undefined) return { status: 413, message: `an /init has at most ${bodyLimit} bytes` };
  const { podUid, bootId, controlPlaneKey } = identity;
  if (!isSignedInit(publicKeyFromText(controlPlaneKey), { podUid, bootId, sandboxId }, body, signature)) {
    return { status: 401, message: "the signature is not the control plane's for this pod, boot, sandbox and body" };
  }
  const init = parseInit(body);
  if (typeof init === "string") return { status: 400, message: init };
  if (state.arm(sandboxId, init) === "taken") return { status: 409, message: `this daemon was armed before, for ${state.sandboxId}` };
  return { status: 204 };
}

/** Headers of every order: the sandbox and the signature. */
export function signedHeaders(request: IncomingMessage): {
  readonly sandboxId: string | undefined;
  readonly signature: string | undefined;
} {
  return { sandboxId: oneValue(request, header.sandboxId), signature: oneValue(request, header.signature) };
}

function oneValue(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name];
  return typeof value === "string" && value !== "" ? value : undefined;
}

async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > bodyLimit) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** The body, or an error message. */
export function parseInit(body: Buffer): InitBody | string {
  let value: unknown;
  try {
    value = body.length === 0 ? {} : JSON.parse(body.toString("utf8"));
  } catch (error) {
    return `the body is not JSON: ${error instanceof Error ? error.message : String(error)}`;
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return "the body must be a JSON object";
  const init = value as Record<string, unknown>;
  for (const field of ["accessToken", "trafficToken", "defaultUser", "defaultWorkdir"]) {
    if (init[field] !== undefined && typeof init[field] !== "string") return `${field} must be a string`;
  }
  return complaintOf(init) ?? init;
}

function complaintOf({ envVars = {}, imageCommand = { entrypoint: [], cmd: [] } }: Record<string, unknown>): string | undefined {
  if (!isStringMap(envVars)) return "envVars must be an object of strings";
  return isImageCommand(imageCommand) ? undefined : "imageCommand must have entrypoint and cmd, which are lists of strings";
}

function isImageCommand(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const { entrypoint, cmd } = value as Record<string, unknown>;
  return isStringList(entrypoint) && isStringList(cmd);
}

function isStringList(value: unknown): boolean {
  return Array.isArray(value) && value.every((own) => typeof own === "string");
}

function isStringMap(value: unknown): boolean {
  return (
    typeof value === "object" && value !== null && !Array.isArray(value) && Object.values(value).every((own) => typeof own === "string")
  );
}
