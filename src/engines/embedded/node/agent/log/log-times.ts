/** When each part of a log was written. Containers write text without times, so the times at which we saw the file's size must do. */
export class LogTimes {
  readonly #marks: { readonly at: number; readonly size: number }[] = [];

  /** The file had this size now. True if it is another one than before. */
  mark(at: number, size: number): boolean {
    if (this.#marks.at(-1)?.size === size) return false;
    this.#marks.push({ at, size });
    // Long ago may be told less exactly than just now.
    if (this.#marks.length > maxMarks) for (let index = 1; index < this.#marks.length / 2; index++) this.#marks.splice(index, 1);
    return true;
  }

  /** The file begins anew. */
  clear(): void {
    this.#marks.length = 0;
  }

  /** Everything written since `time` is behind this offset; something before it may be too. */
  offsetAt(time: number): number {
    return this.#marks.findLast(({ at }) => at <= time)?.size ?? 0;
  }
}

const maxMarks = 600;
