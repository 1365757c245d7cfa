import { PassThrough } from "node:stream";
import type { ExecInPod, ExecSession, PodAccess, ReadLogs } from "#kube/pod-access.ts";
import type { ExecSignal } from "#model/exec-signals.ts";
import { settle } from "./stepped-clock.ts";

/** Pods with a log and programs that the test defines; they record the requests that they get. */
export class FakePodAccess implements PodAccess {
  readonly read: ReadLogs[] = [];
  readonly ran: ExecInPod[] = [];
  /** Rows and columns that terminals were given. */
  readonly sizes: [number, number][] = [];
  readonly signals: ExecSignal[] = [];
  /** What a read gives; it may wait, and look at the request's signal. */
  log: (request: ReadLogs) => AsyncIterable<Buffer> | Iterable<Buffer> = () => [];
  /** Thrown by exec. */
  failure: Error | undefined;
  /** Ends the program that was started last. */
  exit: (code: number) => void = () => {};
  #last: Program = newProgram();

  async *readLogs(request: ReadLogs): AsyncIterable<Buffer> {
    this.read.push(request);
    yield* this.log(request);
  }

  async exec(request: ExecInPod): Promise<ExecSession> {
    if (this.failure !== undefined) throw this.failure;
    this.ran.push(request);
    const program = newProgram();
    this.#last = program;
    this.exit = program.exit.resolve;
    const { stdin, stdout, stderr, exit } = program;
    const resize = (rows: number, cols: number): void => void this.sizes.push([rows, cols]);
    const signal = (name: ExecSignal): void => void this.signals.push(name);
    return { stdin, stdout, stderr, resize, signal, exitCode: exit.promise };
  }

  /** The program that was started last, as it sees its streams. */
  get program(): Pick<Program, "stdin" | "stdout" | "stderr"> {
    return this.#last;
  }

  /** The program that was started last writes and ends, and so do its outputs. */
  end(code: number, output = ""): void {
    this.#last.stdout.end(output);
    this.#last.stderr.end();
    this.exit(code);
  }

  /** It turns out that it cannot be run. */
  break(reason: Error): void {
    this.#last.exit.reject(reason);
    this.#last.stdout.end();
    this.#last.stderr.end();
  }

  /** What it has been given and reads now. */
  typed(): string {
    const read = this.#last.stdin.read() as Buffer | null;
    return read?.toString() ?? "";
  }

  /** Bytes that it has been given and has not read. */
  waiting(): number {
    const { readableLength, writableLength } = this.#last.stdin;
    return readableLength + writableLength;
  }

  /** Writes until the reader stops taking pieces, or `most` times. */
  async writeUntilStuck(piece: Buffer, most: number): Promise<boolean> {
    const { stdout } = this.#last;
    for (let turn = 0; turn < most; turn++) {
      if (stdout.write(piece)) continue;
      for (let wait = 0; stdout.writableNeedDrain; wait++) {
        if (wait === 20) return true;
        await settle();
      }
    }
    return false;
  }
}

interface Program {
  readonly stdin: PassThrough;
  readonly stdout: PassThrough;
  readonly stderr: PassThrough;
  readonly exit: PromiseWithResolvers<number>;
}

function newProgram(): Program {
  const exit = Promise.withResolvers<number>();
  // A test that does not wait for the exit must not get an unhandled rejection.
  exit.promise.catch(() => {});
  return { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough(), exit };
}
