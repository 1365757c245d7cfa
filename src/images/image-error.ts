/** What can go wrong with an image. One class, a closed list of codes: callers decide by `code`, never by text. */
export type ImageErrorCode =
  /** The text is not an image reference. */
  | "invalid_reference"
  /** The pull secret, or a setting for a registry, cannot be understood. */
  | "invalid_config"
  /** The registry wants credentials, or others. */
  | "unauthorized"
  /** The registry has no such repository, tag or blob. Some registries answer so when credentials are missing. */
  | "not_found"
  /** Asked too often; `retryAfterMs` says when to come back, if the registry said so. */
  | "rate_limited"
  /** The registry's certificate is not trusted, or the other side does not speak TLS. */
  | "tls"
  /** Its address, or one that it sends us to, is closed to registries (registry/outbound.ts), or there is no such name. */
  | "not_allowed"
  /** No answer, or it broke off. */
  | "unreachable"
  /** The registry answered that it has failed. */
  | "registry_failed"
  /** The registry answered with something that is not the registry protocol. */
  | "registry_protocol"
  /** Well-formed, but of a sort that we do not handle. */
  | "unsupported"
  /** The image does not exist for the wanted operating system and processor. */
  | "no_platform"
  /** A manifest, config, archive or layer is not in the form that it must have. */
  | "broken_content"
  /** Bytes are not the ones that their digest or size promises. */
  | "digest_mismatch"
  /** A layer tries what no honest layer does: leave its folder, make a device, … */
  | "hostile_layer"
  /** More bytes, entries or links than the limits allow. */
  | "too_large"
  /** More than the team may have on this machine. */
  | "team_limit"
  /** Not in the store, and the pull policy forbids asking a registry. */
  | "not_present"
  /** The store's disk refused: full, read-only, broken. */
  | "storage";

export interface ImageErrorDetails {
  readonly retryAfterMs?: number | undefined;
  /** What only an admin may read: addresses, what a server answered. Never part of the message, which tenants see. */
  readonly detail?: string | undefined;
  readonly cause?: unknown;
}

export class ImageError extends Error {
  override readonly name = "ImageError";
  readonly code: ImageErrorCode;
  readonly retryAfterMs: number | undefined;
  readonly detail: string | undefined;

  constructor(code: ImageErrorCode, message: string, details: ImageErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.retryAfterMs = details.retryAfterMs;
    this.detail = details.detail;
  }
}

/** True when `error` is an ImageError of one of these codes, or of any if none is named. */
export function isImageError(error: unknown, ...codes: readonly ImageErrorCode[]): error is ImageError {
  return error instanceof ImageError && (codes.length === 0 || codes.includes(error.code));
}
