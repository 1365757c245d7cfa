/** One server for all SDKs. Our own has real sandboxes and needs root; server-under-test.ts tells how another is named. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { SandboxPools } from "#model/sandbox-pool.ts";
import { readServerFile } from "../../src/cmd/machine/server-file.ts";
import { UpProcess } from "../world/up-process.ts";
import { ClusterServer } from "./cluster-server.ts";
import { installSdks } from "./install.ts";
import { outsideServer, type ServerUnderTest } from "./server-under-test.ts";

/** So many sandboxes can be there at a time: those of one case, and one that all cases of a file share. */
const places = { base: 6, "code-interpreter-v1": 3 };

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  await installSdks();
  const outside = outsideServer(process.env);
  if (outside !== undefined) {
    project.provide("conformance", outside);
    return () => Promise.resolve();
  }
  if (engineOf(process.env) === "kubernetes") {
    const cluster = await ClusterServer.start(places);
    project.provide("conformance", cluster.facts);
    return () => cluster[Symbol.asyncDispose]();
  }
  const server = await UpProcess.onNewFolder();
  try {
    await server.start();
    for (const [name, replicas] of Object.entries(places)) {
      await server.client.patch(SandboxPools, { namespace: "default", name }, { type: "merge", body: { spec: { replicas } } });
    }
    project.provide("conformance", await factsOf(server.home));
  } catch (error) {
    await server[Symbol.asyncDispose]();
    throw error;
  }
  return () => server[Symbol.asyncDispose]();
}

function engineOf({ AGENTBOX_CONFORMANCE_ENGINE: engine = "embedded" }: NodeJS.ProcessEnv): "embedded" | "kubernetes" {
  if (engine === "embedded" || engine === "kubernetes") return engine;
  throw new Error(`AGENTBOX_CONFORMANCE_ENGINE: '${engine}' is neither embedded nor kubernetes`);
}

async function factsOf(home: string): Promise<ServerUnderTest> {
  const facts = await readServerFile(join(home, "run/server.json"));
  if (facts?.gatewayAddress === undefined || facts.domain === undefined) throw new Error("the server has no gateway");
  return {
    home,
    apiUrl: facts.httpAddress,
    gatewayUrl: facts.gatewayAddress,
    domain: facts.domain,
    apiKey: (await readFile(join(home, "keys/admin.key"), "utf8")).trim(),
    authorityFile: join(home, "certificates/authority.crt"),
    hostsAt: "127.0.0.1",
    without: [],
  };
}
