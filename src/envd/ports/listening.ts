/** Ports that programs of the sandbox listen on, from the kernel's tables. Pure. */

const listening = "0A";
const loopbacks: ReadonlySet<string> = new Set(["0100007F", "00000000000000000000000001000000", "0000000000000000FFFF00000100007F"]);

/** `tables`: /proc/net/tcp and /proc/net/tcp6. Returns the ports that only the sandbox itself can reach, with their addresses. */
export function loopbackPorts(tables: readonly string[]): ReadonlyMap<number, "127.0.0.1" | "::1"> {
  const found = new Map<number, "127.0.0.1" | "::1">();
  const open = new Set<number>();
  for (const line of tables.flatMap((table) => table.split("\n"))) {
    const [, local, , state] = line.trim().split(/\s+/);
    const [address, hex] = local?.split(":") ?? [];
    if (state !== listening || address === undefined || hex === undefined) continue;
    const port = Number.parseInt(hex, 16);
    if (!loopbacks.has(address)) open.add(port);
    // IPv4 is what most clients try first.
    else if (address.length === 8 || !found.has(port))
      found.set(port, address.startsWith("00000000000000000000000001") ? "::1" : "127.0.0.1");
  }
  for (const port of open) found.delete(port);
  return found;
}
