/** One server with real sandboxes for all packages. */
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { SandboxPools } from "#model/sandbox-pool.ts";
import { readServerFile } from "../../src/cmd/machine/server-file.ts";
import { UpProcess } from "../world/up-process.ts";

declare module "vitest" {
  export interface ProvidedContext {
    readonly sdkServer: { readonly url: string; readonly gatewayUrl: string; readonly apiKey: string };
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await UpProcess.onNewFolder(["base", "code-interpreter-v1"]);
  try {
    await server.start();
    await server.client.patch(
      SandboxPools,
      { namespace: server.namespace, name: "base" },
      { type: "merge", body: { spec: { replicas: 6 } } },
    );
    const facts = await readServerFile(join(server.home, "run/server.json"));
    if (facts?.gatewayAddress === undefined) throw new Error("the server has no gateway");
    project.provide("sdkServer", { ...(await server.access()), gatewayUrl: facts.gatewayAddress });
  } catch (error) {
    await server[Symbol.asyncDispose]();
    throw error;
  }
  return () => server[Symbol.asyncDispose]();
}
