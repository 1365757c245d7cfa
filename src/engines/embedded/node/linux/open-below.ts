import { systemCall } from "./libc.ts";

/** `RESOLVE_*` of openat2. */
const noMagicLinks = 0x2n;
const noLinks = 0x4n;
const beneath = 0x8n;
const asRoot = 0x10n;
const closeOnExec = 0x8_0000;

/** Links are followed as if the folder were the root, so they cannot leave it. */
export const asInRoot = asRoot | noMagicLinks;
/** No link is followed, and nothing above the folder is reached. */
export const stayBelow = beneath | noLinks | noMagicLinks;

export interface OpenBelow {
  readonly flags: number;
  /** Of a file that is made. */
  readonly mode?: number;
  /** One of the two above. */
  readonly resolve: bigint;
}

/** Opens a path below an open folder whose contents are untrusted; closed with each program that this process starts. */
export function openBelow(folder: number, path: string, { flags, mode = 0, resolve }: OpenBelow): number {
  // struct open_how: flags, mode, resolve.
  const how = Buffer.alloc(24);
  how.writeBigUInt64LE(BigInt(flags | closeOnExec), 0);
  how.writeBigUInt64LE(BigInt(mode), 8);
  how.writeBigUInt64LE(resolve, 16);
  return systemCall("openat2", [folder, path, how, how.length], path);
}
