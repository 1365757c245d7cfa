/**
 * The secrets of a sandbox. None is stored: each is derived from the sandbox's id and the control plane's private key. So it is the same at any time and
 * in every process with the key, and nothing else can create it.
 */
import { createHmac, hkdfSync, type KeyObject } from "node:crypto";

export interface SandboxTokens {
  /** Token of the daemon, for the creator of the sandbox. */
  accessTokenOf(sandboxId: string): string;
  /** Of its ports, where they are private. */
  trafficTokenOf(sandboxId: string): string;
}

/** Of the data of volumes, by their uids: a volume that is made again under an old name has another one. */
export function volumeTokens(privateKey: KeyObject): (uid: string) => string {
  return tokens(privateKey.export({ type: "pkcs8", format: "der" }), "volume");
}

export function sandboxTokens(privateKey: KeyObject): SandboxTokens {
  const secret = privateKey.export({ type: "pkcs8", format: "der" });
  return {
    accessTokenOf: tokens(secret, "access"),
    trafficTokenOf: tokens(secret, "traffic"),
  };
}

/** A key of its own for every use, so that one sort of token is never good for another. */
function tokens(secret: Buffer, use: string): (sandboxId: string) => string {
  const key = Buffer.from(hkdfSync("sha256", secret, "", `agentbox ${use} token v1`, 32));
  return (sandboxId) => createHmac("sha256", key).update(sandboxId).digest("base64url");
}
