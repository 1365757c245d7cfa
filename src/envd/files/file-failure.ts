import { getSystemErrorMessage } from "node:util";

export type FailureKind = "not-found" | "exists" | "bad-path" | "forbidden" | "full" | "busy" | "other";

/** Classifies file system errors by their meaning for the caller. */
const kinds: Readonly<Record<string, FailureKind>> = {
  ENOENT: "not-found",
  EEXIST: "exists",
  ENOTEMPTY: "exists",
  ENOTDIR: "bad-path",
  EISDIR: "bad-path",
  ENAMETOOLONG: "bad-path",
  EINVAL: "bad-path",
  ELOOP: "bad-path",
  ENXIO: "bad-path",
  ENODEV: "bad-path",
  ERR_INVALID_ARG_VALUE: "bad-path",
  EROFS: "forbidden",
  EACCES: "forbidden",
  EPERM: "forbidden",
  ETXTBSY: "busy",
  EBUSY: "busy",
  ENOSPC: "full",
  EDQUOT: "full",
  EFBIG: "full",
  E2BIG: "bad-path",
  EOPNOTSUPP: "bad-path",
};

export function codeOf(error: unknown): string {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : "";
}

export function failureKind(error: unknown): FailureKind {
  return kinds[codeOf(error)] ?? "other";
}

/** The system's text without the name of the call. */
export function failureText(error: unknown): string {
  if (error instanceof Error && "errno" in error && typeof error.errno === "number") return getSystemErrorMessage(error.errno);
  return error instanceof Error ? error.message : String(error);
}
