/** Our own server on the cluster of `make cluster`: its parts in one process on this machine, sandboxes on real kubelets. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { localCertificates } from "#gateway/local-certificates.ts";
import { systemClock } from "#lib/clock.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import { describedCluster, SystemWorld } from "../cluster/system-world.ts";
import { freePort } from "../world/free-port.ts";
import { abilitiesWithout, type ServerUnderTest } from "./server-under-test.ts";

const name = "agentbox.localhost";
const daemon = { name: "e2b", port: 49_983, readinessProbe: { httpGet: { path: "/health", port: 49_983 }, periodSeconds: 2 } };
const interpreter = { name: "code-interpreter", port: 49_999 };
const runtimes: Readonly<Record<string, SandboxPool["spec"]["runtimes"]>> = {
  base: [daemon],
  "code-interpreter-v1": [daemon, interpreter],
};
/** As in the pool that the chart brings: for sudo, which the SDKs' users expect. */
const container = { name: "sandbox", securityContext: { allowPrivilegeEscalation: true } };

export class ClusterServer implements AsyncDisposable {
  readonly facts: ServerUnderTest;
  readonly #world: SystemWorld;
  readonly #folder: string;

  private constructor(world: SystemWorld, folder: string, facts: ServerUnderTest) {
    this.#world = world;
    this.#folder = folder;
    this.facts = facts;
  }

  /** With so many places in each pool. */
  static async start(places: Readonly<Record<string, number>>): Promise<ClusterServer> {
    const folder = await mkdtemp(join(tmpdir(), "agentbox-conformance-"));
    const { authorityFile } = await localCertificates(folder, name, systemClock);
    const port = await freePort();
    const domain = `${name}:${port}`;
    const certificate = ["--tls-cert", join(folder, "server.crt"), "--tls-key", join(folder, "server.key")];
    const cluster = await describedCluster();
    const flags = [...certificate, "--gateway-tls-port", String(port), "--domain", domain];
    const checkpointRepository = `${cluster.registry}/test-checkpoints/conformance-${process.pid}`;
    const world = await SystemWorld.open(cluster, flags, { checkpointRepository });
    const given = abilitiesWithout(process.env);
    // Both are done by the agent of the node.
    const without = [...given, "builds" as const, "volumes" as const, ...(given.includes("pausing") ? (["snapshots"] as const) : [])];
    try {
      await world.start();
      if (!without.includes("pausing")) await world.agent.start();
      for (const [pool, replicas] of Object.entries(places)) {
        await world.pool(pool, { replicas, container, spec: { runtimes: runtimes[pool] ?? [daemon] } });
      }
      const { url, apiKey } = await world.access();
      const hosts = { domain, authorityFile, hostsAt: "127.0.0.1" };
      return new ClusterServer(world, folder, { apiUrl: url, gatewayUrl: world.process.listening.gateway, apiKey, ...hosts, without });
    } catch (error) {
      await world[Symbol.asyncDispose]();
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#world[Symbol.asyncDispose]();
    await rm(this.#folder, { recursive: true, force: true });
  }
}
