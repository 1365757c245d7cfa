import type * as Zlib from "node:zlib";

/** Loaded when something is compressed, which few requests are: it takes as long as all that a first command needs beside it. */
export const zlib = (): typeof Zlib => process.getBuiltinModule("node:zlib");
