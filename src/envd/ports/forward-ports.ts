/**
 * Programs that listen on 127.0.0.1 only are reachable from outside too, as clients of the SDKs expect: on the sandbox's own address we
 * listen for them. `listening.ts`: which they are.
 */
import { readFile } from "node:fs/promises";
import { connect, createServer, type Server } from "node:net";
import { networkInterfaces } from "node:os";
import type { Clock } from "#lib/clock.ts";
import { loopbackPorts } from "./listening.ts";

const everyMs = 1000;

export function forwardPorts(clock: Clock, ownPort: number): void {
  const servers = new Map<number, Server>();
  const look = async (): Promise<void> => {
    const tables = await Promise.all(["/proc/net/tcp", "/proc/net/tcp6"].map((path) => readFile(path, "latin1").catch(() => "")));
    const mine = new Set(servers.keys());
    const wanted = loopbackPorts(withoutOwn(tables, mine));
    for (const [port, server] of servers) {
      if (wanted.has(port)) continue;
      server.close();
      servers.delete(port);
    }
    const address = ownAddress();
    if (address === undefined) return;
    for (const [port, target] of wanted) if (port !== ownPort && !servers.has(port)) servers.set(port, forward(address, port, target));
  };
  const again = (): void => {
    look()
      .catch(() => {})
      .finally(() => clock.after(everyMs, again));
  };
  again();
}

/** Our own listeners on the sandbox's address are no reason to stop. */
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
  // Somebody listens there by himself.
  server.on("error", () => server.close());
  server.listen(port, address);
  return server;
}
