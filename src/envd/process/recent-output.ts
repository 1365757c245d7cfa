/** The end of what a terminal wrote: enough to fill a screen again. */
const most = 64 * 1024;

export class RecentOutput {
  #pieces: Buffer[] = [];
  #size = 0;

  add(chunk: Buffer): void {
    this.#pieces.push(chunk.subarray(Math.max(0, chunk.length - most)));
    this.#size += chunk.length;
    // Twice the size, so that old output is not copied with every piece.
    if (this.#size > 2 * most) this.#join();
  }

  get bytes(): Buffer {
    this.#join();
    return this.#pieces[0] ?? Buffer.alloc(0);
  }

  /** A copy, so that a small rest does not hold large buffers. */
  #join(): void {
    const all = Buffer.concat(this.#pieces);
    this.#pieces = [Buffer.from(all.subarray(Math.max(0, all.length - most)))];
    this.#size = this.#pieces[0]?.length ?? 0;
  }
}
