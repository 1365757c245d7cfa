/**
 * The local image registry: Debian's docker-registry over plain HTTP. Two processes over the same files, because to a pod
 * `localhost` is the pod itself: one listens on loopback for this machine and the node, one on the bridge for pods.
 */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { imageOf } from "../../test/world/image-fixture.ts";
import { pushImage } from "../../test/world/push-image.ts";
import { isHealthy } from "./control-plane.ts";
import { type ClusterLayout, nodeAddress } from "./layout.ts";
import type { Program } from "./programs.ts";
import type { ClusterPorts } from "./settings.ts";

export function registryName(ports: ClusterPorts): string {
  return `localhost:${ports.registry}`;
}

export function podRegistryName(ports: ClusterPorts): string {
  return `${nodeAddress}:${ports.registry}`;
}

/** All names that images of it may be called by. */
export function registryHosts(ports: ClusterPorts): readonly string[] {
  return [registryName(ports), podRegistryName(ports), `127.0.0.1:${ports.registry}`];
}

export function registries(layout: ClusterLayout, ports: ClusterPorts): readonly Program[] {
  const listeners = { registry: `127.0.0.1:${ports.registry}`, "registry-for-pods": podRegistryName(ports) };
  return Object.entries(listeners).map(([name, address]) => ({
    name,
    command: "docker-registry",
    args: ["serve", configFile(layout, name)],
    files: [configFile(layout, name)],
    ready: () => isHealthy(`http://${address}/v2/`),
  }));
}

export async function writeRegistryFiles(layout: ClusterLayout, ports: ClusterPorts): Promise<void> {
  await mkdir(join(layout.folder, "registry"), { recursive: true });
  const write = (name: string, addr: string): Promise<void> => {
    const config = {
      version: "0.1",
      log: { level: "warn", accesslog: { disabled: true } },
      storage: { filesystem: { rootdirectory: join(layout.folder, "registry/data") }, delete: { enabled: true } },
      http: { addr },
    };
    return writeFile(configFile(layout, name), JSON.stringify(config));
  };
  await write("registry", `127.0.0.1:${ports.registry}`);
  await write("registry-for-pods", podRegistryName(ports));
}

function configFile(layout: ClusterLayout, name: string): string {
  return join(layout.folder, "registry", `${name}.json`);
}

const pauseRepository = "agentbox-cluster/pause";

/** What holds a pod's namespaces while its containers come and go. */
export function pauseImage(ports: ClusterPorts): string {
  return `${registryName(ports)}/${pauseRepository}:1`;
}

const busybox = "/usr/bin/busybox";

export async function pushPauseImage(ports: ClusterPorts): Promise<void> {
  const content = await readFile(busybox).catch((error: unknown) => {
    throw new Error(`${busybox} is needed for the pause image; install it with: apt-get install -y busybox-static`, { cause: error });
  });
  const image = imageOf([[{ name: "busybox", content, mode: 0o755 }]], { config: { cmd: ["/busybox", "sleep", "2147483647"] } });
  await pushImage(registryName(ports), `${pauseRepository}:1`, image);
}
