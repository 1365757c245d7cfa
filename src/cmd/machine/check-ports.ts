/** Looks whether all ports of a server can be had, before anything of it is started: a start that fails later has made half a node for nothing. */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { createServer } from "node:net";
import { CliError } from "#cli/failure.ts";

export interface WantedPort {
  /** What listens there, such as "the API". */
  readonly whose: string;
  readonly host: string;
  /** 0: any that is free. */
  readonly port: number;
  /** How to choose another. */
  readonly remedy: string;
}

/** Throws CliError that names every port that is taken, and what holds it. */
export async function checkPorts(wanted: readonly WantedPort[]): Promise<void> {
  const ports = wanted.filter(({ port }) => port !== 0);
  const taken = (await Promise.all(ports.map(async (one) => ((await isTaken(one)) ? [one] : [])))).flat();
  if (taken.length === 0) return;
  throw new CliError(taken.map((one) => `port ${one.port} of ${one.whose} is in use${heldBy(one.port)}. ${one.remedy}`).join("\n"));
}

/** Whatever else is wrong with an address is told by the part that listens there. */
function isTaken({ host, port }: WantedPort): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once("error", ({ code }: NodeJS.ErrnoException) => resolve(code === "EADDRINUSE"));
    probe.listen({ host, port, exclusive: true }, () => probe.close(() => resolve(false)));
  });
}

/** As far as this user may see: other users' processes hide their files. */
function heldBy(port: number): string {
  const inodes = new Set(["/proc/net/tcp", "/proc/net/tcp6"].flatMap((file) => listenersIn(file, port)));
  const pid = inodes.size === 0 ? undefined : numbersIn("/proc").find((one) => filesOf(one).some((file) => inodes.has(file)));
  return pid === undefined ? " by another program" : ` by process ${pid} (${nameOf(pid)})`;
}

const listening = "0A";

/** The sockets that listen at a port, as the files of processes show them. */
function listenersIn(file: string, port: number): readonly string[] {
  return lines(file).flatMap((line) => {
    const [, local = "", , state, , , , , , inode = ""] = line.trim().split(/\s+/);
    return state === listening && Number.parseInt(local.split(":").at(-1) ?? "", 16) === port ? [`socket:[${inode}]`] : [];
  });
}

function lines(file: string): readonly string[] {
  return orNothing(() => readFileSync(file, "utf8").split("\n"));
}

function numbersIn(folder: string): readonly string[] {
  return readdirSync(folder).filter((name) => /^\d+$/.test(name));
}

/** What is closed while we look is not what holds a port. */
function filesOf(pid: string): readonly string[] {
  const folder = `/proc/${pid}/fd`;
  return orNothing(() => numbersIn(folder)).flatMap((number) => orNothing(() => [readlinkSync(`${folder}/${number}`)]));
}

function orNothing(read: () => readonly string[]): readonly string[] {
  try {
    return read();
  } catch {
    return [];
  }
}

function nameOf(pid: string): string {
  return lines(`/proc/${pid}/comm`)[0] ?? "";
}
