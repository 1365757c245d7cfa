/**
 * Texts that a browser keeps for the server and gives back: each carries a code that only a holder of the control plane's key can make. They can be read by
 * their holder, and not changed.
 */
import { createHmac, hkdfSync, type KeyObject, timingSafeEqual } from "node:crypto";

export interface SignedTextOptions {
  /** The control plane's. */
  readonly privateKey: KeyObject;
  /** A text for one purpose is none for another. */
  readonly purpose: string;
  readonly longest: number;
}

export class SignedText<Content> {
  readonly #key: Buffer;
  readonly #longest: number;

  constructor({ privateKey, purpose, longest }: SignedTextOptions) {
    const secret = privateKey.export({ type: "pkcs8", format: "der" });
    this.#key = Buffer.from(hkdfSync("sha256", secret, "", purpose, 32));
    this.#longest = longest;
  }

  write(content: Content): string {
    const body = Buffer.from(JSON.stringify(content)).toString("base64url");
    return `${body}.${this.#codeOf(body)}`;
  }

  /** Undefined for every text that no `write` with this key and purpose has made. */
  read(text: string): Content | undefined {
    const [body = "", code = "", ...more] = text.split(".");
    if (text.length > this.#longest || more.length > 0 || !isSame(code, this.#codeOf(body))) return undefined;
    // The code proves that the control plane's own key wrote it.
    return JSON.parse(Buffer.from(body, "base64url").toString("utf8")) as Content;
  }

  #codeOf(body: string): string {
    return createHmac("sha256", this.#key).update(body).digest("base64url");
  }
}

function isSame(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
