/** One part of AgentBox in a process of its own, which can be asked for its memory after a full collection. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { WebSocket } from "ws";

export type Part = "api" | "controllers" | "gateway";

export interface Memory {
  /** As the machine sees it. */
  readonly rss: number;
  /** What is really used: of the heap, and outside of it. */
  readonly live: number;
}

interface LogLine {
  readonly msg: string;
  readonly address?: string;
}

const launcher = join(import.meta.dirname, "../../bin/agentbox");
/** What a list leaves behind is collected in more than one go. */
const collections = 3;

export class PartProcess implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #lines: LogLine[] = [];
  readonly #said = new Map<string, PromiseWithResolvers<LogLine>>();
  readonly #inspector = Promise.withResolvers<string>();
  #stderr = "";

  constructor(part: Part, flags: readonly string[], env: Readonly<Record<string, string>>) {
    const surroundings = { PATH: process.env["PATH"], HOME: process.env["HOME"], NODE_OPTIONS: "--inspect=127.0.0.1:0", ...env };
    const child = spawn(launcher, ["serve", part, ...flags], { env: surroundings, stdio: ["ignore", "pipe", "pipe"] });
    this.#child = child;
    createInterface(child.stdout).on("line", (line) => this.#hear(JSON.parse(line) as LogLine));
    child.stderr.on("data", (data: Buffer) => {
      this.#stderr += data.toString();
      const [, url] = /Debugger listening on (ws:\S+)/.exec(this.#stderr) ?? [];
      if (url !== undefined) this.#inspector.resolve(url);
    });
    child.once("exit", (code) => {
      const error = new Error(`agentbox serve ${part} ended with ${String(code)}: ${this.#stderr.slice(-2000)}`);
      for (const waiting of this.#said.values()) waiting.reject(error);
    });
  }

  /** Its line, when it has said so. */
  says(msg: string): Promise<LogLine> {
    const before = this.#lines.find((line) => line.msg === msg);
    if (before !== undefined) return Promise.resolve(before);
    const waiting = this.#said.get(msg) ?? Promise.withResolvers<LogLine>();
    this.#said.set(msg, waiting);
    return waiting.promise;
  }

  async memory(): Promise<Memory> {
    const socket = new WebSocket(await this.#inspector.promise);
    await once(socket, "open");
    let last = 0;
    const ask = async (method: string, params: object = {}): Promise<unknown> => {
      const id = ++last;
      socket.send(JSON.stringify({ id, method, params }));
      for (;;) {
        const [data] = (await once(socket, "message")) as [Buffer];
        const answer = JSON.parse(data.toString()) as { readonly id?: number; readonly result?: unknown };
        if (answer.id === id) return answer.result;
      }
    };
    for (let time = 0; time < collections; time++) await ask("HeapProfiler.collectGarbage");
    const expression = "JSON.stringify(process.memoryUsage())";
    const { result } = (await ask("Runtime.evaluate", { expression })) as { readonly result: { readonly value: string } };
    socket.close();
    const { rss, heapUsed, external } = JSON.parse(result.value) as NodeJS.MemoryUsage;
    return { rss, live: heapUsed + external };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const gone = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await gone;
  }

  #hear(line: LogLine): void {
    this.#lines.push(line);
    this.#said.get(line.msg)?.resolve(line);
  }
}
