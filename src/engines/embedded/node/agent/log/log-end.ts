import { closeSync, fstatSync, openSync, readSync } from "node:fs";

const maxBytes = 2_048;
const maxLines = 80;

/** The last lines of a file. At once: it is small, and whoever asks is in the middle of something. */
export function endOf(file: string): string {
  let handle: number | undefined;
  try {
    handle = openSync(file, "r");
    const { size } = fstatSync(handle);
    const buffer = Buffer.alloc(Math.min(size, maxBytes));
    readSync(handle, buffer, { position: size - buffer.length });
    return buffer.toString().split("\n").slice(-maxLines).join("\n");
  } catch {
    return "";
  } finally {
    if (handle !== undefined) closeSync(handle);
  }
}
