/** Fetches a blob, however often the connection breaks, and checks it. */
import { type Digest, digestOf } from "../digest.ts";
import { ImageError, isImageError } from "../image-error.ts";
import type { Descriptor } from "../manifest.ts";
import type { RemoteRepository } from "./remote-repository.ts";
import { pauseAfter, type RetryDeps } from "./retry.ts";

export interface DownloadOptions {
  /** Called with the number of bytes so far. */
  readonly onBytes?: ((bytes: number) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Breaks in a row without a single byte between them. */
const maxBreaks = 5;

/** Where a blob goes: into a store (content-store/blob-writer.ts), or into memory. */
export interface BlobSink {
  /** Bytes so far. */
  readonly written: number;
  write(chunk: Uint8Array): Promise<void>;
  reset(): Promise<void>;
  /** Fails with digest_mismatch if that is not what was written. */
  commit(promised: Digest): Promise<unknown>;
}

export interface Download {
  readonly repository: RemoteRepository;
  readonly descriptor: Descriptor;
  readonly writer: BlobSink;
}

/**
 * Fills the writer with the blob and commits it. Goes on where a connection broke; begins again when the content is
 * wrong and another source has it.
 */
export async function downloadBlob(deps: RetryDeps, download: Download, options: DownloadOptions = {}): Promise<void> {
  const { repository, descriptor, writer } = download;
  for (;;) {
    const seen = { source: 0 };
    try {
      await transfer(deps, download, seen, options);
      await writer.commit(descriptor.digest);
      return;
    } catch (error) {
      if (!isImageError(error, "digest_mismatch") || !repository.distrust(seen.source)) throw error;
      await writer.reset();
    }
  }
}

async function transfer(
  deps: RetryDeps,
  { repository, descriptor, writer }: Download,
  seen: { source: number },
  options: DownloadOptions,
): Promise<void> {
  const { digest, size } = descriptor;
  const { onBytes, signal } = options;
  for (let breaks = 0; writer.written < size;) {
    const before = writer.written;
    const part = await repository.blob(digest, before, signal);
    seen.source = part.source;
    try {
      await append(writer, part.content, { skip: before - part.from, size, onBytes });
      if (writer.written < size)
        throw new ImageError("unreachable", `the blob ${digest} broke off after ${writer.written} of ${size} bytes`);
    } catch (error) {
      breaks = writer.written > before ? 1 : breaks + 1;
      if (breaks > maxBreaks) throw error;
      await pauseAfter(deps, error, breaks, signal);
    }
  }
}

interface Appending {
  /** Bytes that we have already, sent again by a registry that cannot begin in the middle. */
  readonly skip: number;
  readonly size: number;
  readonly onBytes: ((bytes: number) => void) | undefined;
}

async function append(writer: BlobSink, content: AsyncIterable<Buffer>, { skip, size, onBytes }: Appending): Promise<void> {
  let left = skip;
  for await (const chunk of content) {
    const fresh = chunk.subarray(Math.min(left, chunk.length));
    left -= chunk.length - fresh.length;
    if (fresh.length === 0) continue;
    if (writer.written + fresh.length > size) {
      throw new ImageError("digest_mismatch", `more than the promised ${size} bytes came: damaged on its way, or tampered with`);
    }
    await writer.write(fresh);
    onBytes?.(writer.written);
  }
}

/** A small blob as a whole, such as a config. Its size is checked before it is fetched. */
export class BlobInMemory implements BlobSink {
  #chunks: Uint8Array[] = [];
  #written = 0;

  get written(): number {
    return this.#written;
  }

  get content(): Buffer {
    return Buffer.concat(this.#chunks);
  }

  async write(chunk: Uint8Array): Promise<void> {
    this.#chunks.push(chunk);
    this.#written += chunk.length;
  }

  async reset(): Promise<void> {
    this.#chunks = [];
    this.#written = 0;
  }

  async commit(promised: Digest): Promise<void> {
    const digest = digestOf(this.content);
    if (digest !== promised) {
      throw new ImageError("digest_mismatch", `what came as ${promised} is ${digest}: damaged on its way, or tampered with`);
    }
  }
}
