import { closeSync } from "node:fs";
import { hasCode } from "#lib/native/files.ts";
import { systemError } from "#lib/native/libc.ts";
import { sendOffThread, systemCall } from "./libc.ts";
import {
  addressAttributes,
  addressHeader,
  attribute,
  bridgePortAttributes,
  byteAttribute,
  linkAttributes,
  linkHeader,
  linkIndex,
  linkInfoAttributes,
  message,
  nestedAttribute,
  numberAttribute,
  parseAnswer,
  routeAttributes,
  routeHeader,
  textAttribute,
  vethPeer,
} from "./netlink-message.ts";

const netlinkDomain = 16;
const rawCloseOnExec = 3 | 0x8_0000;

export interface NewBridge {
  readonly name: string;
  readonly mac: string;
  readonly mtu: number;
}

export interface NewVeth {
  readonly name: string;
  /** Index of the bridge that `name` becomes a port of. */
  readonly bridge: number;
  readonly mtu: number;
  readonly peer: {
    readonly name: string;
    readonly mac: string;
    /** Descriptor of the network namespace it is put in. */ readonly network: number;
  };
}

/** A conversation with the kernel about the links of one network namespace: the one in which it was opened. */
export class Netlink implements Disposable {
  readonly #socket: number;
  #sequence = 0;
  /** Requests go one after another: an answer is read where its request was sent. */
  #last: Promise<unknown> = Promise.resolve();

  constructor() {
    this.#socket = systemCall("socket", [netlinkDomain, rawCloseOnExec, 0], "netlink");
  }

  [Symbol.dispose](): void {
    closeSync(this.#socket);
  }

  async createBridge({ name, mac, mtu }: NewBridge): Promise<void> {
    const info = nestedAttribute(linkAttributes.linkInfo, textAttribute(linkInfoAttributes.kind, "bridge"));
    const body = [
      linkHeader({ up: true }),
      textAttribute(linkAttributes.name, name),
      macAttribute(mac),
      numberAttribute(linkAttributes.mtu, mtu),
      info,
    ];
    await this.#ask(`create bridge ${name}`, (sequence) => message("newLink", sequence, ...body));
  }

  /** A pair of links: one is a port of a bridge here, the other the only link of a network namespace. */
  async createVeth({ name, bridge, mtu, peer }: NewVeth): Promise<void> {
    const size = numberAttribute(linkAttributes.mtu, mtu);
    const other = nestedAttribute(
      vethPeer,
      linkHeader(),
      textAttribute(linkAttributes.name, peer.name),
      macAttribute(peer.mac),
      size,
      numberAttribute(linkAttributes.networkDescriptor, peer.network),
    );
    const info = nestedAttribute(
      linkAttributes.linkInfo,
      textAttribute(linkInfoAttributes.kind, "veth"),
      nestedAttribute(linkInfoAttributes.data, other),
    );
    const body = [
      linkHeader({ up: true }),
      textAttribute(linkAttributes.name, name),
      size,
      numberAttribute(linkAttributes.master, bridge),
      info,
    ];
    await this.#ask(`create link ${name}`, (sequence) => message("newLink", sequence, ...body));
  }

  /** Ports that are isolated exchange frames with the bridge itself, never with each other. */
  async isolatePort(index: number): Promise<void> {
    const isolated = nestedAttribute(linkAttributes.portInfo, byteAttribute(bridgePortAttributes.isolated, 1));
    await this.#ask(`isolate port ${index}`, (sequence) => message("setLink", sequence, linkHeader({ index, bridgePort: true }), isolated));
  }

  async linkUp(index: number): Promise<void> {
    await this.#ask(`link ${index} up`, (sequence) => message("setLink", sequence, linkHeader({ index, up: true })));
  }

  /** Free text on the link, readable by all processes of the machine. */
  async setAlias(index: number, alias: string): Promise<void> {
    await this.#ask(`alias of link ${index}`, (sequence) =>
      message("setLink", sequence, linkHeader({ index }), textAttribute(linkAttributes.alias, alias)),
    );
  }

  /** Removes a link; one that is not there is a success. */
  async deleteLink(name: string): Promise<void> {
    try {
      await this.#ask(`delete link ${name}`, (sequence) =>
        message("deleteLink", sequence, linkHeader(), textAttribute(linkAttributes.name, name)),
      );
    } catch (error) {
      if (!hasCode(error, "ENODEV")) throw error;
    }
  }

  /** Index of a link by its name; undefined if there is none. */
  async findLink(name: string): Promise<number | undefined> {
    try {
      const body = await this.#ask(`find link ${name}`, (sequence) =>
        message("getLink", sequence, linkHeader(), textAttribute(linkAttributes.name, name)),
      );
      return body === undefined ? undefined : linkIndex(body);
    } catch (error) {
      if (hasCode(error, "ENODEV")) return undefined;
      throw error;
    }
  }

  async addAddress(index: number, address: Buffer, prefixLength: number): Promise<void> {
    const both = [attribute(addressAttributes.local, address), attribute(addressAttributes.address, address)];
    await this.#askNew(`address ${address.join(".")}`, (sequence) =>
      message("newAddress", sequence, addressHeader(index, prefixLength), ...both),
    );
  }

  /** Everything goes to the gateway, neighbours too: only the gateway is at the other end of the link. */
  async addGateway(index: number, gateway: Buffer): Promise<void> {
    const link = numberAttribute(routeAttributes.link, index);
    const toGateway = [routeHeader("link"), attribute(routeAttributes.destination, gateway), link];
    await this.#askNew(`route to ${gateway.join(".")}`, (sequence) => message("newRoute", sequence, ...toGateway));
    const byGateway = [routeHeader("default"), attribute(routeAttributes.gateway, gateway), link];
    await this.#askNew(`default route by ${gateway.join(".")}`, (sequence) => message("newRoute", sequence, ...byGateway));
  }

  /** Asks for something that may be there already. */
  async #askNew(what: string, build: (sequence: number) => Buffer): Promise<void> {
    try {
      await this.#ask(what, build);
    } catch (error) {
      if (!hasCode(error, "EEXIST")) throw error;
    }
  }

  #ask(what: string, build: (sequence: number) => Buffer): Promise<Buffer | undefined> {
    const asked = this.#last.then(() => this.#exchange(what, build));
    this.#last = asked.catch(() => {});
    return asked;
  }

  async #exchange(what: string, build: (sequence: number) => Buffer): Promise<Buffer | undefined> {
    const request = build(++this.#sequence);
    await sendOffThread(this.#socket, request);
    let data: Buffer | undefined;
    // The kernel has answered before sending returned: what was asked for, if anything, and then an acknowledgement.
    for (;;) {
      const buffer = Buffer.alloc(32_768);
      const size = systemCall("recv", [this.#socket, buffer, buffer.length, 0], what);
      const answer = parseAnswer(buffer.subarray(0, size));
      if (answer.kind === "data") data = answer.body;
      else if (answer.errno === 0) return data;
      else throw systemError(answer.errno, "netlink", what);
    }
  }
}

function macAttribute(mac: string): Buffer {
  return attribute(linkAttributes.address, Buffer.from(mac.replaceAll(":", ""), "hex"));
}
