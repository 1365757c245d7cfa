/** Configuration files of the node's programs and of its network. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { readIfPresent } from "#lib/native/read-if-present.ts";
import { machineNameservers, renderResolvConf } from "#engines/embedded/node/network/nameservers.ts";
import { workerKubeconfig } from "./credentials.ts";
import { bridge, clusterDomain, type ClusterLayout, dnsServiceAddress, nodeAddress, ownName, podSubnet } from "./layout.ts";
import { pauseImage, registryHosts } from "./registry.ts";
import type { ClusterPorts } from "./settings.ts";

export function nodeFiles({ folder }: ClusterLayout) {
  return {
    containerd: join(folder, "node/containerd.toml"),
    registries: join(folder, "node/registries"),
    cni: join(folder, "node/cni"),
    addresses: join(folder, "node/addresses"),
    kubelet: join(folder, "node/kubelet.json"),
    resolvConf: join(folder, "node/resolv.conf"),
    proxy: join(folder, "node/kube-proxy.json"),
    kubeletRoot: join(folder, "kubelet"),
    podLogs: join(folder, "pod-logs"),
  };
}

/** Bundles of CNI plugins that distributions bring. */
const pluginFolders = ["/usr/lib/cni", "/opt/cni/bin"];

export async function writeNodeFiles(layout: ClusterLayout, ports: ClusterPorts, mtu: number): Promise<void> {
  const files = nodeFiles(layout);
  await mkdir(files.cni, { recursive: true });
  await writeChanged(files.containerd, containerdConfig(layout, ports));
  for (const host of registryHosts(ports)) {
    await mkdir(join(files.registries, host), { recursive: true });
    await writeChanged(join(files.registries, host, "hosts.toml"), `server = "http://${host}"\n`);
  }
  await writeChanged(join(files.cni, "10-agentbox.conflist"), json(network(files.addresses, mtu)));
  await writeChanged(files.resolvConf, renderResolvConf(machineNameservers()));
  await writeChanged(files.kubelet, json(kubeletConfig(layout, ports)));
  await writeChanged(files.proxy, json(proxyConfig(layout, ports)));
}

/** kube-proxy ends when its file is written, though it says the same. */
async function writeChanged(path: string, text: string): Promise<void> {
  if (readIfPresent(path) !== text) await writeFile(path, text);
}

function json(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

function containerdConfig(layout: ClusterLayout, ports: ClusterPorts): string {
  const files = nodeFiles(layout);
  const own = (name: string): string => JSON.stringify(join(layout.folder, "containerd", name));
  return `version = 3
root = ${own("root")}
state = ${own("state")}
disabled_plugins = ["io.containerd.nri.v1.nri"]

[grpc]
  address = ${JSON.stringify(layout.containerdSocket)}

[plugins."io.containerd.internal.v1.opt"]
  path = ${own("opt")}

[plugins."io.containerd.cri.v1.images"]
  snapshotter = "overlayfs"
  [plugins."io.containerd.cri.v1.images".pinned_images]
    sandbox = ${JSON.stringify(pauseImage(ports))}
  [plugins."io.containerd.cri.v1.images".registry]
    config_path = ${JSON.stringify(files.registries)}

[plugins."io.containerd.cri.v1.runtime"]
  # Without CAP_SYS_RESOURCE no process may be made less likely to be killed, and every pod would fail.
  restrict_oom_score_adj = true
  # Beside the rest of our mounts, to go with them.
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.cri.v1.runtime".cni]
    bin_dirs = ${JSON.stringify(pluginFolders)}
    conf_dir = ${JSON.stringify(files.cni)}
    # The plugin for it would leave a file for every pod in a folder that cannot be chosen.
    use_internal_loopback = true
  [plugins."io.containerd.cri.v1.runtime".containerd]
    default_runtime_name = "runc"
    [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
        Root = ${own("runc")}
        SystemdCgroup = false
`;
}

/** The bridge and its address are ours: as a gateway of the plugin it would make the whole machine a router. */
function network(addresses: string, mtu: number): object {
  const ipam = {
    type: "host-local",
    dataDir: addresses,
    ranges: [[{ subnet: podSubnet, gateway: nodeAddress }]],
    routes: [{ dst: "0.0.0.0/0" }],
  };
  return { cniVersion: "1.0.0", name: ownName, plugins: [{ type: "bridge", bridge, hairpinMode: true, mtu, ipam }] };
}

function kubeletConfig(layout: ClusterLayout, ports: ClusterPorts): object {
  const files = nodeFiles(layout);
  const credential = (name: string): string => join(layout.credentials, name);
  return {
    kind: "KubeletConfiguration",
    apiVersion: "kubelet.config.k8s.io/v1beta1",
    address: nodeAddress,
    port: ports.kubelet,
    healthzBindAddress: "127.0.0.1",
    healthzPort: ports.kubeletHealth,
    authentication: { anonymous: { enabled: false }, webhook: { enabled: true }, x509: { clientCAFile: credential("ca.crt") } },
    authorization: { mode: "Webhook" },
    tlsCertFile: credential("kubelet-server.crt"),
    tlsPrivateKeyFile: credential("kubelet-server.key"),
    containerRuntimeEndpoint: `unix://${layout.containerdSocket}`,
    cgroupDriver: "cgroupfs",
    cgroupRoot: `/${ownName}`,
    failCgroupV1: false,
    failSwapOn: false,
    makeIPTablesUtilChains: false,
    resolvConf: files.resolvConf,
    clusterDNS: [dnsServiceAddress],
    clusterDomain,
    podLogsDir: files.podLogs,
    volumePluginDir: join(files.kubeletRoot, "volume-plugins"),
    maxPods: 250,
    serializeImagePulls: false,
    registryPullQPS: 0,
    eventRecordQPS: 0,
    kubeAPIQPS: 500,
    kubeAPIBurst: 1000,
    // A developer's disk is often fuller than a node's should be; pods and images are only taken away when it is truly full.
    evictionHard: { "memory.available": "100Mi", "nodefs.available": "1%", "imagefs.available": "1%", "nodefs.inodesFree": "1%" },
    imageGCHighThresholdPercent: 99,
    imageGCLowThresholdPercent: 98,
  };
}

function proxyConfig(layout: ClusterLayout, ports: ClusterPorts): object {
  return {
    kind: "KubeProxyConfiguration",
    apiVersion: "kubeproxy.config.k8s.io/v1alpha1",
    clientConnection: { kubeconfig: workerKubeconfig(layout, "proxy"), qps: 500, burst: 1000 },
    mode: "nftables",
    clusterCIDR: podSubnet,
    bindAddress: nodeAddress,
    // Node ports on the bridge's address, not on those that the world reaches.
    nodePortAddresses: [`${nodeAddress}/32`],
    healthzBindAddress: `127.0.0.1:${ports.proxyHealth}`,
    metricsBindAddress: `127.0.0.1:${ports.proxyMetrics}`,
    // Pods share a link, so the answer of one to another would go past the translation if it did not come from the node.
    nftables: { masqueradeAll: true },
    // The machine's own limits stay as they are.
    conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeout: "0s", tcpCloseWaitTimeout: "0s" },
  };
}
