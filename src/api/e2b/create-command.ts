/** Translates a create of E2B's SDKs into a command. Pure. */
import { type Static, Type } from "typebox";
import type { TimeoutAction } from "#model/keys.ts";
import { withoutUndefined } from "#lib/without-undefined.ts";
import { createWishKeys } from "#model/keys.ts";
import { checkMaskHost } from "#services/creating/check-create.ts";
import type { CreateSandbox } from "#services/sandbox-service.ts";
import { ServiceError } from "#services/service-error.ts";
import { metadataWishes } from "./metadata-wishes.ts";
import { egressFields, egressOf, refuseMissingNetwork } from "./network-body.ts";
import { notYet } from "./not-yet.ts";
import { templateReference, type TemplateReference } from "./template-reference.ts";

const texts = Type.Record(Type.String(), Type.String());

/** Unknown fields are from later SDKs and are ignored, as E2B's server does. */
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
  volumeMounts: Type.Optional(
    // Read-only mounts are our extension.
    Type.Array(Type.Object({ name: Type.String(), path: Type.String(), readOnly: Type.Optional(Type.Boolean()) })),
  ),
  /** Our extension: selects the smallest size of the Env with this much. */
  cpuCount: Type.Optional(Type.Integer({ minimum: 1 })),
  memoryMB: Type.Optional(Type.Integer({ minimum: 1 })),
});

export type CreateBody = Static<typeof createBody>;

export interface CreateDefaults {
  /** The default if the request does not say. */
  readonly timeoutSeconds: number;
  /** Sandboxes have a token unless `secure` is false; sandboxes of the later API always have one. */
  readonly alwaysSecure: boolean;
  readonly maxTimeoutSeconds: number;
}

/** E2B's clients give up after a minute: by then they should know that no pod is free, instead of seeing a timeout. */
const waitMs = 45_000;

const mebibyte = 1024 * 1024;

export interface E2bCreate {
  readonly command: CreateSandbox;
  /** False: answer after the claim. */
  readonly wait: boolean;
}

export function createCommand(body: CreateBody, defaults: CreateDefaults): E2bCreate {
  refuseMissing(body);
  const { network = {} } = body;
  // A sandbox has no token only if the request says so: SDKs that leave out `secure` use the token of the answer.
  const secure = defaults.alwaysSecure || body.secure !== false;
  const privateTraffic = network.allowPublicTraffic === false;
  if (privateTraffic && !secure)
    throw invalid("network.allowPublicTraffic", "private traffic requires a secured sandbox: remove secure: false");
  checkMaskHost("network.maskRequestHost", network.maskRequestHost);
  const { wishes, isNotWaited, metadata } = metadataWishes(body.metadata);
  const command: CreateSandbox = {
    ...sourceOf(body, wishes.image),
    ...sizeOf(body),
    ...wishes,
    secure,
    waitMs,
    lifetimeMs: timeoutOf(body.timeout ?? defaults.timeoutSeconds, defaults.maxTimeoutSeconds) * 1000,
    onTimeout: timeoutActionOf(body),
    envVars: { E2B_TEMPLATE_ID: body.templateID, ...body.envVars },
    ...(privateTraffic ? { privateTraffic } : {}),
    ...(body.autoResume?.enabled === true ? { autoResume: true } : {}),
    ...withoutUndefined({
      metadata,
      egress: egressOf({ ...network, allow_internet_access: body.allow_internet_access }),
      maskHost: network.maskRequestHost,
      volumeMounts: someOf(body.volumeMounts),
    }),
  };
  return { command, wait: !isNotWaited };
}

function someOf<T>(list: readonly T[] = []): readonly T[] | undefined {
  return list.length === 0 ? undefined : list;
}

function sourceOf({ templateID }: CreateBody, wishedImage: string | undefined): TemplateReference {
  const reference = templateReference(templateID);
  if (reference.image === undefined || wishedImage === undefined || reference.image === wishedImage) return reference;
  throw invalid(
    "templateID",
    `names the image ${reference.image}, but metadata.${createWishKeys.image} names another one: remove one of them`,
  );
}

function sizeOf({ cpuCount: cpu, memoryMB }: CreateBody): Pick<CreateSandbox, "cpu" | "memory"> {
  return withoutUndefined({ cpu, memory: memoryMB === undefined ? undefined : memoryMB * mebibyte });
}

export function timeoutOf(seconds: number, max: number): number {
  if (seconds <= max) return seconds;
  throw invalid("timeout", `Timeout cannot be greater than ${max} seconds (the limit of this server)`);
}

function timeoutActionOf({ autoPause, autoPauseMemory }: CreateBody): TimeoutAction {
  if (autoPauseMemory === false && autoPause !== true) throw invalid("autoPauseMemory", "requires autoPause");
  if (autoPause !== true) return "kill";
  return autoPauseMemory === false ? "deep-pause" : "pause";
}

function refuseMissing({ mcp, iam, network = {} }: CreateBody): void {
  if (mcp !== undefined) throw notYet("mcp");
  if (iam !== undefined) throw notYet("iam tokens");
  refuseMissingNetwork(network);
}

function invalid(field: string, why: string): ServiceError {
  return new ServiceError("invalid_request", `${field}: ${why}`, { field });
}
