/**
 * Thousands of daemons in one process, each at an address of its own on loopback: `/health` and `/init` over real HTTP, without containers
 * behind them. Started by simulated-server.ts, which tells which pod has which address.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { header } from "#envd-protocol/arming.ts";

const podUids = new Map<string, string>();

const server = createServer((request, response) => {
  const address = request.socket.localAddress ?? "";
  if (request.url === "/health") {
    response.setHeader(header.bootId, `boot-${address}`);
    response.setHeader(header.podUid, podUids.get(address) ?? "");
    response.setHeader(header.armed, "no");
  }
  request.resume();
  response.writeHead(204).end();
});
server.keepAliveTimeout = 60_000;
process.on("message", (known: readonly (readonly [string, string])[]) => {
  for (const [address, uid] of known) podUids.set(address, uid);
  process.send?.("known");
});
process.on("disconnect", () => process.exit(0));
server.listen(0, "0.0.0.0", 4096, () => process.send?.((server.address() as AddressInfo).port));
