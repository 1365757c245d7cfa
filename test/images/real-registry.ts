/** Debian's docker-registry as a process on loopback, with its data in a throw-away folder. */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Digest, hexOf } from "#images/digest.ts";
import type { ImageFixture } from "../world/image-fixture.ts";
import { pushImage } from "../world/push-image.ts";
import { freePort } from "../world/free-port.ts";

export const user = "ann";
export const password = "secret";
/** `ann:secret`, in the only form that the registry takes. */
const passwords = "ann:$2y$04$ChLVedLZDgokEqHC4cEiPeBR/ULI4t/L7s5MqN9fetDqXTflQSvHW\n";
const authorization = `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;

export class RealRegistry implements AsyncDisposable {
  readonly #folder: string;
  readonly #process: ChildProcess;
  readonly #closed: boolean;
  /** Host and port, as it stands in references. */
  readonly host: string;

  private constructor(folder: string, process: ChildProcess, host: string, closed: boolean) {
    this.#folder = folder;
    this.#process = process;
    this.host = host;
    this.#closed = closed;
  }

  /** `closed` lets only `user` in. */
  static async start({ closed = false }: { closed?: boolean } = {}): Promise<RealRegistry> {
    const folder = mkdtempSync(join(tmpdir(), "agentbox-registry-"));
    const host = `127.0.0.1:${await freePort()}`;
    writeFileSync(join(folder, "passwords"), passwords);
    writeFileSync(join(folder, "config.json"), JSON.stringify(configuration(folder, host, closed)));
    const child = spawn("docker-registry", ["serve", join(folder, "config.json")], { stdio: ["ignore", "ignore", "pipe"] });
    const registry = new RealRegistry(folder, child, host, closed);
    await registry.#untilReady();
    return registry;
  }

  async #untilReady(): Promise<void> {
    let said = "";
    this.#process.stderr?.on("data", (chunk: Buffer) => (said += chunk.toString()));
    this.#process.on("error", (error) => (said += `${error.message}; install it with: apt-get install -y docker-registry\n`));
    for (let tries = 0; tries < 400; tries++) {
      if (this.#process.exitCode !== null || said.includes("apt-get")) break;
      if (await fetch(`http://${this.host}/v2/`).catch(() => undefined)) return;
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
    throw new Error(`docker-registry did not start: ${said}`);
  }

  /** Puts an image there, as any client would. */
  async push(repository: string, tag: string, image: ImageFixture): Promise<void> {
    await pushImage(this.host, `${repository}:${tag}`, image, this.#closed ? { authorization } : {});
  }

  /** Changes a byte of a blob on the registry's disk. */
  damage(digest: Digest): void {
    const path = this.#blobPath(digest);
    const content = readFileSync(path);
    const at = Math.floor(content.length / 2);
    content[at] = (content[at] ?? 0) ^ 0xff;
    writeFileSync(path, content);
  }

  /** Removes a blob from the registry's disk. */
  lose(digest: Digest): void {
    rmSync(this.#blobPath(digest));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#process.exitCode === null && this.#process.pid !== undefined) {
      const ended = new Promise((resolve) => this.#process.once("exit", resolve));
      this.#process.kill("SIGTERM");
      await ended;
    }
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #blobPath(digest: Digest): string {
    const hex = hexOf(digest);
    const path = join(this.#folder, "data/docker/registry/v2/blobs/sha256", hex.slice(0, 2), hex, "data");
    if (!existsSync(path)) throw new Error(`${digest} is not in the registry`);
    return path;
  }
}

function configuration(folder: string, host: string, closed: boolean): object {
  return {
    version: "0.1",
    log: { level: "error" },
    storage: { filesystem: { rootdirectory: join(folder, "data") } },
    http: { addr: host },
    ...(closed ? { auth: { htpasswd: { realm: "tests", path: join(folder, "passwords") } } } : {}),
  };
}
