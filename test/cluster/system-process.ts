/** `agentbox serve` for the cluster, as a process of this machine that can be killed at any instant and started again. */
import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";

const launcher = join(import.meta.dirname, "../../bin/agentbox");

/** A line of its log. */
export interface Logged {
  readonly level: string;
  readonly msg: string;
  readonly address?: string;
  readonly health?: string;
  readonly error?: { readonly message?: string };
}

export interface Listening {
  readonly api: string;
  readonly gateway: string;
  readonly health: string;
}

export class SystemProcess {
  readonly #args: readonly string[];
  readonly #env: Readonly<Record<string, string>>;
  #child: ChildProcess | undefined;
  #listening: Listening | undefined;
  /** What it said that is more than information, over all its lives. */
  readonly complaints: Logged[] = [];

  /** Of `agentbox serve`: the parts and their settings. */
  constructor(args: readonly string[], env: Readonly<Record<string, string>>) {
    this.#args = args;
    this.#env = env;
  }

  get pid(): number {
    if (this.#child?.pid === undefined) throw new Error("start it first");
    return this.#child.pid;
  }

  get listening(): Listening {
    if (this.#listening === undefined) throw new Error("start it first");
    return this.#listening;
  }

  /** Resolves when all of it works: the APIs and the gateway listen, and the controllers, if it has them, lead. */
  async start(): Promise<void> {
    const child = spawn(launcher, ["serve", ...this.#args], {
      env: { ...process.env, ...this.#env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#child = child;
    const said = new Map<string, Logged>();
    let errors = "";
    child.stderr.on("data", (chunk: Buffer) => (errors = (errors + chunk.toString()).slice(-4000)));
    const works = Promise.withResolvers<void>();
    createInterface({ input: child.stdout }).on("line", (line) => {
      const logged = JSON.parse(line) as Logged;
      if (logged.level !== "info" && logged.level !== "debug") this.complaints.push(logged);
      said.set(logged.msg, logged);
      const leads = said.has("controllers run") || !this.#args.includes("controllers");
      if (said.has("agentbox is ready") && leads) works.resolve();
    });
    child.once("exit", (code, signal) => {
      const words = [...said.values()].map((logged) => JSON.stringify(logged)).join("\n");
      works.reject(new Error(`agentbox serve ended (${signal ?? code}) before it worked:\n${errors}\n${words.slice(-4000)}`));
    });
    await works.promise;
    const address = (message: string): string => said.get(message)?.address ?? "";
    this.#listening = {
      api: address("API listens"),
      gateway: address("gateway listens"),
      health: said.get("agentbox starts")?.health ?? "",
    };
  }

  /** SIGKILL: nothing gets to run any more. Resolves when the process is gone. */
  kill(): Promise<void> {
    return this.#end("SIGKILL");
  }

  /** SIGTERM, as a kubelet would. */
  stop(): Promise<void> {
    return this.#end("SIGTERM");
  }

  /** Ctrl-C. */
  interrupt(): Promise<void> {
    return this.#end("SIGINT");
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise((resolve) => child.once("exit", resolve));
    child.kill(signal);
    await gone;
  }
}
