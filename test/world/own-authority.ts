/** Certificates as a thief of an authority's key would make them, and authorities as they were before they were limited. */
import { generateKeyPairSync } from "node:crypto";
import forge from "node-forge";
import type { Certificate } from "#gateway/local-certificates.ts";

/** An authority that is good for every name. */
export async function signedByItself(commonName: string): Promise<Certificate> {
  const { key, cert } = unsigned(commonName);
  cert.setIssuer(cert.subject.attributes);
  cert.setExtensions([
    { name: "basicConstraints", critical: true, cA: true, pathLenConstraint: 0 },
    { name: "keyUsage", critical: true, keyCertSign: true, cRLSign: true },
  ]);
  return signed(key, cert, key);
}

type Name = { readonly dns: string } | { readonly ip: string };

/** A server's certificate for any names. */
export async function signedBy(authority: Certificate, ...names: readonly Name[]): Promise<Certificate> {
  const { key, cert } = unsigned("any");
  cert.setIssuer(forge.pki.certificateFromPem(authority.cert).subject.attributes);
  const altNames = names.map((name) => ("dns" in name ? { type: 2, value: name.dns } : { type: 7, ip: name.ip }));
  cert.setExtensions([
    { name: "extKeyUsage", serverAuth: true },
    { name: "subjectAltName", altNames },
  ]);
  return signed(key, cert, authority.key);
}

function unsigned(commonName: string): { readonly key: string; readonly cert: forge.pki.Certificate } {
  const pair = generateKeyPairSync("rsa", {
    modulusLength: 2048,
    privateKeyEncoding: { type: "pkcs1", format: "pem" },
    publicKeyEncoding: { type: "spki", format: "pem" },
  });
  const cert = forge.pki.createCertificate();
  cert.publicKey = forge.pki.publicKeyFromPem(pair.publicKey);
  cert.serialNumber = "01";
  cert.validity.notBefore = new Date(Date.now() - 86_400_000);
  cert.validity.notAfter = new Date(Date.now() + 365 * 86_400_000);
  cert.setSubject([{ name: "commonName", value: commonName }]);
  return { key: pair.privateKey, cert };
}

function signed(key: string, cert: forge.pki.Certificate, by: string): Certificate {
  cert.sign(forge.pki.privateKeyFromPem(by), forge.md.sha256.create());
  return { key, cert: forge.pki.certificateToPem(cert) };
}
