/**
 * Reads a request from standard input: lines of base64, then a line with a dot. Lines, because a terminal passes on only complete lines of at most 4096
 * bytes; base64, because a terminal interprets many other characters. The sender waits for the answer, so no later input is read here.
 */
import { readSync } from "node:fs";

const end = ".\n";

/** Throws if the input ends before the request does. */
export function readRequest(descriptor: number): string {
  const buffer = Buffer.alloc(64 * 1024);
  const pieces: string[] = [];
  for (;;) {
    const size = readSome(descriptor, buffer);
    if (size === 0) throw new Error("the request was not sent");
    pieces.push(buffer.toString("latin1", 0, size));
    const last = pieces.slice(-2).join("");
    if (last.endsWith(end)) return Buffer.from(pieces.join("").slice(0, -end.length), "base64").toString("utf8");
  }
}

/** Another process may have set the descriptor to nonblocking. */
function readSome(descriptor: number, buffer: Buffer): number {
  for (;;) {
    try {
      return readSync(descriptor, buffer);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "EOF") return 0;
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
    }
  }
}
