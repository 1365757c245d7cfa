/** What is wrong with a request to create a sandbox, before anything is looked up. Each complaint names its field. */
import { isIPv6 } from "node:net";
import { formatDuration } from "#model/duration.ts";
import { checkUserMetadata, type TakenKeys } from "#sandbox/user-metadata.ts";
import { checkVariable } from "#services/inside/check-command.ts";
import type { CreateSandbox, PostStartHook } from "#services/sandbox-service.ts";
import { ServiceError } from "#services/service-error.ts";

const second = 1000;
const day = 24 * 60 * 60 * second;

/** Times in milliseconds, sizes in bytes. */
export const createLimits = {
  startupTimeout: { min: second, max: 60 * 60 * second },
  /** Or 0: none. */
  idleTimeout: { min: second, max: 30 * day },
  lifetime: { min: second, max: 30 * day },
  hookTimeout: { min: 100, max: 5 * 60 * second },
  hooks: 16,
  hookSize: 64 * 1024,
  envVars: 256,
  /** A daemon takes an order of 1 MiB. */
  envVarsSize: 512 * 1024,
  idempotencyKeyLength: 256,
  batch: 1000,
} as const;

/** Throws invalid_request for the first thing that is wrong. */
export function checkCreate(command: CreateSandbox): void {
  checkTime("startupTimeoutMs", command.startupTimeoutMs, createLimits.startupTimeout);
  if (command.idleTimeoutMs !== 0) checkTime("idleTimeoutMs", command.idleTimeoutMs, createLimits.idleTimeout);
  checkTime("lifetimeMs", command.lifetimeMs, createLimits.lifetime);
  checkEnvVars(command.envVars ?? {});
  checkHooks(command.postStartHooks ?? []);
  checkMaskHost("maskHost", command.maskHost);
  const { idempotencyKey } = command;
  if (idempotencyKey !== undefined && (idempotencyKey === "" || idempotencyKey.length > createLimits.idempotencyKeyLength)) {
    throw invalid("idempotencyKey", `must have 1 to ${createLimits.idempotencyKeyLength} characters, not ${idempotencyKey.length}`);
  }
}

/** It becomes the Host header of every request to the sandbox: a host with or without a port, and nothing that could end a header. */
const hostText =
  /^(?:(?<name>[A-Za-z0-9_](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9_])?)|\[(?<address>[0-9A-Fa-f:.]{2,45})\])(?::(?<port>\d{1,5}))?$/;

/** Throws invalid_request. `field` is what the caller knows it as. */
export function checkMaskHost(field: string, host: string | undefined): void {
  // The placeholder may also stand inside the name.
  if (host === undefined || (host.length <= 255 && isHost(host.replaceAll("${PORT}", "65535")))) return;
  throw invalid(field, "must be a host name or address, with or without a port, such as localhost:${PORT}");
}

function isHost(text: string): boolean {
  const { name, address, port = "1" } = hostText.exec(text)?.groups ?? {};
  const isNamed = name !== undefined && name.split(".").every((label) => label.length > 0 && label.length <= 63 && !/^-|-$/.test(label));
  return (isNamed || (address !== undefined && isIPv6(address))) && Number(port) >= 1 && Number(port) <= 65_535;
}

/** `taken` are the keys that the pods have from their template (W27). */
export function checkKeys({ labels, annotations, metadata }: CreateSandbox, taken: TakenKeys): void {
  const [first] = checkUserMetadata({ labels, annotations, metadata }, taken);
  if (first === undefined) return;
  throw new ServiceError("invalid_request", first.message, { field: first.key === "" ? first.field : `${first.field}.${first.key}` });
}

/** How many are wanted, and how many must be had. */
export function checkBatch({ count, atLeast = count }: { readonly count: number; readonly atLeast?: number }): number {
  if (!Number.isInteger(count) || count < 1 || count > createLimits.batch) {
    throw invalid("count", `must be a whole number from 1 to ${createLimits.batch}, not ${count}`);
  }
  if (!Number.isInteger(atLeast) || atLeast < 1 || atLeast > count) {
    throw invalid("atLeast", `must be a whole number from 1 to count (${count}), not ${atLeast}`);
  }
  return atLeast;
}

/** Also of changes: what a create takes is what may be set later. */
export function checkTime(field: string, ms: number | undefined, { min, max }: { readonly min: number; readonly max: number }): void {
  if (ms === undefined || (Number.isFinite(ms) && ms >= min && ms <= max)) return;
  throw invalid(field, `must be from ${formatDuration(min)} to ${formatDuration(max)}`);
}

function checkEnvVars(envVars: Readonly<Record<string, string>>): void {
  const entries = Object.entries(envVars);
  if (entries.length > createLimits.envVars)
    throw invalid("envVars", `has ${entries.length} entries; there may be ${createLimits.envVars}`);
  for (const [name, value] of entries) {
    // Also what looks odd is a name; but these cannot be told to any program.
    if (name === "" || /[=\0]/.test(name))
      throw invalid(`envVars.${name}`, "is no name of a variable: it is empty or has '=' or NUL in it");
    checkVariable(`envVars.${name}`, name, value);
  }
  const bytes = Buffer.byteLength(JSON.stringify(envVars));
  if (bytes > createLimits.envVarsSize) throw invalid("envVars", `has ${bytes} bytes; there may be ${createLimits.envVarsSize}`);
}

function checkHooks(hooks: readonly PostStartHook[]): void {
  if (hooks.length > createLimits.hooks) throw invalid("postStartHooks", `are ${hooks.length}; there may be ${createLimits.hooks}`);
  hooks.forEach((hook, index) => {
    const field = `postStartHooks[${index}]`;
    const bytes = Buffer.byteLength(JSON.stringify(hook));
    if (bytes > createLimits.hookSize) throw invalid(field, `has ${bytes} bytes; there may be ${createLimits.hookSize}`);
    if ("exec" in hook) checkExec(`${field}.exec`, hook.exec);
    else checkHttp(`${field}.http`, hook.http);
  });
}

function checkExec(field: string, { command, timeoutMs }: Extract<PostStartHook, { exec: unknown }>["exec"]): void {
  const [program = ""] = command;
  if (program === "") throw invalid(`${field}.command`, "must name a program");
  if (command.some((part) => part.includes("\0"))) throw invalid(`${field}.command`, "has NUL in it");
  checkTime(`${field}.timeoutMs`, timeoutMs, createLimits.hookTimeout);
}

const headerName = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
// Tabs and what can be seen: nothing that ends a line.
const headerValue = /^[\t\x20-\x7e\x80-\xff]*$/;

function checkHttp(field: string, http: Extract<PostStartHook, { http: unknown }>["http"]): void {
  const { port, path = "/", headers = {}, timeoutMs } = http;
  if (!Number.isInteger(port) || port < 1 || port > 65_535) throw invalid(`${field}.port`, `must be a port from 1 to 65535, not ${port}`);
  if (!/^\/[\x21-\x7e]*$/.test(path)) throw invalid(`${field}.path`, "must begin with '/' and have neither spaces nor control characters");
  for (const [name, value] of Object.entries(headers)) {
    if (!headerName.test(name) || !headerValue.test(value)) throw invalid(`${field}.headers.${name}`, "is no header of HTTP");
  }
  checkTime(`${field}.timeoutMs`, timeoutMs, createLimits.hookTimeout);
}

function invalid(field: string, message: string): ServiceError {
  return new ServiceError("invalid_request", `${field} ${message}`, { field });
}
