/**
 * X.509 certificates for a throw-away test server. `node:crypto` makes keys and signatures but no certificates, so this
 * file writes the little DER that they need; nothing here is meant for use outside tests.
 */
import { createPrivateKey, generateKeyPairSync, randomBytes, sign, type KeyObject } from "node:crypto";

/** PEM texts. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

export interface CertificateAuthority extends Certificate {
  readonly commonName: string;
}

export interface CertificateSubject {
  readonly commonName: string;
  /** The API server reads these as the groups of a client. */
  readonly organizations?: readonly string[];
}

/** A self-signed authority. */
export function certificateAuthority(commonName: string): CertificateAuthority {
  const { publicKey, privateKey } = ecKeys();
  const name = distinguishedName({ commonName });
  const isAuthority = extension("551d13", sequence(boolean(true)), true);
  const order = { issuer: name, subject: name, publicKey, signer: privateKey, extensions: [isAuthority] };
  return { commonName, ...issue(order, privateKey) };
}

export interface ServerNames {
  readonly hosts: readonly string[];
  /** IPv4. */
  readonly addresses: readonly string[];
}

const loopback: ServerNames = { hosts: ["localhost", "kubernetes.default.svc"], addresses: ["127.0.0.1"] };

/** For a server on loopback, or one with these names. */
export function serverCertificate(authority: CertificateAuthority, { hosts, addresses }: ServerNames = loopback): Certificate {
  const names = sequence(
    ...hosts.map((host) => tagged(0x82, Buffer.from(host, "ascii"))),
    ...addresses.map((address) => tagged(0x87, Buffer.from(address.split(".").map(Number)))),
  );
  return certificate(authority, { commonName: hosts[0] ?? "server" }, [extension("551d11", names), keyUsage(serverAuth)]);
}

export function clientCertificate(authority: CertificateAuthority, subject: CertificateSubject): Certificate {
  return certificate(authority, subject, [keyUsage(clientAuth)]);
}

const serverAuth = "2b06010505070301";
const clientAuth = "2b06010505070302";
const ecdsaWithSha256 = "2a8648ce3d040302";

interface Issue {
  readonly issuer: Buffer;
  readonly subject: Buffer;
  readonly publicKey: KeyObject;
  readonly signer: KeyObject;
  readonly extensions: readonly Buffer[];
}

function certificate(authority: CertificateAuthority, subject: CertificateSubject, extensions: readonly Buffer[]): Certificate {
  const { publicKey, privateKey } = ecKeys();
  const issuer = distinguishedName({ commonName: authority.commonName });
  const signer = createPrivateKey(authority.key);
  return issue({ issuer, subject: distinguishedName(subject), publicKey, signer, extensions }, privateKey);
}

function issue(order: Issue, privateKey: KeyObject): Certificate {
  const algorithm = sequence(oid(ecdsaWithSha256));
  const now = Date.now();
  const dayMs = 24 * 3600 * 1000;
  const toBeSigned = sequence(
    tagged(0xa0, integer(Buffer.from([2]))), // version 3
    integer(Buffer.concat([Buffer.from([1]), randomBytes(15)])),
    algorithm,
    order.issuer,
    sequence(generalizedTime(now - dayMs), generalizedTime(now + 365 * dayMs)),
    order.subject,
    order.publicKey.export({ type: "spki", format: "der" }),
    tagged(0xa3, sequence(...order.extensions)),
  );
  const signature = sign("sha256", toBeSigned, order.signer);
  return {
    cert: pem("CERTIFICATE", sequence(toBeSigned, algorithm, bitString(signature))),
    key: privateKey.export({ type: "pkcs8", format: "pem" }),
  };
}

function ecKeys(): { publicKey: KeyObject; privateKey: KeyObject } {
  return generateKeyPairSync("ec", { namedCurve: "P-256" });
}

function distinguishedName(subject: CertificateSubject): Buffer {
  const part = (type: string, value: string): Buffer => tagged(0x31, sequence(oid(type), tagged(0x0c, Buffer.from(value, "utf8"))));
  const organizations = (subject.organizations ?? []).map((name) => part("55040a", name));
  return sequence(...organizations, part("550403", subject.commonName));
}

function keyUsage(purpose: string): Buffer {
  return extension("551d25", sequence(oid(purpose)));
}

function extension(type: string, value: Buffer, critical = false): Buffer {
  return sequence(oid(type), ...(critical ? [boolean(true)] : []), tagged(0x04, value));
}

// DER: a tag, a length, the bytes.

function tagged(tag: number, ...contents: readonly Buffer[]): Buffer {
  const body = Buffer.concat(contents);
  return Buffer.concat([Buffer.from([tag, ...derLength(body.length)]), body]);
}

function derLength(length: number): readonly number[] {
  if (length < 0x80) return [length];
  if (length < 0x100) return [0x81, length];
  return [0x82, length >> 8, length & 0xff];
}

function sequence(...contents: readonly Buffer[]): Buffer {
  return tagged(0x30, ...contents);
}

function integer(bytes: Buffer): Buffer {
  return tagged(0x02, bytes);
}

function boolean(value: boolean): Buffer {
  return tagged(0x01, Buffer.from([value ? 0xff : 0]));
}

function oid(hex: string): Buffer {
  return tagged(0x06, Buffer.from(hex, "hex"));
}

function bitString(bytes: Buffer): Buffer {
  return tagged(0x03, Buffer.from([0]), bytes);
}

function generalizedTime(ms: number): Buffer {
  const text = new Date(ms).toISOString().replaceAll(/[-:T]|\.\d+/g, "");
  return tagged(0x18, Buffer.from(text, "ascii"));
}

function pem(label: string, der: Buffer): string {
  const lines = der.toString("base64").match(/.{1,64}/g) ?? [];
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ""].join("\n");
}
