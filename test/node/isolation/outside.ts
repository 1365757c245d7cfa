/** What lies outside of the machine, played by a network namespace: public and private addresses, all with a listener. */
import { spawn, type ChildProcess } from "node:child_process";
import { randomBytes, randomInt } from "node:crypto";
import { writeFileSync } from "node:fs";
import { get } from "node:http";
import { afterAll, beforeAll } from "vitest";
import { onMachine } from "./sandboxes.ts";

export const outsidePort = 8080;

/** Answers with the address that the caller comes from. */
const listener = `
const answer = (request, response) => response.end(request.socket.remoteAddress);
const { createServer } = require("node:http");
createServer(answer).listen(53);
createServer(answer).listen(${outsidePort}, () => console.log("listening"));
`;

export class Outside {
  readonly name = `iso${randomBytes(3).toString("hex")}`;
  readonly #third = randomInt(1, 255);
  #process: ChildProcess | undefined;

  /** The machine's own address towards the outside. */
  get machine(): string {
    return `25.77.${this.#third}.1`;
  }

  get publicAddress(): string {
    return `25.77.${this.#third}.2`;
  }

  get secondPublicAddress(): string {
    return `25.78.${this.#third}.1`;
  }

  get privateAddresses(): Readonly<Record<string, string>> {
    const third = this.#third;
    return {
      "the metadata service": "169.254.169.254",
      "a private network of class A": `10.99.${third}.1`,
      "a private network of class B": `172.20.${third}.1`,
      "a private network of class C": `192.168.${third}.1`,
      "a network shared by customers": `100.64.${third}.1`,
      "a network for benchmarks": `198.18.${third}.1`,
      "a network for documentation": `203.0.113.${third}`,
    };
  }

  async start(): Promise<void> {
    const { name } = this;
    const extra = [this.secondPublicAddress, ...Object.values(this.privateAddresses)];
    onMachine("ip", "netns", "add", name);
    onMachine("ip", "link", "add", `${name}m`, "type", "veth", "peer", "name", "eth0", "netns", name);
    onMachine("ip", "addr", "add", `${this.machine}/30`, "dev", `${name}m`);
    onMachine("ip", "link", "set", `${name}m`, "up");
    for (const address of extra) onMachine("ip", "route", "add", `${address}/32`, "via", this.publicAddress, "dev", `${name}m`, "onlink");
    writeFileSync(`/proc/sys/net/ipv4/conf/${name}m/forwarding`, "1");
    const inside = (...args: readonly string[]): string => onMachine("ip", "-n", name, ...args);
    inside("addr", "add", `${this.publicAddress}/30`, "dev", "eth0");
    inside("link", "set", "lo", "up");
    inside("link", "set", "eth0", "up");
    for (const address of extra) inside("addr", "add", `${address}/32`, "dev", "lo");
    inside("route", "add", "default", "via", this.machine);
    await this.#listen();
  }

  async #listen(): Promise<void> {
    const child = spawn("ip", ["netns", "exec", this.name, process.execPath, "-e", listener], { stdio: ["ignore", "pipe", "inherit"] });
    this.#process = child;
    await new Promise<void>((resolve, reject) => {
      child.stdout.once("data", () => resolve());
      child.once("exit", () => reject(new Error("no program listens outside")));
    });
  }

  /** True if the machine itself gets an answer: then a missing answer elsewhere means a refusal. */
  async machineReaches(address: string): Promise<boolean> {
    return new Promise((resolve) => {
      const asked = get({ host: address, port: outsidePort, timeout: 3000, agent: false }, (response) => {
        response.resume();
        resolve(true);
      });
      asked.on("error", () => resolve(false)).on("timeout", () => asked.destroy());
    });
  }

  stop(): void {
    this.#process?.kill("SIGKILL");
    onMachine("ip", "link", "del", `${this.name}m`);
    onMachine("ip", "netns", "del", this.name);
  }
}

/** One for all tests of a file. */
export function anOutside(): Outside {
  const outside = new Outside();
  beforeAll(() => outside.start());
  afterAll(() => outside.stop());
  return outside;
}

/** Python that prints the answer of an address, or `refused`. */
export function ask(address: string, port: number, source?: string): string {
  const from = source === undefined ? "" : `, source_address=("${source}", 0)`;
  return `
import socket
try:
    connection = socket.create_connection(("${address}", ${port}), timeout=3${from})
    connection.sendall(b"GET / HTTP/1.0\\r\\n\\r\\n")
    print("answered", connection.makefile("rb").read().split(b"\\r\\n\\r\\n")[-1].decode())
except OSError:
    print("refused")
`;
}
