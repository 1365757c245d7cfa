/**
 * Makes programs that listen only on 127.0.0.1 reachable from outside, as clients of the SDKs expect: the daemon listens for them on the sandbox's own
 * address. `listening.ts`: which programs, `socket-count.ts`: when to look for them.
 */
import { readFileSync } from "node:fs";
import { connect, createServer, type Server } from "node:net";
import { networkInterfaces } from "node:os";
import type { Clock } from "#lib/clock.ts";
import { loopbackPorts } from "./listening.ts";
import { SocketCount } from "./socket-count.ts";

const everyMs = 1000;

export interface OwnPort {
  readonly port: number;
  /** Number of the daemon's sockets, without those opened here. */
  readonly sockets: () => number;
}

export function forwardPorts(clock: Clock, own: OwnPort): void {
  const servers = new Map<number, Server>();
  const count = new SocketCount(own.sockets);
  const look = (): void => {
    if (!count.mayHaveChanged()) return;
    const tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(readTable);
    const mine = new Set(servers.keys());
    const wanted = loopbackPorts(withoutOwn(tables, mine));
    for (const [port, server] of servers) {
      if (wanted.has(port)) continue;
      server.close();
      servers.delete(port);
    }
    const address = ownAddress();
    if (address === undefined) return;
    for (const [port, target] of wanted) if (port !== own.port && !servers.has(port)) servers.set(port, forward(address, port, target));
  };
  const again = (): void => {
    try {
      look();
    } catch {
      // For example out of descriptors. The next round tries again.
    }
    clock.after(everyMs, again);
  };
  again();
}

/** Synchronous, because the kernel answers from memory; waiting in a worker thread would start four of them in every sandbox. */
function readTable(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    // A kernel without IPv6.
    return "";
  }
}

/** Our own listeners on the sandbox's address are not a reason to stop. */
function withoutOwn(tables: readonly string[], ports: ReadonlySet<number>): readonly string[] {
  const address = hexAddress(ownAddress() ?? "");
  const own = new Set([...ports].map((port) => `${address}:${port.toString(16).toUpperCase().padStart(4, "0")}`));
  return tables.map((table) =>
    table
      .split("\n")
      .filter((line) => !own.has(line.trim().split(/\s+/)[1] ?? ""))
      .join("\n"),
  );
}

function hexAddress(address: string): string {
  const bytes = address.split(".").map(Number).toReversed();
  return Buffer.from(bytes).toString("hex").toUpperCase();
}

function ownAddress(): string | undefined {
  return Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .find(({ family, internal }) => family === "IPv4" && !internal)?.address;
}

function forward(address: string, port: number, target: string): Server {
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (outside) => {
    const inside = connect({ host: target, port, allowHalfOpen: true });
    outside.on("error", () => inside.destroy());
    inside.on("error", () => outside.destroy());
    outside.pipe(inside).pipe(outside);
  });
  // A program listens on this address itself, so no forwarding is needed.
  server.on("error", () => server.close());
  server.listen(port, address);
  return server;
}
