/** Messages of netlink as bytes: what `ip link add …` sends to the kernel. Numbers are in the machine's order (little-endian). */

export const requests = { newLink: 16, deleteLink: 17, getLink: 18, setLink: 19, newAddress: 20, newRoute: 24 } as const;
export type Request = keyof typeof requests;

const flags = { request: 0x1, acknowledge: 0x4, exclusive: 0x200, create: 0x400, dump: 0x300 } as const;
const headerSize = 16;
const errorType = 2;
const doneType = 3;

/** Attribute numbers, by the structure they stand in. */
export const linkAttributes = {
  address: 1,
  name: 3,
  mtu: 4,
  master: 10,
  portInfo: 12,
  linkInfo: 18,
  alias: 20,
  networkDescriptor: 28,
} as const;
export const linkInfoAttributes = { kind: 1, data: 2 } as const;
export const vethPeer = 1;
export const bridgePortAttributes = { isolated: 33 } as const;
export const addressAttributes = { address: 1, local: 2 } as const;
export const routeAttributes = { destination: 1, link: 4, gateway: 5 } as const;
const nested = 0x8000;

const inet = 2;
const bridgeFamily = 7;
const upFlag = 1;

const aligned = (size: number): number => (size + 3) & ~3;

export function attribute(type: number, value: Buffer): Buffer {
  const bytes = Buffer.alloc(aligned(4 + value.length));
  bytes.writeUInt16LE(4 + value.length, 0);
  bytes.writeUInt16LE(type, 2);
  value.copy(bytes, 4);
  return bytes;
}

export function textAttribute(type: number, value: string): Buffer {
  return attribute(type, Buffer.from(`${value}\0`));
}

export function numberAttribute(type: number, value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return attribute(type, bytes);
}

export function byteAttribute(type: number, value: number): Buffer {
  return attribute(type, Buffer.from([value]));
}

export function nestedAttribute(type: number, ...inner: readonly Buffer[]): Buffer {
  return attribute(type | nested, Buffer.concat(inner));
}

/** struct ifinfomsg: which link, and whether it is to be up. */
export function linkHeader({
  index = 0,
  up = false,
  bridgePort = false,
}: { index?: number; up?: boolean; bridgePort?: boolean } = {}): Buffer {
  const bytes = Buffer.alloc(16);
  bytes.writeUInt8(bridgePort ? bridgeFamily : 0, 0);
  bytes.writeInt32LE(index, 4);
  if (up) {
    bytes.writeUInt32LE(upFlag, 8);
    bytes.writeUInt32LE(upFlag, 12);
  }
  return bytes;
}

/** struct ifaddrmsg for an IPv4 address. */
export function addressHeader(link: number, prefixLength: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt8(inet, 0);
  bytes.writeUInt8(prefixLength, 1);
  bytes.writeUInt32LE(link, 4);
  return bytes;
}

/** struct rtmsg for an IPv4 route: the default one, or one to a single address at the other end of a link. */
export function routeHeader(kind: "default" | "link"): Buffer {
  const mainTable = 254;
  const bootProtocol = 3;
  const unicast = 1;
  const [prefixLength, scope] = kind === "default" ? [0, 0] : [32, 253];
  return Buffer.from([inet, prefixLength, 0, 0, mainTable, bootProtocol, scope, unicast, 0, 0, 0, 0]);
}

/** A whole message about links. The kernel acknowledges each, so that every request has an answer. What is new must not exist yet. */
export function message(request: Request, sequence: number, ...body: readonly Buffer[]): Buffer {
  const creates = request.startsWith("new");
  return framed(requests[request], flags.acknowledge | (creates ? flags.create | flags.exclusive : 0), sequence, body);
}

function framed(type: number, flag: number, sequence: number, body: readonly Buffer[]): Buffer {
  const head = Buffer.alloc(headerSize);
  const payload = Buffer.concat(body);
  head.writeUInt32LE(headerSize + payload.length, 0);
  head.writeUInt16LE(type, 4);
  head.writeUInt16LE(flags.request | flag, 6);
  head.writeUInt32LE(sequence, 8);
  return Buffer.concat([head, payload]);
}

const connectionTable = 1 << 8;
const connectionRequests = { list: 1, delete: 2 } as const;
const filterHeader = Buffer.from([inet, 0, 0, 0]);
const tupleAttribute = 1;
const addressesInTuple = 1;
const filterAttribute = 25;
const filterOriginal = 1;

const addressesOfEnds = { source: 1, destination: 2 } as const;
const bySource = 1;

/** Asks for all connections that the kernel remembers to have been opened from an IPv4 address. */
export function listConnections(source: Buffer, sequence: number): Buffer {
  // The kernel wants both addresses in a filter, and compares those that the flags name.
  const both = [attribute(addressesOfEnds.source, source), attribute(addressesOfEnds.destination, Buffer.alloc(4))];
  const tuple = nestedAttribute(tupleAttribute, nestedAttribute(addressesInTuple, ...both));
  const filter = nestedAttribute(filterAttribute, numberAttribute(filterOriginal, bySource));
  return framed(connectionTable | connectionRequests.list, flags.dump, sequence, [filterHeader, tuple, filter]);
}

/** `tuple`: how the connection was opened, as a list had it. */
export function deleteConnection(tuple: Buffer, sequence: number): Buffer {
  return framed(connectionTable | connectionRequests.delete, flags.acknowledge, sequence, [filterHeader, tuple]);
}

export interface ConnectionList {
  /** Of each connection: how it was opened. */
  readonly tuples: readonly Buffer[];
  readonly isLast: boolean;
  readonly errno: number;
}

/** One of the answers to listConnections: several messages, the last of which says that it is. */
export function parseConnections(bytes: Buffer): ConnectionList {
  const tuples: Buffer[] = [];
  for (let at = 0; at + headerSize <= bytes.length; at += aligned(bytes.readUInt32LE(at))) {
    const type = bytes.readUInt16LE(at + 4);
    if (type === doneType || type === errorType) return { tuples, isLast: true, errno: Math.abs(bytes.readInt32LE(at + headerSize)) };
    const body = bytes.subarray(at + headerSize + filterHeader.length, at + bytes.readUInt32LE(at));
    const tuple = findAttribute(body, tupleAttribute);
    if (tuple !== undefined) tuples.push(tuple);
  }
  return { tuples, isLast: false, errno: 0 };
}

/** The attribute with its own header; undefined if there is none of this type. */
function findAttribute(bytes: Buffer, wanted: number): Buffer | undefined {
  for (let at = 0; at + 4 <= bytes.length; at += aligned(bytes.readUInt16LE(at))) {
    const size = aligned(bytes.readUInt16LE(at));
    if ((bytes.readUInt16LE(at + 2) & ~nested) === wanted) return bytes.subarray(at, at + size);
    if (size === 0) break;
  }
  return undefined;
}

export type Answer = { readonly kind: "done"; readonly errno: number } | { readonly kind: "data"; readonly body: Buffer };

/** One answer of the kernel: an acknowledgement (errno 0 if all is well) or what was asked for, without its header. */
export function parseAnswer(bytes: Buffer): Answer {
  const type = bytes.readUInt16LE(4);
  if (type !== errorType) return { kind: "data", body: bytes.subarray(headerSize) };
  return { kind: "done", errno: Math.abs(bytes.readInt32LE(headerSize)) };
}

/** Index of a link, from the answer to getLink. */
export function linkIndex(body: Buffer): number {
  return body.readInt32LE(4);
}
