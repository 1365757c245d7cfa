/** Looks at this machine and at the data folder for `agentbox doctor`. Nothing is changed, and what cannot be looked at is left out. */
import { X509Certificate } from "node:crypto";
import { readFile, statfs } from "node:fs/promises";
import { createServer } from "node:net";
import { release } from "node:os";
import { dirname, join } from "node:path";
import type { MachineProbe } from "#cli/doctor/checks.ts";
import { runCommand } from "#engines/embedded/node/linux/run-command.ts";
import { findRuntime } from "#engines/embedded/node/runtime/find-command.ts";
import { judgeRunc } from "#engines/embedded/node/runtime/known-escapes.ts";
import { readRegistryFile } from "#images/registry/settings-file.ts";
import type { HomeFolder } from "./parts/home-folder.ts";
import { isListening, readServerFile } from "./machine/server-file.ts";

const patienceMs = 3000;
const usualPorts = [8099, 8100, 8101];

export async function probeMachine(home: HomeFolder, env: Readonly<Record<string, string | undefined>>): Promise<MachineProbe> {
  const [cgroup, runc, disk, server, certificateEnds, registries, database] = await Promise.all([
    controlGroups(),
    runcOf(env),
    diskOf(home.folder),
    serverOf(home),
    certificateEnd(join(home.certificateFolder, "server.crt")),
    registriesOf(home.folder),
    databaseOf(env["DATABASE_URL"]),
  ]);
  const programs = await Promise.all(
    ["nft", "ip"].map(async (name) => [name, (await run("sh", ["-c", `command -v ${name}`])) !== undefined] as const),
  );
  return {
    kernel: release(),
    isRoot: process.getuid?.() === 0,
    ...cgroup,
    maxUserNamespaces: numberIn(await textOf("/proc/sys/user/max_user_namespaces")),
    fileSystems: ((await textOf("/proc/filesystems")) ?? "").split("\n").map((line) => line.trim().split("\t").at(-1) ?? ""),
    runc,
    commands: Object.fromEntries(programs),
    disk,
    server,
    takenPorts: server.isRunning ? [] : (await Promise.all(usualPorts.map(async (port) => ((await isFree(port)) ? [] : [port])))).flat(),
    certificateEnds,
    registries,
    database,
  };
}

async function controlGroups(): Promise<Pick<MachineProbe, "cgroup" | "controllers">> {
  const unified = await textOf("/sys/fs/cgroup/cgroup.controllers");
  const legacy = ((await textOf("/proc/cgroups")) ?? "").split("\n").flatMap((line) => {
    const [name = "", hierarchy, , enabled] = line.split("\t");
    return enabled === "1" && hierarchy !== "0" ? [name] : [];
  });
  if (unified !== undefined) return { cgroup: "v2", controllers: unified.trim().split(" ") };
  const hybrid = await textOf("/sys/fs/cgroup/unified/cgroup.controllers");
  if (legacy.length === 0) return { cgroup: "none", controllers: [] };
  return { cgroup: hybrid === undefined ? "v1" : "hybrid", controllers: legacy };
}

async function serverOf(home: HomeFolder): Promise<MachineProbe["server"]> {
  if (!(await isListening(home.socketPath))) return { isRunning: false, health: undefined };
  const address = (await readServerFile(home.serverFile))?.httpAddress;
  const answer =
    address === undefined
      ? undefined
      : await fetch(`${address}/healthz`, { signal: AbortSignal.timeout(patienceMs) }).catch(() => undefined);
  return { isRunning: true, health: answer?.status };
}

/** Of the nearest folder that is there. */
async function diskOf(path: string): Promise<MachineProbe["disk"]> {
  for (let folder = path; ; folder = dirname(folder)) {
    const found = await statfs(folder).catch(() => undefined);
    if (found !== undefined) return { path: folder, freeBytes: found.bavail * found.bsize, totalBytes: found.blocks * found.bsize };
    if (folder === dirname(folder)) return undefined;
  }
}

async function certificateEnd(file: string): Promise<number | undefined> {
  const text = await textOf(file);
  return text === undefined ? undefined : Date.parse(new X509Certificate(text).validTo);
}

async function registriesOf(folder: string): Promise<MachineProbe["registries"]> {
  const { settings } = await readRegistryFile(join(folder, "registries.json"));
  const plain = new Set(settings.plainHttp ?? []);
  const hosts = new Set([...Object.values(settings.mirrors ?? {}).flat(), ...(settings.private ?? []), ...plain]);
  return await Promise.all([...hosts].map(async (host) => ({ url: host, failure: await registryFailure(host, plain.has(host)) })));
}

async function registryFailure(host: string, isPlain: boolean): Promise<string | undefined> {
  const base = /^https?:\/\//.test(host) ? host : `${isPlain ? "http" : "https"}://${host}`;
  try {
    const { status } = await fetch(`${base}/v2/`, { signal: AbortSignal.timeout(patienceMs) });
    return status === 200 || status === 401 ? undefined : `answers ${status}`;
  } catch (error) {
    return failureOf(error);
  }
}

async function databaseOf(url: string | undefined): Promise<MachineProbe["database"]> {
  if (url === undefined || !/^postgres(ql)?:/.test(url)) return undefined;
  const { Client } = (await import("pg")).default;
  const client = new Client({ connectionString: url, connectionTimeoutMillis: patienceMs });
  const shown = new URL(url).host;
  try {
    await client.connect();
    await client.query("select 1");
    return { url: shown, failure: undefined };
  } catch (error) {
    return { url: shown, failure: failureOf(error) };
  } finally {
    await client.end().catch(() => {});
  }
}

function failureOf(error: unknown): string {
  const { cause, message } = error as Error;
  return cause instanceof Error && cause.message !== "" ? cause.message : message;
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once("error", () => resolve(false));
    probe.listen({ port, host: "127.0.0.1", exclusive: true }, () => probe.close(() => resolve(true)));
  });
}

/** The runc that the node would take, with the node's own judgement of it. */
async function runcOf(env: Readonly<Record<string, string | undefined>>): Promise<MachineProbe["runc"]> {
  const said = await run(findRuntime("runc", env) ?? "runc", ["--version"]);
  const version = /version (\S+)/.exec(said ?? "")?.[1];
  if (version === undefined) return undefined;
  const verdict = judgeRunc(version, /^commit: (\S+)/m.exec(said ?? "")?.[1] ?? "");
  return { version, hole: verdict.kind === "fine" ? undefined : verdict.message };
}

async function run(program: string, args: readonly string[]): Promise<string | undefined> {
  try {
    return await runCommand([program, ...args], { signal: AbortSignal.timeout(patienceMs) });
  } catch {
    return undefined;
  }
}

async function textOf(file: string): Promise<string | undefined> {
  return await readFile(file, "utf8").catch(() => undefined);
}

function numberIn(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Number(text);
}
