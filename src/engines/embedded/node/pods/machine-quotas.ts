/**
 * Quotas that the kernel keeps for the machine as a whole. One sandbox must not use them up for the others, so they are
 * raised to where the sandboxes' own limits end first. They are never lowered, and stay when the instance is erased.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { type TableRoom, wantedEntries } from "#engines/embedded/node/network/connection-shares.ts";
import { readIfPresent } from "#lib/native/read-if-present.ts";
import { mostTerminals } from "#engines/embedded/node/runtime/spec/container-spec.ts";
import type { Logger } from "#lib/log.ts";

/** What the machine itself has by default. */
const ownTerminals = 4096;
const mostTerminalsOfKernel = 1 << 20;
/** As systemd sets it where it starts the machine: memory is what limits files, and each sandbox has its own limit of it. */
const endlessFiles = "9223372036854775807";
/** The most that the kernel takes, as systemd sets it: each sandbox has a limit of processes, and memory limits them all. Without systemd 16 sandboxes had them all. */
const mostProcesses = "4194304";
/** The kernel's table of addresses on its links: what the machine has by default, and two for each sandbox, one at either end of its link. */
const [ownLinkAddresses, addressesOfLink] = [1024, 2];

export interface MachineQuota {
  readonly file: string;
  readonly atLeast: string;
}

const connectionTable = "/proc/sys/net/netfilter/nf_conntrack_max";

export function wantedQuotas(room: TableRoom): readonly MachineQuota[] {
  const { slots } = room;
  const terminals = Math.min(mostTerminalsOfKernel, ownTerminals + slots * mostTerminals);
  return [
    { file: "/proc/sys/fs/file-max", atLeast: endlessFiles },
    { file: "/proc/sys/kernel/pid_max", atLeast: mostProcesses },
    { file: "/proc/sys/kernel/threads-max", atLeast: mostProcesses },
    { file: "/proc/sys/kernel/pty/max", atLeast: String(terminals) },
    { file: "/proc/sys/net/ipv4/neigh/default/gc_thresh3", atLeast: String(ownLinkAddresses + slots * addressesOfLink) },
    { file: connectionTable, atLeast: String(wantedEntries(room)) },
  ];
}

/** Raises what is too low. A machine that does not let us keeps its limits, and its log says so. */
export function raiseMachineQuotas(quotas: readonly MachineQuota[], log: Logger): void {
  for (const { file, atLeast } of quotas) {
    try {
      const before = readFileSync(file, "utf8").trim();
      if (BigInt(before) >= BigInt(atLeast)) continue;
      writeFileSync(file, atLeast);
      log.info({ file, before, now: atLeast }, "raised a limit of the machine, which all sandboxes share");
    } catch (error) {
      log.warn({ error, file, atLeast }, "could not raise a limit of the machine: one sandbox may use it up for all");
    }
  }
}

/** How many entries the machine's table of connections has room for. Undefined while the kernel has none. */
export function tableEntries(file = connectionTable): number | undefined {
  const text = readIfPresent(file);
  return text === undefined ? undefined : Number(text);
}

const smallestPage = 4096;

/** What the kernel lets TCP sockets of the whole machine hold. */
export function machineSocketBytes(file = "/proc/sys/net/ipv4/tcp_mem"): number {
  const pages = Number(readFileSync(file, "utf8").trim().split(/\s+/)[2]);
  return pages * smallestPage;
}
