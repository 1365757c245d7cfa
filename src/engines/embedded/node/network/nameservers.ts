import { networkInterfaces } from "node:os";
import { readIfPresent } from "#lib/native/read-if-present.ts";
import { parseAddress } from "#lib/subnet.ts";

/** Used by sandboxes on machines whose own resolvers cannot be reached from a sandbox. */
const publicNameservers = ["1.1.1.1", "8.8.8.8"];

/** Where a stub resolver on the machine itself keeps the list of those it asks. */
const resolverFiles = ["/run/systemd/resolve/resolv.conf", "/etc/resolv.conf"];

export function parseNameservers(resolvConf: string): string[] {
  const found: string[] = [];
  for (const line of resolvConf.split("\n")) {
    const address = /^\s*nameserver\s+(\S+)/.exec(line)?.[1];
    if (address !== undefined && parseAddress(address) !== undefined) found.push(address);
  }
  return found;
}

/** Resolvers for sandboxes: the machine's, but for those that are the machine itself, which no sandbox may talk to. */
export function chooseNameservers(files: readonly string[], ownAddresses: ReadonlySet<string>): string[] {
  for (const file of files) {
    const usable = parseNameservers(file).filter((address) => !address.startsWith("127.") && !ownAddresses.has(address));
    if (usable.length > 0) return usable.slice(0, 3);
  }
  return publicNameservers;
}

export function machineNameservers(): string[] {
  const own = Object.values(networkInterfaces()).flatMap((addresses) => (addresses ?? []).map(({ address }) => address));
  return chooseNameservers(
    resolverFiles.map((file) => readIfPresent(file) ?? ""),
    new Set(own),
  );
}

/** Without search domains: those of the machine reveal the organisation that runs it. */
export function renderResolvConf(nameservers: readonly string[]): string {
  return `${nameservers.map((address) => `nameserver ${address}\n`).join("")}options timeout:2 attempts:2\n`;
}
