/** The node: containerd, kubelet and kube-proxy. Their configuration is in node-files.ts. */
import { join } from "node:path";
import { type ClusterParts, isHealthy, listens } from "./control-plane.ts";
import { workerKubeconfig } from "./credentials.ts";
import { nodeAddress, nodeName } from "./layout.ts";
import { nodeFiles } from "./node-files.ts";
import type { Program } from "./programs.ts";

export function nodePrograms(parts: ClusterParts): readonly Program[] {
  return [containerd(parts), kubelet(parts), proxy(parts)];
}

function containerd({ layout, bin }: ClusterParts): Program {
  return {
    name: "containerd",
    command: join(bin, "containerd"),
    args: ["--config", nodeFiles(layout).containerd],
    files: [nodeFiles(layout).containerd],
    // It looks for its shim there, and the shim for runc.
    env: { PATH: `${bin}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin` },
    ready: () => listens(layout.containerdSocket),
  };
}

function kubelet({ layout, ports, bin }: ClusterParts): Program {
  const files = nodeFiles(layout);
  const args = [
    `--config=${files.kubelet}`,
    `--kubeconfig=${workerKubeconfig(layout, "kubelet")}`,
    `--hostname-override=${nodeName}`,
    // A loopback address would leave the node without one, and exec and logs without a way.
    `--node-ip=${nodeAddress}`,
    `--root-dir=${files.kubeletRoot}`,
    `--cert-dir=${join(files.kubeletRoot, "pki")}`,
  ];
  return {
    name: "kubelet",
    command: join(bin, "kubelet"),
    args,
    files: [files.kubelet],
    ready: () => isHealthy(`http://127.0.0.1:${ports.kubeletHealth}/healthz`),
  };
}

function proxy({ layout, ports, bin }: ClusterParts): Program {
  return {
    name: "kube-proxy",
    command: join(bin, "kube-proxy"),
    args: [`--config=${nodeFiles(layout).proxy}`, `--hostname-override=${nodeName}`],
    files: [nodeFiles(layout).proxy],
    ready: () => isHealthy(`http://127.0.0.1:${ports.proxyHealth}/livez`),
  };
}
