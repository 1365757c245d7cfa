/**
 * A real Kubernetes API on this machine, for tests: etcd, kube-apiserver, and the garbage collector and namespace
 * controllers of kube-controller-manager. No nodes, so pods stay where they are put. About 5 s to start.
 *
 *   node test/kubernetes/bed.ts      runs one with our CRDs until Ctrl-C, and says how to reach it with kubectl
 *
 * - `binaries.ts` finds or builds the programs, `component.ts` runs one of them,
 * - `certificates.ts` makes the server's and clients' certificates,
 * - `admin-requests.ts` are the requests that starting takes,
 * - `global-setup.ts` shares one bed between all tests of a vitest run.
 *
 * The garbage collector looks for new kinds only every 30 s, so CRDs are given at the start, before it runs.
 */
import { generateKeyPairSync, randomUUID } from "node:crypto";
import { rmSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { adminRequests, createCrds, isEstablished, isReady, ownCrds, plantGarbage, type AdminRequest } from "./admin-requests.ts";
import { bedBinaries } from "./binaries.ts";
import { certificateAuthority, clientCertificate, serverCertificate, type Certificate, type CertificateSubject } from "./certificates.ts";
import { startComponent, waitUntil, type Component } from "./component.ts";
import { freePort } from "../world/free-port.ts";

export interface BedOptions {
  /** Data, logs and keys. A temporary folder when left out, removed at the end. */
  readonly folder?: string;
  /** Let etcd reach the disk on every write; off, because a test server may forget. */
  readonly fsync?: boolean;
  /** A folder of CustomResourceDefinitions to start with. */
  readonly crds?: string;
  /** Writes down in `audit.log` of the folder what service accounts do, one JSON line for each answer. */
  readonly audit?: boolean;
}

export interface KubernetesBed {
  readonly url: string;
  /** Of a user in system:masters. */
  readonly token: string;
  /** PEM. */
  readonly ca: string;
  /** Path of a kubeconfig file with this url, token and ca. */
  readonly kubeconfig: string;
  /** Where kubectl and the servers are. */
  readonly bin: string;
  readonly folder: string;
  /** A certificate that the server takes as a proof of this user and these groups. */
  readonly clientCertificate: (subject: CertificateSubject) => Certificate;
  readonly killApiServer: () => Promise<void>;
  /** On the same port, with the same data. It remembers no history: a watch from a version before its start is Expired. */
  readonly startApiServer: () => Promise<void>;
  readonly restartApiServer: () => Promise<void>;
  readonly stop: () => Promise<void>;
}

export async function startKubernetes(options: BedOptions = {}): Promise<KubernetesBed> {
  const bin = await bedBinaries();
  const ownFolder = options.folder === undefined;
  const folder = options.folder ?? (await mkdtemp(join(tmpdir(), "agentbox-kubernetes-")));
  await mkdir(folder, { recursive: true });
  const authority = certificateAuthority("agentbox-test-ca");
  const access = { url: `https://127.0.0.1:${await freePort()}`, token: randomUUID(), ca: authority.cert };
  const kubeconfig = await writeFiles(folder, access, serverCertificate(authority));
  const admin = adminRequests(access);

  const running = new Map<string, Component>();
  const start = (name: string, args: readonly string[]): void => {
    running.set(name, startComponent({ name, command: join(bin, name), args, folder }));
  };
  const killAll = async (): Promise<void> => {
    await Promise.all([...running.values()].map((component) => component.kill()));
  };
  const startApiServer = async (): Promise<void> => {
    start("kube-apiserver", [...apiServerArgs(new URL(access.url).port), ...(options.audit === true ? auditArgs : [])]);
    await waitUntil("the API server's readiness", () => isReady(admin), [...running.values()]);
  };
  const killApiServer = async (): Promise<void> => {
    await running.get("kube-apiserver")?.kill();
  };
  const removeAtExit = (): void => {
    for (const component of running.values()) if (component.ended() === undefined) process.kill(component.pid, "SIGKILL");
    if (ownFolder) rmSync(folder, { recursive: true, force: true });
  };
  process.once("exit", removeAtExit);

  try {
    start("etcd", etcdArgs(options.fsync ?? false));
    await startApiServer();
    if (options.crds !== undefined) await installCrds(admin, options.crds, [...running.values()]);
    start("kube-controller-manager", controllerManagerArgs(kubeconfig));
    const collected = await plantGarbage(admin);
    await waitUntil("the garbage collector's first work", collected, [...running.values()]);
  } catch (error) {
    process.off("exit", removeAtExit);
    await killAll();
    throw new Error(`the Kubernetes bed did not start; its logs are in ${folder}`, { cause: error });
  }
  return {
    ...access,
    kubeconfig,
    bin,
    folder,
    clientCertificate: (subject) => clientCertificate(authority, subject),
    killApiServer,
    startApiServer,
    restartApiServer: async () => {
      await killApiServer();
      await startApiServer();
    },
    stop: async () => {
      process.off("exit", removeAtExit);
      await killAll();
      if (ownFolder) await rm(folder, { recursive: true, force: true });
    },
  };
}

// etcd insists on host:port even for unix sockets and takes it as a file name in the working directory.
const etcdClientSocket = "127.0.0.1:2379";
const etcdPeerSocket = "127.0.0.1:2380";

function etcdArgs(fsync: boolean): readonly string[] {
  return [
    "--name=bed",
    "--data-dir=etcd",
    `--listen-client-urls=unix://${etcdClientSocket}`,
    `--advertise-client-urls=unix://${etcdClientSocket}`,
    `--listen-peer-urls=unix://${etcdPeerSocket}`,
    `--initial-advertise-peer-urls=unix://${etcdPeerSocket}`,
    `--initial-cluster=bed=unix://${etcdPeerSocket}`,
    "--log-level=warn",
    ...(fsync ? [] : ["--unsafe-no-fsync"]),
  ];
}

function apiServerArgs(port: string): readonly string[] {
  return [
    `--etcd-servers=unix://${etcdClientSocket}`,
    "--bind-address=127.0.0.1",
    `--secure-port=${port}`,
    "--tls-cert-file=server.crt",
    "--tls-private-key-file=server.key",
    "--client-ca-file=ca.crt",
    "--token-auth-file=tokens.csv",
    "--service-account-issuer=https://kubernetes.default.svc",
    "--service-account-key-file=service-account.key",
    "--service-account-signing-key-file=service-account.key",
    "--authorization-mode=Node,RBAC",
    "--endpoint-reconciler-type=none",
    "--allow-privileged=true",
    // No service account controller runs, and pods would be refused for want of their namespace's default account.
    "--disable-admission-plugins=ServiceAccount",
  ];
}

const auditArgs = ["--audit-policy-file=audit-policy.json", "--audit-log-path=audit.log"];
const auditPolicy = {
  apiVersion: "audit.k8s.io/v1",
  kind: "Policy",
  omitStages: ["RequestReceived", "ResponseStarted"],
  rules: [{ level: "Metadata", userGroups: ["system:serviceaccounts"] }, { level: "None" }],
};

function controllerManagerArgs(kubeconfig: string): readonly string[] {
  return [
    `--kubeconfig=${kubeconfig}`,
    "--controllers=garbage-collector-controller,namespace-controller",
    "--leader-elect=false",
    "--secure-port=0",
    "--kube-api-qps=500",
    "--kube-api-burst=1000",
  ];
}

async function writeFiles(folder: string, access: { url: string; token: string; ca: string }, server: Certificate): Promise<string> {
  const secret = { mode: 0o600 };
  const signing = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ type: "sec1", format: "pem" });
  const kubeconfig = join(folder, "kubeconfig");
  await writeFile(join(folder, "ca.crt"), access.ca);
  await writeFile(join(folder, "server.crt"), server.cert);
  await writeFile(join(folder, "server.key"), server.key, secret);
  await writeFile(join(folder, "service-account.key"), signing, secret);
  await writeFile(join(folder, "tokens.csv"), `${access.token},admin,admin,system:masters\n`, secret);
  await writeFile(join(folder, "audit-policy.json"), JSON.stringify(auditPolicy));
  await writeFile(kubeconfig, JSON.stringify(kubeconfigOf(access), null, 2), secret);
  return kubeconfig;
}

