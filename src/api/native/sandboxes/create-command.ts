/** Translates create requests into commands, and field names of the use case back into those of requests. Pure. */
import { withoutUndefined } from "#lib/without-undefined.ts";
import { parseDuration } from "#model/duration.ts";
import type { CreateSandbox, PostStartHook } from "#services/sandbox-service.ts";
import type { CreateBody, CreateHeaders, HookBody } from "#api/native/schemas/sandbox.ts";

export function createCommand(body: CreateBody, headers: CreateHeaders): CreateSandbox {
  const { poolName, startupTimeout, idleTimeout, lifetime, postStartHooks, ...rest } = body;
  return {
    ...rest,
    from: poolName,
    ...withoutUndefined({
      startupTimeoutMs: spanMs(startupTimeout),
      idleTimeoutMs: spanMs(idleTimeout),
      lifetimeMs: spanMs(lifetime),
      postStartHooks: postStartHooks?.map(hookCommand),
      idempotencyKey: headers["idempotency-key"],
    }),
  };
}

function hookCommand(hook: HookBody): PostStartHook {
  if ("exec" in hook) {
    const { timeout, ...exec } = hook.exec;
    return { exec: { ...exec, ...withoutUndefined({ timeoutMs: spanMs(timeout) }) } };
  }
  const { timeout, ...http } = hook.http;
  return { http: { ...http, ...withoutUndefined({ timeoutMs: spanMs(timeout) }) } };
}

/** The schemas accept only valid time spans. */
export function spanMs(text: string | undefined): number | undefined {
  return text === undefined ? undefined : parseDuration(text);
}

/** A service's field as the request calls it: `startupTimeoutMs` is `startupTimeout` in the request. */
export function createField(serviceField: string): string {
  if (serviceField === "from") return "poolName";
  if (serviceField === "idempotencyKey") return "header.idempotency-key";
  return serviceField.replace(/(imeout|lifetime)Ms$/, "$1");
}

export function batchField(serviceField: string): string {
  const field = createField(serviceField);
  return field === "count" || field === "atLeast" || field.startsWith("header.") ? field : `sandbox.${field}`;
}
