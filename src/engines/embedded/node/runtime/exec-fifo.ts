import { closeSync, constants, openSync, readdirSync, readlinkSync, readSync, rmSync } from "node:fs";
import { onReadable } from "#engines/embedded/node/linux/libc.ts";
import { hasCode } from "#lib/native/files.ts";

/**
 * Starts a created container, as `runc start` does: its first process waits until this file is opened for reading, writes one byte
 * into it and becomes the container's program. If the file does not exist, the container has been started.
 * `ended` resolves if that process ends instead.
 */
export async function openExecFifo(path: string, ended: Promise<unknown>): Promise<void> {
  let fifo: number;
  try {
    fifo = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    if (hasCode(error, "ENOENT")) return;
    throw error;
  }
  try {
    await readableOr(fifo, ended);
    if (readSync(fifo, Buffer.alloc(1)) === 0) throw new Error("the container's first process ended before it was started");
    rmSync(path, { force: true });
  } finally {
    closeSync(fifo);
  }
}

async function readableOr(fifo: number, ended: Promise<unknown>): Promise<void> {
  let watch: { close(): void } | undefined;
  const readable = new Promise<void>((resolve) => {
    watch = onReadable(fifo, resolve);
  });
  await Promise.race([readable, ended]);
  watch?.close();
}

/**
 * True while the first process still waits to be started: then it holds the file open. That the file exists proves nothing: the
 * process that started the container may have been killed before it removed the file.
 */
export function waitsAtFifo(path: string, pid: number): boolean {
  const folder = `/proc/${pid}/fd`;
  try {
    return readdirSync(folder).some((name) => readlinkSync(`${folder}/${name}`) === path);
  } catch (error) {
    // It ended, or went on while we looked.
    if (hasCode(error, "ENOENT", "ESRCH", "EACCES")) return false;
    throw error;
  }
}
