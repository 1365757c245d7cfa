/** A small Internet for tests: a network namespace behind a link of this machine, with servers that answer with the address they see. */
import { execFileSync, spawn } from "node:child_process";
import { randomInt, randomBytes } from "node:crypto";
import { once } from "node:events";

/** Answers every connection with the address that it comes from. */
const server = (ports: readonly number[]): string =>
  `const net = require("node:net"); let open = ${ports.length};
   for (const port of ${JSON.stringify(ports)}) net.createServer((s) => { s.on("error", () => {}); s.end(s.remoteAddress.replace("::ffff:", "") + "\\n"); })
     .listen(port, () => { if (--open === 0) console.log("ready"); });`;

/** Connects and says what came of it. */
const client = (address: string, port: number, localAddress?: string): string =>
  `const s = require("node:net").connect(${JSON.stringify({ host: address, port, localAddress })}); s.setTimeout(400);
   s.on("data", (d) => console.log(String(d).trim())); s.on("error", (e) => console.log(e.code)); s.on("timeout", () => { console.log("timeout"); s.destroy(); });`;

export class Outside implements AsyncDisposable {
  readonly uplink: string;
  /** The machine as the outside sees it. */
  readonly machine: string;
  /** Two addresses with servers in public networks, and one in a private network. */
  readonly address: string;
  readonly other: string;
  readonly privateAddress: string;
  readonly #namespace: string;
  #stop: (() => Promise<void>) | undefined;

  private constructor() {
    const id = randomBytes(2).toString("hex");
    const third = randomInt(256);
    this.#namespace = `abxo${id}`;
    this.uplink = `abo${id}`;
    this.machine = `11.99.${third}.1`;
    this.address = `11.99.${third}.2`;
    this.other = `11.99.${third}.3`;
    this.privateAddress = `172.31.${third}.53`;
  }

  static async open(): Promise<Outside> {
    const outside = new Outside();
    await outside.#setUp();
    return outside;
  }

  async #setUp(): Promise<void> {
    const inner = `${this.uplink}o`;
    ip(`netns add ${this.#namespace}`);
    ip(`link add ${this.uplink} type veth peer name ${inner} netns ${this.#namespace}`);
    ip(`addr add ${this.machine}/24 dev ${this.uplink}`);
    ip(`link set ${this.uplink} up`);
    for (const address of [`${this.address}/24`, `${this.other}/24`, `${this.privateAddress}/32`])
      ip(`-n ${this.#namespace} addr add ${address} dev ${inner}`);
    ip(`-n ${this.#namespace} link set lo up`);
    ip(`-n ${this.#namespace} link set ${inner} up`);
    ip(`-n ${this.#namespace} route add default via ${this.machine}`);
    ip(`route add ${this.privateAddress}/32 dev ${this.uplink}`);
    const child = spawn("ip", ["netns", "exec", this.#namespace, process.execPath, "-e", server([80, 53])], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    await once(child.stdout, "data");
    this.#stop = async () => {
      const ended = once(child, "exit");
      child.kill("SIGKILL");
      await ended;
    };
  }

  /** What a connection from the outside to `address` comes to. */
  connect(address: string, port: number): string {
    return execFileSync("ip", ["netns", "exec", this.#namespace, process.execPath, "-e", client(address, port)], {
      encoding: "utf8",
    }).trim();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stop?.();
    ip(`netns del ${this.#namespace}`);
  }
}

/** What a connection comes to that is made in the network of a slot, perhaps with an address that is not its own. */
export function connectFrom(networkFile: string, address: string, port: number, localAddress?: string): string {
  return execFileSync("nsenter", [`--net=${networkFile}`, process.execPath, "-e", client(address, port, localAddress)], {
    encoding: "utf8",
  }).trim();
}

export function ip(command: string): string {
  return execFileSync("ip", command.split(" "), { encoding: "utf8" });
}
