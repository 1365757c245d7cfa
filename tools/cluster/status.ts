/** What `make cluster-status` sees: every program, the node, the pods. */
import { existsSync } from "node:fs";
import { adminRequests, isReady } from "../../test/kubernetes/admin-requests.ts";
import { bedBinaries } from "../../test/kubernetes/binaries.ts";
import { readAdminAccess } from "./credentials.ts";
import { isDnsReady } from "./dns.ts";
import type { ClusterLayout } from "./layout.ts";
import { isNodeReady } from "./node-ready.ts";
import { Programs, type ProgramState } from "./programs.ts";
import { readPorts } from "./settings.ts";
import { allPrograms } from "./up.ts";

export interface ClusterStatus {
  readonly programs: readonly { readonly name: string; readonly state: ProgramState; readonly pid?: number | undefined }[];
  readonly nodeReady: boolean;
  readonly dnsReady: boolean;
  /** Undefined while the API server does not answer. */
  readonly pods?: number | undefined;
  /** All of it works. */
  readonly up: boolean;
}

/** Undefined where there is no cluster. */
export async function lookAt(layout: ClusterLayout): Promise<ClusterStatus | undefined> {
  const ports = await readPorts(layout);
  const access = ports && (await readAdminAccess(layout, ports.apiServer));
  if (ports === undefined || access === undefined) return undefined;
  const admin = adminRequests(access);
  const programs = new Programs(layout);
  const all = allPrograms({ layout, ports, bin: await bedBinaries("cluster"), admin });
  const seen = await Promise.all(
    all.map(async (program) => ({ name: program.name, state: await programs.state(program), pid: programs.pid(program.name) })),
  );
  const answers = await isReady(admin);
  const nodeReady = answers && (await isNodeReady(admin));
  const dnsReady = answers && (await isDnsReady(admin));
  const pods = answers ? podCount((await admin("GET", "/api/v1/pods")).text) : undefined;
  const up = nodeReady && dnsReady && seen.every(({ state }) => state === "running") && existsSync(layout.description);
  return { programs: seen, nodeReady, dnsReady, pods, up };
}

function podCount(list: string): number {
  return (JSON.parse(list) as { items: readonly unknown[] }).items.length;
}
