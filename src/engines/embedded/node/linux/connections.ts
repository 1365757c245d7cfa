/** The connections that the machine's firewall remembers, with their translated addresses. */
import { closeSync } from "node:fs";
import { hasCode } from "#lib/native/files.ts";
import { systemError } from "#lib/native/libc.ts";
import { receiveOffThread, sendOffThread, systemCall } from "./libc.ts";
import { deleteConnection, listConnections, parseAnswer, parseConnections } from "./netlink-message.ts";

const netlinkDomain = 16;
const rawCloseOnExec = 3 | 0x8_0000;
const firewall = 12;
const answerSize = 65_536;

/**
 * Makes the kernel forget all connections that were opened from an address: else answers to what its last user asked would
 * be delivered to the next one, and the table would keep connections of sandboxes that are gone for hours.
 */
export async function forgetConnections(address: Buffer): Promise<void> {
  const socket = systemCall("socket", [netlinkDomain, rawCloseOnExec, firewall], "netlink of the firewall");
  try {
    for (const tuple of await listed(socket, address)) await forget(socket, tuple);
  } finally {
    closeSync(socket);
  }
}

async function listed(socket: number, address: Buffer): Promise<Buffer[]> {
  await sendOffThread(socket, listConnections(address, 1));
  const tuples: Buffer[] = [];
  for (;;) {
    const answer = Buffer.alloc(answerSize);
    const size = await receiveOffThread(socket, answer);
    if (size <= 0) throw new Error(`the kernel ended its list of connections of ${address.join(".")}`);
    const { tuples: more, isLast, errno } = parseConnections(answer.subarray(0, size));
    tuples.push(...more);
    if (errno !== 0) throw systemError(errno, "netlink", `connections of ${address.join(".")}`);
    if (isLast) return tuples;
  }
}

async function forget(socket: number, tuple: Buffer): Promise<void> {
  await sendOffThread(socket, deleteConnection(tuple, 2));
  const answer = Buffer.alloc(4096);
  const size = systemCall("recv", [socket, answer, answer.length, 0], "forgotten connection");
  const result = parseAnswer(answer.subarray(0, size));
  if (result.kind === "data" || result.errno === 0) return;
  const error = systemError(result.errno, "netlink", "forget a connection");
  // It has ended by itself.
  if (!hasCode(error, "ENOENT")) throw error;
}
