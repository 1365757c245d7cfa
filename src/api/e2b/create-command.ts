/** A create of E2B's SDKs as the use case takes it. Pure. */
import { type Static, Type } from "typebox";
import { withoutUndefined } from "#lib/without-undefined.ts";
import type { EgressPolicy } from "#model/egress-policy.ts";
import type { CreateSandbox } from "#services/sandbox-service.ts";
import { ServiceError } from "#services/service-error.ts";

const texts = Type.Record(Type.String(), Type.String());
const networks = Type.Array(Type.String());

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
      allowOut: Type.Optional(networks),
      denyOut: Type.Optional(networks),
      allowPublicTraffic: Type.Optional(Type.Boolean()),
      maskRequestHost: Type.Optional(Type.String()),
      rules: Type.Optional(Type.Unknown()),
      egressProxy: Type.Optional(Type.Unknown()),
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
    lifetimeMs: timeoutOf(body.timeout ?? defaults.timeoutSeconds, defaults.maxTimeoutSeconds) * 1000,
    onTimeout: body.autoPause === true ? "pause" : "kill",
    envVars: { E2B_TEMPLATE_ID: body.templateID, ...body.envVars },
    ...(privateTraffic ? { privateTraffic } : {}),
    ...(body.autoResume?.enabled === true ? { autoResume: true } : {}),
    ...withoutUndefined({
      metadata: body.metadata,
      egress: egressOf(body),
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

function egressOf({ allow_internet_access: internet, network = {} }: CreateBody): EgressPolicy | undefined {
  const { allowOut = [], denyOut = [] } = network;
  if (internet === undefined && allowOut.length === 0 && denyOut.length === 0) return undefined;
  const domain = [...allowOut, ...denyOut].find((one) => /[a-z]/i.test(one.replace(/^[0-9a-f:.]+(\/\d+)?$/i, "")));
  if (domain !== undefined) throw notYet(`network rules by domain name (${JSON.stringify(domain)}): give addresses or CIDR networks`);
  // Denying all and allowing some is how their clients say "only these".
  const isClosed = internet === false || denyOut.includes("0.0.0.0/0");
  return { internet: !isClosed, allow: allowOut, deny: denyOut.filter((one) => one !== "0.0.0.0/0") };
}

function refuseMissing({ mcp, iam, volumeMounts = [], network = {}, autoPauseMemory }: CreateBody): void {
  if (mcp !== undefined) throw notYet("mcp");
  if (iam !== undefined) throw notYet("iam tokens");
  if (volumeMounts.length > 0) throw notYet("volumeMounts");
  if (network.rules !== undefined && Object.keys(network.rules as object).length > 0) throw notYet("network.rules");
  if (network.egressProxy !== undefined && network.egressProxy !== null) throw notYet("network.egressProxy");
  if (autoPauseMemory === false) throw notYet("autoPauseMemory: false (a pause without memory)");
}

export function notYet(what: string): ServiceError {
  return new ServiceError("not_implemented", `AgentBox does not have this yet: ${what}`);
}

function invalid(field: string, why: string): ServiceError {
  return new ServiceError("invalid_request", `${field}: ${why}`, { field });
}
