/** Progress of a copy on a terminal: one line that is overwritten, after the first two seconds. */
import type { CliContext } from "../context.ts";
import { byteSize } from "../print/byte-size.ts";

const patienceMs = 2000;
const redrawMs = 200;

export class CopyProgress {
  readonly #context: CliContext;
  readonly #began: number;
  #files = 0;
  #bytes = 0;
  #shownAt = Number.NEGATIVE_INFINITY;

  constructor(context: CliContext) {
    this.#context = context;
    this.#began = context.clock.now();
  }

  readonly add = (bytes: number): void => {
    this.#files += 1;
    this.#bytes += bytes;
    const now = this.#context.clock.now();
    if (this.#context.stderr.isTTY !== true || now - this.#began < patienceMs || now - this.#shownAt < redrawMs) return;
    this.#shownAt = now;
    this.#context.stderr.write(`\r\u001b[2K${this.#text()} …`);
  };

  readonly skipped = (path: string): void => {
    this.#context.stderr.write(`skipped: ${path} (a socket, pipe or device)\n`);
  };

  finish(): void {
    if (this.#shownAt > Number.NEGATIVE_INFINITY) this.#context.stderr.write(`\r\u001b[2K${this.#text()}\n`);
  }

  #text(): string {
    return `${this.#files} files, ${byteSize(this.#bytes)}`;
  }
}
