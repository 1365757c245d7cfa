/**
 * Decides which requests may read or write a file through the daemon: those with the access token or with a signed address (file-signature.ts). The
 * gateway asks the same before it resumes a sandbox for a request.
 */
import { fileSignature, isSameSecret, type FileOperation } from "./file-signature.ts";

export interface FileQuery {
  readonly path: string | undefined;
  readonly user: string | undefined;
  readonly signature: string | undefined;
  readonly expiration: string | undefined;
}

export function fileQuery(url: string): FileQuery {
  const question = url.indexOf("?");
  const query = new URLSearchParams(question < 0 ? "" : url.slice(question + 1));
  const get = (name: string): string | undefined => query.get(name) ?? undefined;
  return { path: get("path"), user: get("username"), signature: get("signature"), expiration: get("signature_expiration") };
}

export interface Presented {
  readonly query: FileQuery;
  readonly operation: FileOperation;
  /** The header X-Access-Token. */
  readonly token: string | undefined;
  readonly nowMs: number;
}

/** The reason of a refusal; undefined if the request may use the file. */
export function refusal(accessToken: string | undefined, { query, operation, token, nowMs }: Presented): string | undefined {
  if (accessToken === undefined || accessToken === "") return undefined;
  if (token !== undefined) return isSameSecret(token, accessToken) ? undefined : "access token present in header but does not match";
  return signatureRefusal(accessToken, query, { operation, nowMs });
}

function signatureRefusal(
  accessToken: string,
  { signature, expiration, path = "", user = "" }: FileQuery,
  { operation, nowMs }: Pick<Presented, "operation" | "nowMs">,
): string | undefined {
  if (signature === undefined) return "missing signature query parameter";
  // Without a path, the names in the body would decide what is written, and the signature would be valid for every file of the sandbox.
  if (path === "") return "a signature is good for the one path that it names: name it in the query";
  if (expiration !== undefined && !/^\d{1,15}$/.test(expiration)) return "signature_expiration must be a number of seconds";
  const end = expiration === undefined ? {} : { expiration: Number(expiration) };
  if (!isSameSecret(signature, fileSignature(accessToken, { path, operation, user, ...end }))) return "invalid signature";
  return (end.expiration ?? Infinity) * 1000 < nowMs ? "signature is already expired" : undefined;
}
