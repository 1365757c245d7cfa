/** `agentbox up` as a process that can be killed at any instant and started again on the same data. */
import { spawn, type ChildProcess } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";

const launcher = join(import.meta.dirname, "../../bin/agentbox");

export class ServerProcess {
  readonly socketPath: string;
  readonly #home: string;
  #child: ChildProcess | undefined;

  constructor(home: string) {
    this.#home = home;
    this.socketPath = join(home, "run", "api.sock");
  }

  /** Starts the server and resolves when it answers. */
  async start(): Promise<void> {
    let output = "";
    const child = spawn(launcher, ["up", "--no-sandboxes", "--port", "0"], {
      env: { ...process.env, AGENTBOX_HOME: this.#home },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#child = child;
    for (const stream of [child.stdout, child.stderr])
      stream?.on("data", (chunk: Buffer) => (output = (output + chunk.toString()).slice(-4000)));
    const ended = new Promise<never>((_, reject) => {
      child.once("exit", (code, signal) => reject(new Error(`agentbox up ended (${signal ?? code}) before it answered:\n${output}`)));
    });
    ended.catch(() => {});
    await Promise.race([ended, this.#answers()]);
  }

  async #answers(): Promise<void> {
    const { Client } = await import("undici");
    for (;;) {
      if (existsSync(this.socketPath)) {
        const client = new Client("http://localhost", { socketPath: this.socketPath });
        const ready = await client.request({ path: "/readyz", method: "GET" }).then(
          async ({ statusCode, body }) => {
            await body.dump();
            return statusCode === 200;
          },
          () => false,
        );
        await client.destroy();
        if (ready) return;
      }
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  /** SIGKILL: nothing gets to run any more. Resolves when the process is gone. */
  async kill(): Promise<void> {
    await this.#end("SIGKILL");
  }

  /** SIGTERM, as an operator would. */
  async stop(): Promise<void> {
    await this.#end("SIGTERM");
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise((resolve) => child.once("exit", resolve));
    child.kill(signal);
    await gone;
  }
}
