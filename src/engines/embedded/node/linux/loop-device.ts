import { closeSync, openSync } from "node:fs";
import { systemCall } from "./libc.ts";
import { hasCode } from "#lib/native/files.ts";

const getFree = 0x4c82;
const configure = 0x4c0a;
const autoClear = 4;
/** struct loop_config: descriptor, block size, struct loop_info64 (232 bytes, flags at 52 in it), eight reserved words. */
const configSize = 8 + 232 + 64;
const flagsAt = 8 + 52;
const attempts = 100;

export interface LoopDevice {
  readonly path: string;
  /** To be closed once it is mounted: from then on it lasts as long as the mount. */
  readonly descriptor: number;
}

/** Makes a block device of a file. The kernel takes it away by itself when the last user is gone. */
export function attachLoop(file: string): LoopDevice {
  const backing = openSync(file, "r+");
  const control = openSync("/dev/loop-control", "r+");
  try {
    for (let attempt = 0; attempt < attempts; attempt++) {
      const path = `/dev/loop${systemCall("ioctl", [control, getFree, null], "find a free loop device")}`;
      const descriptor = openSync(path, "r+");
      try {
        configureLoop(descriptor, backing, file);
        return { path, descriptor };
      } catch (error) {
        closeSync(descriptor);
        // Another process took this device; ask for the next free one.
        if (!hasCode(error, "EBUSY")) throw error;
      }
    }
    throw new Error(`no free loop device for ${file} after ${attempts} attempts`);
  } finally {
    closeSync(control);
    closeSync(backing);
  }
}

function configureLoop(descriptor: number, backing: number, file: string): void {
  const config = Buffer.alloc(configSize);
  config.writeUInt32LE(backing, 0);
  // Through the page cache: what was written to a disk that is thrown away need not reach the machine's disk at all.
  config.writeUInt32LE(autoClear, flagsAt);
  systemCall("ioctl", [descriptor, configure, config], `loop device for ${file}`);
}
