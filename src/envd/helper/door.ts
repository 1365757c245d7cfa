/**
 * The daemon's side of its doors. While a sandbox waits, a small program answers in the daemon's place (`doorman.c`). They talk once, over a socket pair:
 * the daemon says that it is ready, and what to answer for it; the doorman passes on the order that armed the sandbox, or nothing if an unknown request
 * came. Then the doorman exits, and the daemon accepts the next connection.
 */
import { closeSync } from "node:fs";
import { Socket } from "node:net";
import { type Identity, parseInit } from "#envd/init-request.ts";
import { header, type InitBody, initSubject } from "#envd-protocol/arming.ts";

/** Descriptor numbers set by doorman.c. */
const [doormanAt, firstDoorAt] = [3, 4];

/** Descriptors by the ports that the doorman holds; undefined without a doorman: the daemon opens the ports itself. */
export function heldDoors(ports: string | undefined): Map<number, number> | undefined {
  return ports === undefined ? undefined : new Map(ports.split(",").map((port, place) => [Number(port), firstDoorAt + place]));
}

/** How long an order may wait for the daemon: longer than a burst of creates takes, shorter than the time after which a caller misses the daemon. */
const restMs = 1000;

/** For a daemon that answers by itself from the start. */
export function sendDoormanAway(): void {
  closeSync(doormanAt);
}

export interface Order {
  readonly sandboxId: string;
  readonly init: InitBody;
}

/** Lets the doorman answer until it has something to pass on. Rejects if it exits without that: it may already have answered for us. */
export async function waitBehindDoor(identity: Identity): Promise<Order | undefined> {
  const doorman = new Socket({ fd: doormanAt });
  try {
    doorman.write(wordFor(identity));
    return await handedOver(doorman);
  } finally {
    doorman.destroy();
  }
}

/** `struct word` of doorman.c, followed by the texts whose sizes it has. */
function wordFor({ podUid, bootId, controlPlaneKey }: Identity): Buffer {
  const key = Buffer.from(controlPlaneKey, "base64");
  if (key.length !== 32) throw new Error(`the control plane's public key must be 32 bytes in base64, not ${key.length} bytes`);
  const said = { [header.bootId]: bootId, [header.podUid]: podUid, [header.armed]: "no" };
  const texts = [noContent(said), noContent({}), Buffer.from(initSubject({ podUid, bootId }))];
  const sizes = Buffer.alloc(16);
  [restMs, ...texts.map(({ length }) => length)].forEach((size, place) => sizes.writeUInt32LE(size, place * 4));
  return Buffer.concat([sizes, key, ...texts]);
}

/** The last answer of its connection: the next connection may be the daemon's. */
function noContent(headers: Readonly<Record<string, string>>): Buffer {
  const lines = Object.entries({ ...headers, connection: "close" }).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`HTTP/1.1 204 No Content\r\n${lines.join("")}\r\n`, "latin1");
}

async function handedOver(doorman: Socket): Promise<Order | undefined> {
  let received = Buffer.alloc(0);
  for await (const chunk of doorman as AsyncIterable<Buffer>) {
    received = Buffer.concat([received, chunk]);
    if (received.length < 8) continue;
    const [idSize, bodySize] = [received.readUInt32LE(0), received.readUInt32LE(4)];
    if (received.length < 8 + idSize + bodySize) continue;
    return idSize === 0 ? undefined : orderIn(received.subarray(8, 8 + idSize), received.subarray(8 + idSize));
  }
  throw new Error("the doorman ended without a word");
}

/** The doorman checks the signature of an order, not its content. */
function orderIn(sandboxId: Buffer, body: Buffer): Order {
  const init = parseInit(body);
  if (typeof init === "string") throw new Error(`the control plane's order cannot be carried out: ${init}`);
  return { sandboxId: sandboxId.toString("latin1"), init };
}
