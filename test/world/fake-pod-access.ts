import { PassThrough } from "node:stream";
import type { ExecInPod, ExecSession, PodAccess, ReadLogs } from "#kube/pod-access.ts";

/** Pods whose log and programs are what a test says, and that remember what was asked of them. */
export class FakePodAccess implements PodAccess {
  readonly read: ReadLogs[] = [];
  readonly ran: ExecInPod[] = [];
  /** What a read gives; it may wait, and look at the request's signal. */
  log: (request: ReadLogs) => AsyncIterable<Buffer> | Iterable<Buffer> = () => [];
  /** Thrown by exec. */
  failure: Error | undefined;
  /** Ends the program that was started last. */
  exit: (code: number) => void = () => {};

  async *readLogs(request: ReadLogs): AsyncIterable<Buffer> {
    this.read.push(request);
    yield* this.log(request);
  }

  async exec(request: ExecInPod): Promise<ExecSession> {
    if (this.failure !== undefined) throw this.failure;
    this.ran.push(request);
    const exit = Promise.withResolvers<number>();
    this.exit = exit.resolve;
    return { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough(), resize: () => {}, exitCode: exit.promise };
  }
}
