/** The key that the control plane signs its orders to waiting daemons with. Made at the first start, and never shown. */
import { createPrivateKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { CliError } from "#cli/failure.ts";

export async function controlPlaneKey(file: string): Promise<KeyObject> {
  const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
  if (text === undefined) return makeKey(file);
  try {
    return createPrivateKey(text);
  } catch (error) {
    throw new CliError(`${file} holds no private key (${(error as Error).message}): put it back, or remove it to get a new one`);
  }
}

async function makeKey(file: string): Promise<KeyObject> {
  const { privateKey } = generateKeyPairSync("ed25519");
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  await writeFile(file, privateKey.export({ type: "pkcs8", format: "pem" }), { mode: 0o600, flag: "wx" });
  return privateKey;
}
