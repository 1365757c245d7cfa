import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";

export interface WriterJob {
  readonly location: string;
  readonly name: string;
  readonly from?: number;
  readonly count: number;
}

/** writer.ts as a process of its own. */
export class WriterProcess {
  /** Which end the history had for a sandbox when its put was acknowledged. */
  readonly acknowledged = new Map<string, string>();
  readonly ended: Promise<{ readonly code: number | null; readonly errors: string }>;
  readonly #child: ChildProcess;
  #watcher: (() => void) | undefined;

  constructor({ location, name, from = 0, count }: WriterJob) {
    const script = join(import.meta.dirname, "writer.ts");
    const child = spawn(process.execPath, [script, location, name, String(from), String(count)], { stdio: ["ignore", "pipe", "pipe"] });
    this.#child = child;
    let errors = "";
    child.stderr.on("data", (chunk: Buffer) => (errors += chunk.toString()));
    let rest = "";
    child.stdout.on("data", (chunk: Buffer) => {
      const lines = (rest + chunk.toString()).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) this.#read(line);
      this.#watcher?.();
    });
    this.ended = new Promise((resolve) => child.once("close", (code) => resolve({ code, errors })));
  }

  #read(line: string): void {
    const [sandboxId = "", end = ""] = line.split(" ");
    if (line !== "ready") this.acknowledged.set(sandboxId, end);
  }

  /** SIGKILL as soon as so many puts are acknowledged, or it has ended by itself; resolves when it is gone. */
  async killAfter(puts: number): Promise<void> {
    const reached = new Promise<void>((resolve) => {
      this.#watcher = () => this.acknowledged.size >= puts && resolve();
      this.#watcher();
    });
    await Promise.race([reached, this.ended]);
    this.#child.kill("SIGKILL");
    await this.ended;
  }
}
