/** Ports of the cluster, chosen at its first start and kept, so that a component that is started again is found again. */
import { readFile, writeFile } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { hasCode } from "#lib/native/files.ts";
import type { ClusterLayout } from "./layout.ts";

type PortName = keyof typeof usualPorts;
export type ClusterPorts = Readonly<Record<PortName, number>>;

/** Used when they are free, because people know them. */
const usualPorts = {
  apiServer: 6443,
  registry: 5000,
  controllerManager: 10_257,
  scheduler: 10_259,
  kubelet: 10_250,
  kubeletHealth: 10_248,
  proxyHealth: 10_256,
  proxyMetrics: 10_249,
  policiesHealth: 10_055,
};

export async function readPorts(layout: ClusterLayout): Promise<ClusterPorts | undefined> {
  try {
    return (JSON.parse(await readFile(layout.settings, "utf8")) as { ports: ClusterPorts }).ports;
  } catch (error) {
    if (hasCode(error, "ENOENT")) return undefined;
    throw error;
  }
}

/** Those that were chosen, and new ones for what the cluster did not have when it was started. */
export async function ensurePorts(layout: ClusterLayout): Promise<ClusterPorts> {
  const kept: Partial<ClusterPorts> = (await readPorts(layout)) ?? {};
  const missing = Object.entries(usualPorts).filter(([name]) => kept[name as PortName] === undefined);
  const chosen = await Promise.all(missing.map(async ([name, usual]) => [name, await freePort(usual)] as const));
  const ports = { ...kept, ...Object.fromEntries(chosen) } as ClusterPorts;
  if (chosen.length > 0) await writeFile(layout.settings, JSON.stringify({ ports }, null, 2));
  return ports;
}

/** The usual one, or one that the kernel gives. Free on every address: some servers listen on the bridge. */
async function freePort(usual: number): Promise<number> {
  return (await tryPort(usual)) ?? (await tryPort(0)) ?? usual;
}

function tryPort(port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const server = createServer()
      .once("error", () => resolve(undefined))
      .listen(port, "0.0.0.0", () => {
        const { port: given } = server.address() as AddressInfo;
        server.close(() => resolve(given));
      });
  });
}
