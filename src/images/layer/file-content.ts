import { open } from "node:fs/promises";
import { ImageError } from "../image-error.ts";
import { printable } from "./layer-path.ts";
import { tarPadding } from "./tar-writer.ts";

const readSize = 256 * 1024;

/** The content of the file at `place` as it stands in an archive, behind the header for `name` that promised `size` bytes. */
export async function* fileContent(place: Buffer, name: string, size: number): AsyncGenerator<Buffer, void> {
  const file = await open(place, "r");
  try {
    for (let left = size; left > 0;) {
      const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(Math.min(left, readSize)));
      if (bytesRead === 0) throw new ImageError("broken_content", `${printable(name)} became shorter while it was packed`);
      left -= bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await file.close();
  }
  yield tarPadding(size);
}
