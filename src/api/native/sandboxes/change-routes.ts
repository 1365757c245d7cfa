/** Changes of a live sandbox: timeouts, pause and resume. */
import type { Clock } from "#lib/clock.ts";
import { withoutUndefined } from "#lib/without-undefined.ts";
import type { SandboxService, TimeoutChange } from "#services/sandbox-service.ts";
import { ServiceError } from "#services/service-error.ts";
import { requestSignal } from "#api/http/request-signal.ts";
import { spanMs } from "./create-command.ts";
import { type Route, route } from "#api/native/route.ts";
import { sandboxBody } from "./sandbox-body.ts";
import { oneSandboxSchema, pauseSchema, sandboxParams, type TimeoutBody, timeoutSchema } from "#api/native/schemas/sandbox.ts";

export interface ChangeRoutesDeps {
  readonly sandboxes: SandboxService;
  readonly clock: Clock;
}

const now = { status: 200, description: "The sandbox as it is now.", schema: oneSandboxSchema } as const;

export function changeRoutes({ sandboxes, clock }: ChangeRoutesDeps): readonly Route[] {
  return [setTimeouts(sandboxes, clock), pause(sandboxes), resume(sandboxes)];
}

function setTimeouts(sandboxes: SandboxService, clock: Clock): Route {
  return route({
    method: "PUT",
    path: "/sandboxes/{sandboxId}/timeout",
    name: "setTimeouts",
    summary: "Change when a sandbox ends by itself",
    params: sandboxParams,
    body: timeoutSchema,
    answers: [now],
    errors: ["not_found", "conflict"],
    fieldOf: (field, { endTime }) => (field === "lifetime" && endTime !== undefined ? "endTime" : field),
    handle: async ({ caller, params, body }) => {
      const change = timeoutChange(body, clock.now());
      return { sandbox: sandboxBody(await sandboxes.setTimeouts(caller(), params.sandboxId, change)) };
    },
  });
}

function pause(sandboxes: SandboxService): Route {
  return route({
    method: "POST",
    path: "/sandboxes/{sandboxId}/pause",
    name: "pauseSandbox",
    summary: "Pause a sandbox",
    description:
      "Freezes all processes; memory is kept and timeouts stop. Answers when all processes are frozen; without memory, when the checkpoint is there.",
    params: sandboxParams,
    body: pauseSchema,
    answers: [now],
    errors: ["not_found", "conflict", "timeout", "limit_reached", "unavailable", "not_implemented"],
    handle: async ({ caller, params, body, reply }) => ({
      sandbox: sandboxBody(
        await sandboxes.pause(caller(), params.sandboxId, requestSignal(reply), withoutUndefined({ memory: body?.memory })),
      ),
    }),
  });
}

function resume(sandboxes: SandboxService): Route {
  return route({
    method: "POST",
    path: "/sandboxes/{sandboxId}/resume",
    name: "resumeSandbox",
    summary: "Resume a paused sandbox",
    description:
      "The sandbox continues with the lifetime it had left, at least five minutes. One that was paused without memory gets a pod again, and begins anew there with its files.",
    params: sandboxParams,
    answers: [now],
    errors: ["not_found", "conflict", "timeout", "limit_reached", "no_capacity", "image_unavailable", "unavailable"],
    handle: async ({ caller, params, reply }) => ({
      sandbox: sandboxBody(await sandboxes.resume(caller(), params.sandboxId, requestSignal(reply))),
    }),
  });
}

function timeoutChange({ idleTimeout, lifetime, endTime, onlyLater }: TimeoutBody, at: number): TimeoutChange {
  if (idleTimeout === undefined && lifetime === undefined && endTime === undefined) {
    throw wrong("body", "needs at least one of idleTimeout, lifetime and endTime");
  }
  if (lifetime !== undefined && endTime !== undefined) throw wrong("endTime", "cannot be given together with lifetime");
  return withoutUndefined({
    idleTimeoutMs: spanMs(idleTimeout),
    lifetimeMs: endTime === undefined ? (lifetime === null ? null : spanMs(lifetime)) : timeLeft(endTime, at),
    onlyLater,
  });
}

function timeLeft(endTime: string, at: number): number {
  const left = Date.parse(endTime) - at;
  if (!(left > 0)) throw wrong("endTime", "must be in the future");
  return left;
}

function wrong(field: string, rule: string): ServiceError {
  return new ServiceError("invalid_request", `${field} ${rule}`, { field });
}
