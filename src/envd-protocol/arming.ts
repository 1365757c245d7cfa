/**
 * How the control plane arms a waiting sandbox, and retires an ended one. Until it is armed, the daemon answers only `GET /health` and `POST /init`. An
 * `/init` is signed with the control plane's Ed25519 key over pod, boot, sandbox and body. So a program that can only reach a waiting pod cannot take it
 * over, a captured `/init` is worthless for any other boot, and a pod contains no secret.
 */
import type { KeyObject } from "node:crypto";

// Loaded at the first signature: a waiting daemon needs none, and node:crypto costs it 5 MB of memory.
const crypto = () => process.getBuiltinModule("node:crypto");

export const envdPort = 49_983;

/** Headers of /health, beside the bare 204 that E2B's clients expect. */
export const header = {
  bootId: "agentbox-boot-id",
  podUid: "agentbox-pod-uid",
  /** "yes" or "no". */
  armed: "agentbox-armed",
  sandboxId: "agentbox-sandbox-id",
  signature: "agentbox-signature",
} as const;

/** The subject of an `/init`: the signature covers all of it. */
export interface InitSubject {
  readonly podUid: string;
  readonly bootId: string;
  readonly sandboxId: string;
}

/** The body of `/init`. */
export interface InitBody {
  readonly accessToken?: string;
  /** Token of its ports. Clients of the interpreter send it with every request, and the access token with some. */
  readonly trafficToken?: string;
  readonly envVars?: Readonly<Record<string, string>>;
  readonly defaultUser?: string;
  readonly defaultWorkdir?: string;
  /** What the image runs by itself, for pods that want it. */
  readonly imageCommand?: ImageCommand;
}

export interface ImageCommand {
  readonly entrypoint: readonly string[];
  readonly cmd: readonly string[];
}

/**
 * The subject of a `/retire`: the sandbox has ended and nothing of it may continue while its container waits to be exchanged. A sandbox lives once, in one
 * pod, so the boot does not matter, and repeating the order changes nothing.
 */
export type RetireSubject = Pick<InitSubject, "podUid" | "sandboxId">;

function retireBytes({ podUid, sandboxId }: RetireSubject): Buffer {
  return Buffer.from(JSON.stringify(["agentbox-retire-v1", podUid, sandboxId]));
}

export function signRetire(key: KeyObject, subject: RetireSubject): string {
  return crypto().sign(null, retireBytes(subject), key).toString("base64");
}

export function isSignedRetire(key: KeyObject, subject: RetireSubject, signature: string): boolean {
  return crypto().verify(null, retireBytes(subject), key, Buffer.from(signature, "base64"));
}

/** The beginning of the signed text, which a waiting daemon knows already. JSON separates the parts whatever they contain. */
export function initSubject({ podUid, bootId }: Pick<InitSubject, "podUid" | "bootId">): string {
  return `["agentbox-init-v1",${JSON.stringify(podUid)},${JSON.stringify(bootId)},`;
}

function signedBytes({ sandboxId, ...subject }: InitSubject, body: Uint8Array): Buffer {
  const digest = crypto().createHash("sha256").update(body).digest("hex");
  return Buffer.from(`${initSubject(subject)}${JSON.stringify(sandboxId)},"${digest}"]`);
}

/** For the `agentbox-signature` header. */
export function signInit(key: KeyObject, subject: InitSubject, body: Uint8Array): string {
  return crypto().sign(null, signedBytes(subject, body), key).toString("base64");
}

export function isSignedInit(key: KeyObject, subject: InitSubject, body: Uint8Array, signature: string): boolean {
  return crypto().verify(null, signedBytes(subject, body), key, Buffer.from(signature, "base64"));
}

/** The public key in a pod's environment: base64 of its 32 bytes. */
export function publicKeyFromText(text: string): KeyObject {
  const raw = Buffer.from(text, "base64");
  if (raw.length !== 32) throw new Error(`the control plane's public key must be 32 bytes in base64, not ${raw.length} bytes`);
  return crypto().createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x: raw.toString("base64url") }, format: "jwk" });
}

export function publicKeyText(key: KeyObject): string {
  const { x } = (key.type === "private" ? crypto().createPublicKey(key) : key).export({ format: "jwk" });
  if (x === undefined) throw new Error("not an Ed25519 key");
  return Buffer.from(x, "base64url").toString("base64");
}
