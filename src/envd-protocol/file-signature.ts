/**
 * Signed addresses of files: the holder may read or write one path without the access token. `v1_` and the unpadded base64 of a SHA-256 over path,
 * operation, user, token and, if given, the expiration.
 */

// Loaded at the first signature: see arming.ts.
const crypto = () => process.getBuiltinModule("node:crypto");

export type FileOperation = "read" | "write";

export interface SignedFile {
  /** As in the query. */
  readonly path: string;
  readonly operation: FileOperation;
  /** Empty if the query names none. */
  readonly user: string;
  /** Unix seconds. */
  readonly expiration?: number;
}

export function fileSignature(token: string, { path, operation, user, expiration }: SignedFile): string {
  const text = [path, operation, user, token, ...(expiration === undefined ? [] : [String(expiration)])].join(":");
  return `v1_${crypto().createHash("sha256").update(text).digest("base64").replaceAll("=", "")}`;
}

/** Takes the same time for any texts. */
export function isSameSecret(given: string, right: string): boolean {
  const digest = (text: string): Buffer => crypto().createHash("sha256").update(text).digest();
  return crypto().timingSafeEqual(digest(given), digest(right));
}
