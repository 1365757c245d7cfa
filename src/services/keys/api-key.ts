/** The text of an API key: `e2b_` and 40 hex digits, which every version of the E2B SDKs takes too. Only its hash is ever kept. */
import { hash, randomBytes } from "node:crypto";

const form = /^e2b_[0-9a-f]{40}$/;

/** 64 bits of the hash: enough to tell keys apart, and of no use for guessing one. */
const idLength = 16;

export function newApiKey(): string {
  return `e2b_${randomBytes(20).toString("hex")}`;
}

export function isApiKey(text: string): boolean {
  return form.test(text);
}

/** A key is 160 random bits, so a fast hash without salt is as good as a slow one: there is nothing to guess from. */
export function hashOfKey(key: string): string {
  return hash("sha256", key, "hex");
}

/** What a key is called where it must not be seen: in names, lists and logs. */
export function keyIdOf(keyHash: string): string {
  return keyHash.slice(0, idLength);
}

export function isKeyId(text: string): boolean {
  return text.length === idLength && /^[0-9a-f]+$/.test(text);
}
