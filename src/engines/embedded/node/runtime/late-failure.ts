/**
 * A program that the kernel refuses only when it is executed (a script without its interpreter, a file that is none): runc before 1.2 has said
 * by then that it runs, writes the reason to the command's own output and ends with 1 or 255. A shell has other codes for that.
 */
import type { Readable } from "node:stream";

/** No path is longer. */
const longestReason = 4096 + 64;
const reason = /^exec (\/[^\n]*): ([a-z ]+)\r?\n$/;
const codes: ReadonlySet<number> = new Set([1, 255]);

/** All that a command has written, as long as that could be such a reason. */
export class FirstWords {
  readonly #ended: Promise<unknown>;
  #said: string | undefined = "";

  constructor(...streams: readonly Readable[]) {
    const endings = streams.map((stream) => new Promise((resolve) => void stream.once("close", resolve)));
    const tooMuch = Promise.withResolvers<void>();
    this.#ended = Promise.race([Promise.all(endings), tooMuch.promise]);
    for (const stream of streams) {
      stream.on("data", (chunk: Buffer) => {
        if (this.#said === undefined) return;
        this.#said += chunk.toString("latin1");
        if (this.#said.length <= longestReason) return;
        this.#said = undefined;
        tooMuch.resolve();
      });
    }
  }

  /** The exit code as a shell would have it. Waits for the command's output to end where that must be known. */
  async shellCode(code: number): Promise<number> {
    if (!codes.has(code)) return code;
    await this.#ended;
    const why = reason.exec(this.#said ?? "")?.[2];
    if (why === undefined) return code;
    return why === "no such file or directory" ? 127 : 126;
  }
}
