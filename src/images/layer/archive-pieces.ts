const pieceSize = 256 * 1024;

/** An archive in pieces of one size: compressors are slow with small ones, and write something else for others. */
export async function* inPieces(archive: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
  let piece = Buffer.allocUnsafe(pieceSize);
  let filled = 0;
  for await (const part of archive) {
    for (let at = 0; at < part.length;) {
      const copied = part.copy(piece, filled, at);
      at += copied;
      filled += copied;
      if (filled < pieceSize) continue;
      yield piece;
      piece = Buffer.allocUnsafe(pieceSize);
      filled = 0;
    }
  }
  yield piece.subarray(0, filled);
}
