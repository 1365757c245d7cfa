/** Options of a create that E2B's SDKs have no fields for, sent as keys of the metadata. These keys are not stored. Pure. */
import { withoutUndefined } from "#lib/without-undefined.ts";
import { createWishKeys as keys } from "#model/keys.ts";
import type { CreateSandbox } from "#services/sandbox-service.ts";
import { ServiceError } from "#services/service-error.ts";

export interface MetadataWishes {
  readonly wishes: Pick<CreateSandbox, "image" | "scalingGroup" | "instanceType" | "multiplier" | "startupTimeoutMs">;
  /** Answer after the claim, while the sandbox starts. */
  readonly isNotWaited: boolean;
  /** The metadata to store; undefined if the request has none. */
  readonly metadata: Readonly<Record<string, string>> | undefined;
}

const wishKeys: ReadonlySet<string> = new Set(Object.values(keys));

/** Throws invalid_request. */
export function metadataWishes(metadata: Readonly<Record<string, string>> | undefined): MetadataWishes {
  if (metadata === undefined || !Object.keys(metadata).some((key) => wishKeys.has(key)))
    return { wishes: {}, isNotWaited: false, metadata };
  const seconds = positiveNumber(metadata, keys.startupTimeout);
  return {
    wishes: withoutUndefined({
      image: textOf(metadata, keys.image),
      scalingGroup: textOf(metadata, keys.scalingGroup),
      instanceType: textOf(metadata, keys.instanceType),
      multiplier: positiveNumber(metadata, keys.multiplier),
      startupTimeoutMs: seconds === undefined ? undefined : seconds * 1000,
    }),
    isNotWaited: isTrue(metadata, keys.noWait),
    metadata: Object.fromEntries(Object.entries(metadata).filter(([key]) => !wishKeys.has(key))),
  };
}

type Metadata = Readonly<Record<string, string>>;

function textOf(metadata: Metadata, key: string): string | undefined {
  const text = metadata[key];
  if (text === "") throw invalid(key, "is empty");
  return text;
}

function positiveNumber(metadata: Metadata, key: string): number | undefined {
  const text = metadata[key];
  if (text === undefined) return undefined;
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw invalid(key, `must be a whole number of at least 1, not ${JSON.stringify(text)}`);
}

function isTrue(metadata: Metadata, key: string): boolean {
  const text = metadata[key] ?? "false";
  if (text === "true" || text === "false") return text === "true";
  throw invalid(key, `must be true or false, not ${JSON.stringify(text)}`);
}

function invalid(key: string, why: string): ServiceError {
  return new ServiceError("invalid_request", `metadata.${key}: ${why}`, { field: `metadata.${key}` });
}
