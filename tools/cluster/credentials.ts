/** Keys, certificates and kubeconfigs of the cluster: made once, for it alone, and readable by root alone. */
import { generateKeyPairSync, randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { AdminAccess } from "../../test/kubernetes/admin-requests.ts";
import {
  certificateAuthority,
  clientCertificate,
  serverCertificate,
  type Certificate,
  type CertificateAuthority,
  type CertificateSubject,
} from "../../test/kubernetes/certificates.ts";
import { apiServiceAddress, type ClusterLayout, nodeAddress, nodeName } from "./layout.ts";

/** The only user without a built-in role of the API server; policies/program.ts gives it one. */
export const policiesUser = "agentbox:policies";

/** The cluster's own programs, with the user names that the API server's built-in roles contain. */
const workers: Readonly<Record<string, CertificateSubject>> = {
  "controller-manager": { commonName: "system:kube-controller-manager" },
  scheduler: { commonName: "system:kube-scheduler" },
  proxy: { commonName: "system:kube-proxy" },
  policies: { commonName: policiesUser },
  kubelet: { commonName: `system:node:${nodeName}`, organizations: ["system:nodes"] },
};

const apiServerNames = {
  hosts: ["kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local", "localhost"],
  addresses: [nodeAddress, apiServiceAddress],
};

export function workerKubeconfig(layout: ClusterLayout, worker: string): string {
  return join(layout.credentials, `${worker}.kubeconfig`);
}

/** How the administrator gets in; undefined before the first start. */
export async function readAdminAccess(layout: ClusterLayout, port: number): Promise<AdminAccess | undefined> {
  if (!existsSync(layout.kubeconfig)) return undefined;
  const [token, ca] = await Promise.all(["admin.token", "ca.crt"].map((file) => readFile(join(layout.credentials, file), "utf8")));
  return { url: apiUrl(port), token: token ?? "", ca: ca ?? "" };
}

function apiUrl(port: number): string {
  return `https://${nodeAddress}:${port}`;
}

/** Writes those that are missing: a newer version of these tools may know of more than the one that started the cluster. */
export async function ensureCredentials(layout: ClusterLayout, port: number): Promise<void> {
  await mkdir(layout.credentials, { recursive: true, mode: 0o700 });
  const authority = await ensureAuthority(layout);
  const pairs: Readonly<Record<string, () => Certificate>> = {
    "api-server": () => serverCertificate(authority, apiServerNames),
    "kubelet-server": () => serverCertificate(authority, { hosts: [nodeName], addresses: [nodeAddress] }),
    "api-server-client": () => clientCertificate(authority, toKubelets),
  };
  for (const [name, make] of Object.entries(pairs)) {
    if (!existsSync(join(layout.credentials, `${name}.key`))) await writePair(layout, name, make());
  }
  await writeMissing(join(layout.credentials, "service-accounts.key"), signingKey);
  const server = { url: apiUrl(port), ca: authority.cert };
  for (const [worker, subject] of Object.entries(workers)) {
    await writeMissing(workerKubeconfig(layout, worker), () => kubeconfig(server, clientUser(clientCertificate(authority, subject))));
  }
  await writeMissing(join(layout.credentials, "admin.token"), randomUUID);
  const token = await readFile(join(layout.credentials, "admin.token"), "utf8");
  await writeMissing(join(layout.credentials, "tokens.csv"), () => `${token},admin,admin,system:masters\n`);
  await writeMissing(layout.kubeconfig, () => kubeconfig(server, { token }));
}

const authorityName = "agentbox-cluster";
const toKubelets: CertificateSubject = { commonName: "kube-apiserver-kubelet-client", organizations: ["system:masters"] };

async function ensureAuthority(layout: ClusterLayout): Promise<CertificateAuthority> {
  const file = (name: string): string => join(layout.credentials, name);
  if (!existsSync(file("ca.key"))) await writePair(layout, "ca", certificateAuthority(authorityName));
  return { commonName: authorityName, cert: await readFile(file("ca.crt"), "utf8"), key: await readFile(file("ca.key"), "utf8") };
}

/** The key last: where it is, both are. */
async function writePair(layout: ClusterLayout, name: string, { cert, key }: Certificate): Promise<void> {
  await writeSecret(join(layout.credentials, `${name}.crt`), cert);
  await writeSecret(join(layout.credentials, `${name}.key`), key);
}

async function writeMissing(path: string, make: () => string): Promise<void> {
  if (!existsSync(path)) await writeSecret(path, make());
}

/** Under its name only when it is whole. */
async function writeSecret(path: string, text: string): Promise<void> {
  await writeFile(`${path}.part`, text, { mode: 0o600 });
  await rename(`${path}.part`, path);
}

function signingKey(): string {
  return generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ type: "sec1", format: "pem" });
}

function clientUser({ cert, key }: Certificate): object {
  return { "client-certificate-data": base64(cert), "client-key-data": base64(key) };
}

function kubeconfig({ url, ca }: { readonly url: string; readonly ca: string }, user: object): string {
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "agentbox", cluster: { server: url, "certificate-authority-data": base64(ca) } }],
    users: [{ name: "agentbox", user }],
    contexts: [{ name: "agentbox", context: { cluster: "agentbox", user: "agentbox" } }],
    "current-context": "agentbox",
  };
  return JSON.stringify(config, null, 2);
}

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}
