import { systemCall } from "./libc.ts";

const closeOnExec = 0x8_0000;
const setWindowSize = 0x5414;

export interface Pipe {
  readonly reader: number;
  readonly writer: number;
}

/** A real pipe: what Node makes for its children are sockets, and those cannot be opened again as /dev/stdout. */
export function openPipe(): Pipe {
  const pair = Buffer.alloc(8);
  systemCall("pipe2", [pair, closeOnExec], "pair");
  return { reader: pair.readInt32LE(0), writer: pair.readInt32LE(4) };
}

/** Tells the programs on a terminal how large it is now. */
export function resizeTerminal(descriptor: number, rows: number, cols: number): void {
  const size = Buffer.alloc(8);
  size.writeUInt16LE(rows, 0);
  size.writeUInt16LE(cols, 2);
  systemCall("ioctl", [descriptor, setWindowSize, size], `window size ${rows}×${cols}`);
}
