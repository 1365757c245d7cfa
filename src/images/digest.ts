/** Digests name content by its SHA-256. Others that the OCI specification allows are not in use and are refused. */
import { createHash } from "node:crypto";
import { ImageError } from "./image-error.ts";

export type Digest = `sha256:${string}`;

const digestPattern = /^sha256:[0-9a-f]{64}$/;

export function isDigest(text: string): text is Digest {
  return digestPattern.test(text);
}

/** The digest, or an error that says what `what` should have been. */
export function parseDigest(text: string, what: string): Digest {
  if (isDigest(text)) return text;
  throw new ImageError("broken_content", `${what} is ${JSON.stringify(text)}; it must be sha256: and 64 hexadecimal digits in lower case`);
}

export function digestOf(content: Uint8Array | string): Digest {
  return `sha256:${createHash("sha256").update(content).digest("hex")}`;
}

/** The part after `sha256:`, as file names use it. */
export function hexOf(digest: Digest): string {
  return digest.slice("sha256:".length);
}

/** A digest in the making. */
export class Digester {
  readonly #hash = createHash("sha256");

  update(chunk: Uint8Array): void {
    this.#hash.update(chunk);
  }

  digest(): Digest {
    return `sha256:${this.#hash.digest("hex")}`;
  }
}
