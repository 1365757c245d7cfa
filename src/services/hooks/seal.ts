/**
 * What belongs to one sandbox and may hold secrets, as it is written on objects that many can read. The key is made from the control plane's private key, so every
 * process that serves creates can open what another one has sealed, and nothing else can (ADR 70).
 */
import { createCipheriv, createDecipheriv, hkdfSync, type KeyObject, randomBytes } from "node:crypto";

const algorithm = "aes-256-gcm";
const [nonceBytes, tagBytes] = [12, 16];
/** An API server keeps 256 KiB of annotations per object, and callers may bring 96 KiB of their own. */
const longestText = 64 * 1024;

export class Seal<T> {
  readonly #key: Buffer;

  /** `use`: what is sealed with one does not open with another. */
  constructor(privateKey: KeyObject, use: string) {
    const secret = privateKey.export({ type: "pkcs8", format: "der" });
    this.#key = Buffer.from(hkdfSync("sha256", secret, "", use, 32));
  }

  /** Undefined when they are too long for an annotation. */
  seal(sandboxId: string, content: T): string | undefined {
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv(algorithm, this.#key, nonce);
    // A copy on the pod of another sandbox does not open.
    cipher.setAAD(Buffer.from(sandboxId));
    const text = Buffer.concat([cipher.update(JSON.stringify(content), "utf8"), cipher.final()]);
    const sealed = Buffer.concat([nonce, cipher.getAuthTag(), text]).toString("base64url");
    return sealed.length > longestText ? undefined : sealed;
  }

  /** Undefined for what was not sealed for this sandbox with this key. */
  open(sandboxId: string, sealed: string): T | undefined {
    const bytes = Buffer.from(sealed, "base64url");
    if (bytes.length <= nonceBytes + tagBytes) return undefined;
    const decipher = createDecipheriv(algorithm, this.#key, bytes.subarray(0, nonceBytes));
    decipher.setAAD(Buffer.from(sandboxId));
    decipher.setAuthTag(bytes.subarray(nonceBytes, nonceBytes + tagBytes));
    try {
      const text = Buffer.concat([decipher.update(bytes.subarray(nonceBytes + tagBytes)), decipher.final()]);
      return JSON.parse(text.toString("utf8")) as T;
    } catch {
      return undefined;
    }
  }
}
