/** etcd, the API server, all controllers and the scheduler, as a cluster in production runs them, but one of each. */
import { connect } from "node:net";
import { join } from "node:path";
import { Agent, request } from "undici";
import { isReady, type AdminRequest } from "../../test/kubernetes/admin-requests.ts";
import { workerKubeconfig } from "./credentials.ts";
import { type ClusterLayout, nodeAddress, podSubnet, serviceSubnet } from "./layout.ts";
import type { Program } from "./programs.ts";
import type { ClusterPorts } from "./settings.ts";

export interface ClusterParts {
  readonly layout: ClusterLayout;
  readonly ports: ClusterPorts;
  /** Where the programs are. */
  readonly bin: string;
  readonly admin: AdminRequest;
}

// etcd insists on host:port even for unix sockets and takes it as a file name in the working directory.
const etcdClientSocket = "127.0.0.1:2379";
const etcdPeerSocket = "127.0.0.1:2380";

/** A loop that talks to the API server more than a node's worth of pods asks for is not held back. */
export const apiRate = ["--kube-api-qps=500", "--kube-api-burst=1000"];

export function controlPlane(parts: ClusterParts): readonly Program[] {
  return [etcd(parts), apiServer(parts), controllerManager(parts), scheduler(parts)];
}

function etcd({ layout, bin }: ClusterParts): Program {
  const args = [
    "--name=agentbox",
    "--data-dir=etcd",
    `--listen-client-urls=unix://${etcdClientSocket}`,
    `--advertise-client-urls=unix://${etcdClientSocket}`,
    `--listen-peer-urls=unix://${etcdPeerSocket}`,
    `--initial-advertise-peer-urls=unix://${etcdPeerSocket}`,
    `--initial-cluster=agentbox=unix://${etcdPeerSocket}`,
    "--auto-compaction-retention=10m",
    "--log-level=warn",
  ];
  return { name: "etcd", command: join(bin, "etcd"), args, ready: () => listens(join(layout.folder, etcdClientSocket)) };
}

function apiServer({ layout, ports, bin, admin }: ClusterParts): Program {
  const file = (name: string): string => join(layout.credentials, name);
  const args = [
    `--etcd-servers=unix://${etcdClientSocket}`,
    // The one address that this machine, the node and pods can all reach; other machines cannot.
    `--bind-address=${nodeAddress}`,
    `--advertise-address=${nodeAddress}`,
    `--secure-port=${ports.apiServer}`,
    `--service-cluster-ip-range=${serviceSubnet}`,
    `--tls-cert-file=${file("api-server.crt")}`,
    `--tls-private-key-file=${file("api-server.key")}`,
    `--client-ca-file=${file("ca.crt")}`,
    `--token-auth-file=${file("tokens.csv")}`,
    "--service-account-issuer=https://kubernetes.default.svc",
    `--service-account-key-file=${file("service-accounts.key")}`,
    `--service-account-signing-key-file=${file("service-accounts.key")}`,
    `--kubelet-client-certificate=${file("api-server-client.crt")}`,
    `--kubelet-client-key=${file("api-server-client.key")}`,
    `--kubelet-certificate-authority=${file("ca.crt")}`,
    "--kubelet-preferred-address-types=InternalIP",
    // For API servers behind this one. There are none, but the other programs log errors all the time when these options are missing.
    `--requestheader-client-ca-file=${file("ca.crt")}`,
    "--requestheader-allowed-names=front-proxy",
    "--requestheader-username-headers=X-Remote-User",
    "--authorization-mode=Node,RBAC",
    "--enable-admission-plugins=NodeRestriction",
    "--allow-privileged=true",
  ];
  return { name: "kube-apiserver", command: join(bin, "kube-apiserver"), args, ready: () => isReady(admin) };
}

function controllerManager({ layout, ports, bin }: ClusterParts): Program {
  const file = (name: string): string => join(layout.credentials, name);
  const args = [
    ...asWorker(workerKubeconfig(layout, "controller-manager")),
    `--secure-port=${ports.controllerManager}`,
    "--use-service-account-credentials=true",
    `--service-account-private-key-file=${file("service-accounts.key")}`,
    `--root-ca-file=${file("ca.crt")}`,
    `--cluster-signing-cert-file=${file("ca.crt")}`,
    `--cluster-signing-key-file=${file("ca.key")}`,
    `--cluster-cidr=${podSubnet}`,
    // Otherwise it makes a folder for plugins in the system's own.
    `--flex-volume-plugin-dir=${join(layout.folder, "kubelet/volume-plugins")}`,
    `--service-cluster-ip-range=${serviceSubnet}`,
    ...apiRate,
  ];
  const ready = (): Promise<boolean> => isHealthy(`https://127.0.0.1:${ports.controllerManager}/healthz`);
  return { name: "kube-controller-manager", command: join(bin, "kube-controller-manager"), args, ready };
}

function scheduler({ layout, ports, bin }: ClusterParts): Program {
  const args = [...asWorker(workerKubeconfig(layout, "scheduler")), `--secure-port=${ports.scheduler}`, ...apiRate];
  const ready = (): Promise<boolean> => isHealthy(`https://127.0.0.1:${ports.scheduler}/healthz`);
  return { name: "kube-scheduler", command: join(bin, "kube-scheduler"), args, ready };
}

function asWorker(kubeconfig: string): readonly string[] {
  const access = [`--kubeconfig=${kubeconfig}`, `--authentication-kubeconfig=${kubeconfig}`, `--authorization-kubeconfig=${kubeconfig}`];
  return [...access, "--leader-elect=false", "--bind-address=127.0.0.1"];
}

// They serve their health with certificates that they made for themselves.
const unverified = new Agent({ connect: { rejectUnauthorized: false }, keepAliveTimeout: 1000 });

export async function isHealthy(url: string): Promise<boolean> {
  try {
    const { statusCode, body } = await request(url, { dispatcher: unverified, headersTimeout: 5000 });
    await body.dump();
    return statusCode === 200;
  } catch {
    return false;
  }
}

/** True if a process accepts connections on this unix socket. */
export function listens(socket: string): Promise<boolean> {
  return new Promise((resolve) => {
    const connection = connect(socket)
      .once("connect", () => {
        connection.destroy();
        resolve(true);
      })
      .once("error", () => resolve(false));
  });
}
