/**
 * Certificates for one machine if none are configured: the first start creates an authority, and with it a certificate for `*.<domain>`. A machine that
 * trusts the authority (`agentbox trust`) can use every sandbox's address without warnings. Its key never leaves the data folder, and it can sign for that
 * domain only (`name-constraints.ts`). An authority for another domain, or without this limit, is replaced.
 */
import { generateKeyPairSync, randomBytes, X509Certificate } from "node:crypto";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { pki as Pki } from "node-forge";
import type { Clock } from "#lib/clock.ts";
import { isConstrainedTo, nameConstraints, nameConstraintsId } from "./name-constraints.ts";

export interface Certificate {
  /** PEM. */
  readonly key: string;
  readonly cert: string;
}

export interface LocalCertificates {
  /** Certificate of the authority, to install where it should be trusted. */
  readonly authorityFile: string;
  readonly certificate: Certificate;
  /** An authority existed before: systems that trust it do not trust this one yet. */
  readonly isReplaced: boolean;
}

const dayMs = 24 * 3_600_000;
/** Browsers refuse server certificates with a longer validity; authorities have no such limit. */
const serverDays = 397;
const authorityDays = 3650;
const renewBeforeDays = 30;

export function authorityFileIn(folder: string): string {
  return join(folder, "authority.crt");
}

/** Creates what is missing or about to expire, and keeps the rest. */
export async function localCertificates(folder: string, domain: string, clock: Clock): Promise<LocalCertificates> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const authorityFile = authorityFileIn(folder);
  const inFolder = { folder, clock };
  const before = await readPair(join(folder, "authority.key"), authorityFile);
  const authority = await keptOrMade(inFolder, "authority", {
    make: () => makeAuthority(domain, clock),
    isGood: (kept) => isConstrainedTo(kept, domain),
  });
  const isGood = (cert: X509Certificate): boolean =>
    cert.checkHost(`80-x.${domain}`) !== undefined && cert.verify(new X509Certificate(authority.cert).publicKey);
  const certificate = await keptOrMade(inFolder, "server", { make: () => makeServer(authority, domain, clock), isGood });
  const isReplaced = before !== undefined && before.cert !== authority.cert;
  return { authorityFile, certificate: { ...certificate, cert: certificate.cert + authority.cert }, isReplaced };
}

interface Making {
  readonly make: () => Promise<Certificate>;
  readonly isGood: (kept: X509Certificate) => boolean;
}

interface InFolder {
  readonly folder: string;
  readonly clock: Clock;
}

async function keptOrMade({ folder, clock }: InFolder, name: string, { make, isGood }: Making): Promise<Certificate> {
  const [keyFile, certFile] = [join(folder, `${name}.key`), join(folder, `${name}.crt`)];
  const kept = await readPair(keyFile, certFile);
  if (kept !== undefined) {
    const cert = new X509Certificate(kept.cert);
    if (cert.validToDate.getTime() - clock.now() > renewBeforeDays * dayMs && isGood(cert)) return kept;
  }
  const made = await make();
  await replaceFile(keyFile, made.key, 0o600);
  await replaceFile(certFile, made.cert, 0o644);
  return made;
}

async function readPair(keyFile: string, certFile: string): Promise<Certificate | undefined> {
  try {
    return { key: await readFile(keyFile, "utf8"), cert: await readFile(certFile, "utf8") };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** Written atomically: a concurrent reader gets the old file or the new one. */
async function replaceFile(file: string, text: string, mode: number): Promise<void> {
  const fresh = `${file}.${randomBytes(4).toString("hex")}`;
  await writeFile(fresh, text, { mode });
  await rename(fresh, file);
}

async function makeAuthority(domain: string, clock: Clock): Promise<Certificate> {
  const { key, cert, sign } = await unsigned(clock, authorityDays);
  const subject = [{ name: "commonName", value: `AgentBox on this machine ${randomBytes(3).toString("hex")}` }];
  cert.setSubject(subject);
  cert.setIssuer(subject);
  cert.setExtensions([
    { name: "basicConstraints", critical: true, cA: true, pathLenConstraint: 0 },
    { name: "keyUsage", critical: true, keyCertSign: true, cRLSign: true },
    { name: "subjectKeyIdentifier" },
    { id: nameConstraintsId, critical: true, value: nameConstraints(domain).toString("latin1") },
  ]);
  return { key, cert: sign(key) };
}

async function makeServer(authority: Certificate, domain: string, clock: Clock): Promise<Certificate> {
  const { pki, key, cert, sign } = await unsigned(clock, serverDays);
  const issuer = pki.certificateFromPem(authority.cert);
  cert.setSubject([{ name: "commonName", value: `*.${domain}`.slice(0, 64) }]);
  cert.setIssuer(issuer.subject.attributes);
  const dns = 2;
  cert.setExtensions([
    { name: "basicConstraints", critical: true, cA: false },
    { name: "keyUsage", critical: true, digitalSignature: true, keyEncipherment: true },
    { name: "extKeyUsage", serverAuth: true },
    { name: "subjectAltName", altNames: [`*.${domain}`, domain].map((value) => ({ type: dns, value })) },
    { name: "authorityKeyIdentifier", keyIdentifier: issuer.generateSubjectKeyIdentifier().getBytes() },
  ]);
  return { key, cert: sign(authority.key) };
}

interface Unsigned {
  readonly pki: typeof Pki;
  readonly key: string;
  readonly cert: Pki.Certificate;
  readonly sign: (authorityKey: string) => string;
}

async function unsigned(clock: Clock, days: number): Promise<Unsigned> {
  // Loaded here because it is needed once a year.
  const { default: forge } = await import("node-forge");
  const { pki, md } = forge;
  const pair = generateKeyPairSync("rsa", {
    modulusLength: 2048,
    privateKeyEncoding: { type: "pkcs1", format: "pem" },
    publicKeyEncoding: { type: "spki", format: "pem" },
  });
  const cert = pki.createCertificate();
  cert.publicKey = pki.publicKeyFromPem(pair.publicKey);
  // Positive, and always of the same length.
  cert.serialNumber = `01${randomBytes(15).toString("hex")}`;
  // Clocks of machines differ a little.
  cert.validity.notBefore = new Date(clock.now() - dayMs);
  cert.validity.notAfter = new Date(clock.now() + (days - 1) * dayMs);
  const sign = (authorityKey: string): string => {
    cert.sign(pki.privateKeyFromPem(authorityKey), md.sha256.create());
    return pki.certificateToPem(cert).replaceAll("\r\n", "\n");
  };
  return { pki, key: pair.privateKey, cert, sign };
}
