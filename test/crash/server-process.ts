/** `agentbox up` as a process that can be killed at any instant and started again on the same data. */
import { spawn, type ChildProcess } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";

const launcher = join(import.meta.dirname, "../../bin/agentbox");

interface ServerProcessOptions {
  readonly sandboxes: boolean;
  readonly port?: number;
  /** Another version's bin/agentbox. */
  readonly program?: string;
  /** Beside what the tests themselves have. */
  readonly env?: Readonly<Record<string, string>>;
}

export class ServerProcess {
  readonly socketPath: string;
  readonly #home: string;
  readonly #flags: readonly string[];
  readonly #program: string;
  readonly #env: Readonly<Record<string, string>>;
  #child: ChildProcess | undefined;
  #complete: Promise<void> = Promise.resolve();

  /** `port`: of its API; a free one, another at each start, when left out. */
  constructor(home: string, { sandboxes, port = 0, program = launcher, env = {} }: ServerProcessOptions = { sandboxes: false }) {
    this.#home = home;
    this.#program = program;
    this.#env = env;
    this.#flags = [...(sandboxes ? [] : ["--no-sandboxes"]), "--port", String(port)];
    this.socketPath = join(home, "run", "api.sock");
  }

  /** Starts the server and resolves when it answers. */
  async start(): Promise<void> {
    let output = "";
    const child = spawn(this.#program, ["up", ...this.#flags], {
      env: { ...process.env, ...this.#env, AGENTBOX_HOME: this.#home },
      stdio: ["ignore", "pipe", "pipe"],
      // A process group of its own, as a shell creates it: Ctrl-C goes to the group.
      detached: true,
    });
    this.#child = child;
    const said = Promise.withResolvers<void>();
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on("data", (chunk: Buffer) => {
        output = (output + chunk.toString()).slice(-4000);
        if (output.includes("Ctrl-C stops it.")) said.resolve();
      });
    }
    const ended = new Promise<never>((_, reject) => {
      child.once("exit", (code, signal) => reject(new Error(`agentbox up ended (${signal ?? code}) before it answered:\n${output}`)));
    });
    ended.catch(() => {});
    this.#complete = Promise.race([ended, said.promise]);
    this.#complete.catch(() => {});
    await Promise.race([ended, this.#answers()]);
  }

  /** Of the process that runs now. */
  get pid(): number {
    if (this.#child?.pid === undefined) throw new Error("start it first");
    return this.#child.pid;
  }

  /** Resolves when everything in it has started, and not only answers. */
  complete(): Promise<void> {
    return this.#complete;
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

  /** Ctrl-C in its terminal: its child processes get it too. */
  async interrupt(): Promise<void> {
    const { pid } = this.#child ?? {};
    if (pid !== undefined) await this.#ended(() => process.kill(-pid, "SIGINT"));
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    await this.#ended((child) => child.kill(signal));
  }

  async #ended(end: (child: ChildProcess) => unknown): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise((resolve) => child.once("exit", resolve));
    end(child);
    await gone;
  }
}
