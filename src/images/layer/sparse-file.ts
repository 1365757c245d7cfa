/** Writes a new file and leaves out what is zero: such blocks take no room on the disk, and a layer of zeros costs nothing. */
import { fstatSync, ftruncateSync, writeSync } from "node:fs";

/** As file systems have it. */
const blockSize = 4096;
const zeros = Buffer.alloc(blockSize);
/** Of stat's blocks. */
const statBlockSize = 512;

export class SparseFile {
  readonly #fd: number;
  #size = 0;
  /** Behind the last byte that was written. */
  #end = 0;

  constructor(fd: number) {
    this.#fd = fd;
  }

  write(chunk: Buffer): void {
    let from = 0;
    for (let at = 0; at < chunk.length;) {
      const next = Math.min(chunk.length, at + blockSize - ((this.#size + at) % blockSize));
      if (isZero(chunk, at, next)) {
        this.#put(chunk, from, at);
        from = next;
      }
      at = next;
    }
    this.#put(chunk, from, chunk.length);
    this.#size += chunk.length;
  }

  /** Gives the file its length. Says what it takes on the disk. */
  finish(): number {
    if (this.#end < this.#size) ftruncateSync(this.#fd, this.#size);
    return fstatSync(this.#fd).blocks * statBlockSize;
  }

  #put(chunk: Buffer, from: number, to: number): void {
    for (let at = from; at < to;) at += writeSync(this.#fd, chunk, at, to - at, this.#size + at);
    if (to > from) this.#end = this.#size + to;
  }
}

function isZero(chunk: Buffer, from: number, to: number): boolean {
  return chunk[from] === 0 && chunk.compare(zeros, 0, to - from, from, to) === 0;
}
