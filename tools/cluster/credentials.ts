/** Keys, certificates and kubeconfigs of the cluster: made once, for it alone, and readable by root alone. */
import { generateKeyPairSync, randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { AdminAccess } from "../../test/kubernetes/admin-requests.ts";
import {
  certificateAuthority,
  clientCertificate,
  serverCertificate,
  type Certificate,
  type CertificateSubject,
} from "../../test/kubernetes/certificates.ts";
import { apiServiceAddress, type ClusterLayout, nodeAddress, nodeName } from "./layout.ts";

/** Those who work for the cluster, as the API server's own roles know them. */
const workers: Readonly<Record<string, CertificateSubject>> = {
  "controller-manager": { commonName: "system:kube-controller-manager" },
  scheduler: { commonName: "system:kube-scheduler" },
  proxy: { commonName: "system:kube-proxy" },
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

/** Writes them all. The admin's kubeconfig comes last: where it is, the rest is. */
export async function writeCredentials(layout: ClusterLayout, port: number): Promise<void> {
  await mkdir(layout.credentials, { recursive: true, mode: 0o700 });
  const write = (file: string, text: string): Promise<void> => writeFile(join(layout.credentials, file), text, { mode: 0o600 });
  const authority = certificateAuthority("agentbox-cluster");
  const writePair = async (name: string, { cert, key }: Certificate): Promise<void> => {
    await write(`${name}.crt`, cert);
    await write(`${name}.key`, key);
  };
  await writePair("ca", authority);
  await writePair("api-server", serverCertificate(authority, apiServerNames));
  await writePair("kubelet-server", serverCertificate(authority, { hosts: [nodeName], addresses: [nodeAddress] }));
  const toKubelets: CertificateSubject = { commonName: "kube-apiserver-kubelet-client", organizations: ["system:masters"] };
  await writePair("api-server-client", clientCertificate(authority, toKubelets));
  await write(
    "service-accounts.key",
    generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ type: "sec1", format: "pem" }),
  );
  const server = { url: apiUrl(port), ca: authority.cert };
  for (const [worker, subject] of Object.entries(workers)) {
    await write(`${worker}.kubeconfig`, kubeconfig(server, clientUser(clientCertificate(authority, subject))));
  }
  const token = randomUUID();
  await write("admin.token", token);
  await write("tokens.csv", `${token},admin,admin,system:masters\n`);
  await writeFile(layout.kubeconfig, kubeconfig(server, { token }), { mode: 0o600 });
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
