import { readFileSync } from "node:fs";
import { hasCode } from "#lib/native/files.ts";

/** The text of a small file; undefined if there is none, or no longer: files of the kernel go while they are read. */
export function readIfPresent(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENODEV", "EINVAL")) return undefined;
    throw error;
  }
}
