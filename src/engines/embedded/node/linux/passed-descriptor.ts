/** A unix socket by which another process hands us one open file (SCM_RIGHTS), which Node's own sockets cannot receive. */
import { closeSync, rmSync } from "node:fs";
import { addressOf, systemCall } from "./libc.ts";

const unixDomain = 1;
const streamNonBlocking = 1 | 0x800 | 0x8_0000;
const closeOnExecFlag = 0x4000_0000;
const socketLevel = 1;
const rightsType = 1;
/** sizeof(sun_path): a longer path cannot be bound. */
const longestPath = 107;

export class DescriptorInbox implements Disposable {
  readonly path: string;
  readonly #socket: number;

  constructor(path: string) {
    if (Buffer.byteLength(path) > longestPath) throw new Error(`${path} is too long for a unix socket: at most ${longestPath} bytes`);
    this.path = path;
    this.#socket = systemCall("socket", [unixDomain, streamNonBlocking, 0], path);
    const address = Buffer.alloc(110);
    address.writeUInt16LE(unixDomain, 0);
    address.write(path, 2);
    systemCall("bind", [this.#socket, address, address.length], path);
    systemCall("listen", [this.#socket, 1], path);
  }

  /** The descriptor that a sender has passed. Does not wait: call it when the sender is known to have sent. */
  receive(): number {
    const connection = systemCall("accept4", [this.#socket, null, null, 0x8_0000], this.path);
    try {
      return receiveDescriptor(connection, this.path);
    } finally {
      closeSync(connection);
    }
  }

  [Symbol.dispose](): void {
    closeSync(this.#socket);
    rmSync(this.path, { force: true });
  }
}

function receiveDescriptor(connection: number, what: string): number {
  const data = Buffer.alloc(4096);
  const control = Buffer.alloc(64);
  const vector = Buffer.alloc(16);
  vector.writeBigUInt64LE(addressOf(data), 0);
  vector.writeBigUInt64LE(BigInt(data.length), 8);
  // struct msghdr: name, its length, iovec, their number, control, its length, flags.
  const header = Buffer.alloc(56);
  header.writeBigUInt64LE(addressOf(vector), 16);
  header.writeBigUInt64LE(1n, 24);
  header.writeBigUInt64LE(addressOf(control), 32);
  header.writeBigUInt64LE(BigInt(control.length), 40);
  systemCall("recvmsg", [connection, header, closeOnExecFlag], what);
  // struct cmsghdr: length (8), level (4), type (4), then the descriptors.
  const length = Number(control.readBigUInt64LE(0));
  const isRights = control.readInt32LE(8) === socketLevel && control.readInt32LE(12) === rightsType;
  if (!isRights || length < 20) throw new Error(`nothing but text came at ${what}; a descriptor was to come`);
  return control.readInt32LE(16);
}
