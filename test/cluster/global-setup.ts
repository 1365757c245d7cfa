/** The cluster of `make cluster` for a vitest run: used where it runs, started or repaired where not, and left there. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { type ClusterDescription, clusterLayout } from "../../tools/cluster/layout.ts";

declare module "vitest" {
  export interface ProvidedContext {
    cluster: ClusterDescription;
  }
}

export default async function setup(project: TestProject): Promise<void> {
  await clusterCommand("up");
  project.provide("cluster", JSON.parse(await readFile(clusterLayout().description, "utf8")) as ClusterDescription);
}

/** Runs `make cluster` and its siblings, without make. */
export async function clusterCommand(command: "up" | "status" | "down"): Promise<void> {
  const script = join(import.meta.dirname, "../../tools/cluster.ts");
  const child = spawn(process.execPath, [script, command], { stdio: ["ignore", "ignore", "inherit"] });
  const [code] = (await once(child, "close")) as [number | null];
  if (code !== 0) throw new Error(`tools/cluster.ts ${command} failed with code ${code}; what it said stands above`);
}
