import type * as Zlib from "node:zlib";

/** Loaded at the first use of compression, which is rare: loading takes as long as everything else for a first command. */
export const zlib = (): typeof Zlib => process.getBuiltinModule("node:zlib");
