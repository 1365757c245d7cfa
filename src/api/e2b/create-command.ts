/** A create of E2B's SDKs as the use case takes it. Pure. */
import { type Static, Type } from "typebox";
import { withoutUndefined } from "#lib/without-undefined.ts";
import type { CreateSandbox } from "#services/sandbox-service.ts";
import { ServiceError } from "#services/service-error.ts";
import { egressFields, egressOf, refuseMissingNetwork } from "./network-body.ts";
import { notYet } from "./not-yet.ts";

const texts = Type.Record(Type.String(), Type.String());

/** Fields that are not named here are those of later SDKs: passed over, as theirs does. */
export const createBody = Type.Object({
  templateID: Type.String({ minLength: 1 }),
  timeout: Type.Optional(Type.Integer({ minimum: 1 })),
  metadata: Type.Optional(texts),
  envVars: Type.Optional(texts),
  secure: Type.Optional(Type.Boolean()),
  allow_internet_access: Type.Optional(Type.Boolean()),
  autoPause: Type.Optional(Type.Boolean()),
  autoPauseMemory: Type.Optional(Type.Boolean()),
  autoResume: Type.Optional(Type.Object({ enabled: Type.Boolean() })),
  network: Type.Optional(
    Type.Object({
      ...egressFields,
      allowPublicTraffic: Type.Optional(Type.Boolean()),
      maskRequestHost: Type.Optional(Type.String()),
    }),
  ),
  mcp: Type.Optional(Type.Unknown()),
  iam: Type.Optional(Type.Unknown()),
  volumeMounts: Type.Optional(Type.Array(Type.Unknown())),
});

export type CreateBody = Static<typeof createBody>;

export interface CreateDefaults {
  /** Where the request says nothing. */
  readonly timeoutSeconds: number;
  /** Sandboxes have a token unless told otherwise; those of the later API always. */
  readonly alwaysSecure: boolean;
  readonly maxTimeoutSeconds: number;
}

/** Their clients give up after a minute: until then they should know that there is no place, and not only that nothing came. */
const waitMs = 45_000;

export function createCommand(body: CreateBody, defaults: CreateDefaults): CreateSandbox {
  refuseMissing(body);
  const { network = {} } = body;
  const secure = defaults.alwaysSecure || body.secure === true;
  const privateTraffic = network.allowPublicTraffic === false;
  if (privateTraffic && !secure) throw invalid("network.allowPublicTraffic", "private traffic needs a secured sandbox (secure: true)");
  if (body.autoPauseMemory === false && body.autoPause !== true) throw invalid("autoPauseMemory", "is only good with autoPause");
  return {
    from: poolOfTemplate(body.templateID),
    secure,
    waitMs,
    lifetimeMs: timeoutOf(body.timeout ?? defaults.timeoutSeconds, defaults.maxTimeoutSeconds) * 1000,
    onTimeout: body.autoPause === true ? "pause" : "kill",
    envVars: { E2B_TEMPLATE_ID: body.templateID, ...body.envVars },
    ...(privateTraffic ? { privateTraffic } : {}),
    ...(body.autoResume?.enabled === true ? { autoResume: true } : {}),
    ...withoutUndefined({
      metadata: body.metadata,
      egress: egressOf({ ...network, allow_internet_access: body.allow_internet_access }),
      maskHost: network.maskRequestHost,
    }),
  };
}

/** `[namespace/]name[:tag]`; every tag of a template is the pool as it is now. */
export function poolOfTemplate(templateId: string): string {
  return templateId.replace(/:[A-Za-z0-9._-]+$/, "");
}

export function timeoutOf(seconds: number, max: number): number {
  if (seconds <= max) return seconds;
  throw invalid("timeout", `Timeout cannot be greater than ${max} seconds (the limit of this server)`);
}

function refuseMissing({ mcp, iam, volumeMounts = [], network = {}, autoPauseMemory }: CreateBody): void {
  if (mcp !== undefined) throw notYet("mcp");
  if (iam !== undefined) throw notYet("iam tokens");
  if (volumeMounts.length > 0) throw notYet("volumeMounts");
  refuseMissingNetwork(network);
  if (autoPauseMemory === false) throw notYet("autoPauseMemory: false (a pause without memory)");
}

function invalid(field: string, why: string): ServiceError {
  return new ServiceError("invalid_request", `${field}: ${why}`, { field });
}
