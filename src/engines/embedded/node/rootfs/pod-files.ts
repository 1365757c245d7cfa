import { chmodSync, chownSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { mountOf, mountTable } from "#engines/embedded/node/linux/mount-table.ts";
import { mountFileSystem } from "#engines/embedded/node/linux/mounts.ts";
import { renderResolvConf } from "#engines/embedded/node/network/nameservers.ts";

/** Files in /etc with the pod's name, address and nameservers; all of its containers see the same ones. */
export const podFileNames = ["hosts", "hostname", "resolv.conf"] as const;

export interface PodIdentity {
  readonly hostname: string;
  readonly ip: string;
  readonly nameservers: readonly string[];
  /** Root of the pod, seen from outside. */
  readonly firstUid: number;
}

export function podFileContents({ hostname, ip, nameservers }: PodIdentity): Record<(typeof podFileNames)[number], string> {
  return {
    // sudo and others look their own host name up; without a line here they would wait for a name server.
    hosts: `127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n${ip} ${hostname}\n`,
    hostname: `${hostname}\n`,
    "resolv.conf": renderResolvConf(nameservers),
  };
}

/** Much more than these files need. */
const roomForFiles = "256k";

/**
 * On a small file system of their own: a sandbox may write into these files, and what it writes must not take the place
 * of what the node writes down about others.
 */
export function writePodFiles(folder: string, identity: PodIdentity): void {
  mkdirSync(folder, { recursive: true });
  if (mountOf(folder, mountTable())?.target !== folder) {
    const options = { mode: "0755", size: roomForFiles };
    mountFileSystem({ type: "tmpfs", source: "tmpfs", target: folder, flags: ["noSuid", "noDev", "noExec"], options });
  }
  for (const [name, content] of Object.entries(podFileContents(identity))) {
    const file = join(folder, name);
    writeFileSync(file, content);
    chownSync(file, identity.firstUid, identity.firstUid);
    chmodSync(file, 0o644);
  }
}
