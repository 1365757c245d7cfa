import { systemCall } from "./libc.ts";
import { hasCode } from "./system-call-error.ts";

/** Sets an extended attribute of a file; of a link itself, not of what it leads to. */
export function setExtendedAttribute(path: string, name: string, value: string): void {
  const bytes = Buffer.from(value);
  systemCall("lsetxattr", [path, name, bytes, bytes.length, 0], `${name} of ${path}`);
}

/** An extended attribute; undefined if the file has none of that name. */
export function getExtendedAttribute(path: string, name: string): string | undefined {
  const buffer = Buffer.alloc(256);
  try {
    return buffer.toString("utf8", 0, systemCall("lgetxattr", [path, name, buffer, buffer.length], `${name} of ${path}`));
  } catch (error) {
    if (hasCode(error, "ENODATA", "ENOTSUP", "EOPNOTSUPP")) return undefined;
    throw error;
  }
}