function kubeconfigOf(access: { url: string; token: string; ca: string }): object {
  const cluster = { server: access.url, "certificate-authority-data": Buffer.from(access.ca).toString("base64") };
  return {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "bed", cluster }],
    users: [{ name: "admin", user: { token: access.token } }],
    contexts: [{ name: "bed", context: { cluster: "bed", user: "admin" } }],
    "current-context": "bed",
  };
}

async function installCrds(admin: AdminRequest, folder: string, components: readonly Component[]): Promise<void> {
  const names = await createCrds(admin, folder);
  await waitUntil(
    `Established of ${names.join(", ")}`,
    async () => (await Promise.all(names.map((name) => isEstablished(admin, name)))).every(Boolean),
    components,
  );
}

if (import.meta.main) {
  const bed = await startKubernetes({ crds: ownCrds() });
  console.log(`Kubernetes API at ${bed.url}, data and logs in ${bed.folder}. Ctrl-C stops it. To use it:`);
  console.log(`  export KUBECONFIG=${bed.kubeconfig} PATH=${bed.bin}:$PATH`);
  const alive = setInterval(() => {}, 60_000);
  await new Promise((resolve) => process.once("SIGINT", resolve).once("SIGTERM", resolve));
  clearInterval(alive);
  await bed.stop();
}
