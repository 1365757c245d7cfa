/** One server with real sandboxes for all SDKs. Needs root. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { SandboxPools } from "#model/sandbox-pool.ts";
import { readServerFile } from "../../src/cmd/server-file.ts";
import { UpProcess } from "../world/up-process.ts";
import { installSdks } from "./install.ts";

declare module "vitest" {
  export interface ProvidedContext {
    readonly conformance: ServerUnderTest;
  }
}

/** What somebody has to know to point an SDK here. */
export interface ServerUnderTest {
  readonly home: string;
  readonly apiUrl: string;
  readonly gatewayUrl: string;
  readonly domain: string;
  readonly apiKey: string;
  readonly authorityFile: string;
}

/** So many sandboxes can be there at a time: those of one case, and one that all cases of a file share. */
const poolSize = 6;

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  await installSdks();
  const server = await UpProcess.onNewFolder();
  try {
    await server.start();
    await server.client.patch(
      SandboxPools,
      { namespace: "default", name: "base" },
      { type: "merge", body: { spec: { replicas: poolSize } } },
    );
    const facts = await readServerFile(join(server.home, "run/server.json"));
    if (facts?.gatewayAddress === undefined || facts.domain === undefined) throw new Error("the server has no gateway");
    project.provide("conformance", {
      home: server.home,
      apiUrl: facts.httpAddress,
      gatewayUrl: facts.gatewayAddress,
      domain: facts.domain,
      apiKey: (await readFile(join(server.home, "keys/admin.key"), "utf8")).trim(),
      authorityFile: join(server.home, "certificates/authority.crt"),
    });
  } catch (error) {
    await server[Symbol.asyncDispose]();
    throw error;
  }
  return () => server[Symbol.asyncDispose]();
}
