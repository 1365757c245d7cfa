/**
 * Bytes that come in pieces, kept in one place. A list of pieces would cost far more than its bytes where a sender that means harm sends them
 * one by one, and putting them together anew with each piece would cost their square.
 */

const smallest = 4096;

export class GrowingBuffer {
  #bytes = Buffer.alloc(0);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(piece: Uint8Array): void {
    const size = this.#size + piece.length;
    if (size > this.#bytes.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(smallest, size, 2 * this.#bytes.length));
      this.#bytes.copy(larger, 0, 0, this.#size);
      this.#bytes = larger;
    }
    this.#bytes.set(piece, this.#size);
    this.#size = size;
  }

  /** All of it, or its beginning. It is a copy, so nothing changes it later. */
  bytes(length = this.#size): Buffer {
    return Buffer.from(this.#bytes.subarray(0, Math.min(length, this.#size)));
  }

  /** Without a copy, and so only for at once. */
  view(): Buffer {
    return this.#bytes.subarray(0, this.#size);
  }

  /** Without its first bytes, which the reader has done with. */
  drop(length: number): void {
    this.#bytes.copy(this.#bytes, 0, length, this.#size);
    this.#size -= length;
  }
}
