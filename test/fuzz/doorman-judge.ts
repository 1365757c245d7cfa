/** What the doorman makes of a request: its own code under the compiler's sanitizers (`doorman-judge.c`), asked over pipes. */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { initSubject } from "#envd-protocol/arming.ts";
import { sanitized } from "../world/sanitized-helper.ts";

const run = promisify(execFile);
const sources = [join(import.meta.dirname, "doorman-judge.c"), join(import.meta.dirname, "../../src/envd/helper/judge.c")];

/** In the order of `enum verdict`. */
const verdicts = ["more", "health", "order", "unknown"] as const;

export interface Judgement {
  readonly verdict: (typeof verdicts)[number];
  /** After so many bytes. */
  readonly after: number;
  readonly sandboxId: string;
  readonly body: Buffer;
}

export class DoormanJudge implements AsyncDisposable {
  readonly #program: ChildProcess;
  readonly #folder: string;
  #said = Buffer.alloc(0);
  #complaint = "";
  #onNews = (): void => {};

  private constructor(folder: string) {
    this.#folder = folder;
    this.#program = spawn(join(folder, "judge"), { stdio: ["pipe", "pipe", "pipe"] });
    this.#program.stderr?.on("data", (chunk: Buffer) => (this.#complaint += chunk.toString("utf8")));
    // It has ended: told by what it complained of.
    this.#program.stdin?.on("error", () => {});
    this.#program.stdout?.on("data", (chunk: Buffer) => {
      this.#said = Buffer.concat([this.#said, chunk]);
      this.#onNews();
    });
    this.#program.once("exit", () => this.#onNews());
  }

  static async open(key: Uint8Array, of: { readonly podUid: string; readonly bootId: string }): Promise<DoormanJudge> {
    const folder = await mkdtemp(join(tmpdir(), "agentbox-judge-"));
    await run("cc", [...sanitized, "-o", join(folder, "judge"), ...sources, "-lsodium"]);
    const judge = new DoormanJudge(folder);
    judge.#program.stdin?.write(Buffer.concat([key, sized(Buffer.from(initSubject(of)))]));
    return judge;
  }

  async ask(request: Uint8Array): Promise<Judgement> {
    this.#program.stdin?.write(sized(request));
    for (;;) {
      const judgement = this.#take();
      if (judgement !== undefined) return judgement;
      if (this.#program.exitCode !== null) throw new Error(`the judge has ended: ${this.#complaint}`);
      await new Promise<void>((resolve) => (this.#onNews = resolve));
    }
  }

  #take(): Judgement | undefined {
    const said = this.#said;
    if (said.length < 12) return undefined;
    const idEnd = 12 + said.readUInt32LE(8);
    if (said.length < idEnd + 4) return undefined;
    const end = idEnd + 4 + said.readUInt32LE(idEnd);
    if (said.length < end) return undefined;
    this.#said = said.subarray(end);
    return {
      verdict: verdicts[said.readUInt32LE(0)] ?? "unknown",
      after: said.readUInt32LE(4),
      sandboxId: said.toString("latin1", 12, idEnd),
      body: said.subarray(idEnd + 4, end),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = this.#program.exitCode === null ? once(this.#program, "exit") : undefined;
    this.#program.stdin?.end();
    await ended;
    await rm(this.#folder, { recursive: true });
  }
}

function sized(bytes: Uint8Array): Buffer {
  const size = Buffer.alloc(4);
  size.writeUInt32LE(bytes.length);
  return Buffer.concat([size, bytes]);
}
