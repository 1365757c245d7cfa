/**
 * Unpacking in a thread of its own. It makes many small calls to the file system, which are several times faster when made
 * synchronously, and other requests must not wait for them. When a thread is stopped in the middle, its folder is thrown away as after
 * any other failure.
 *
 * This file is both sides: the class that callers use, and the code that the thread runs.
 */
import { isMainThread, type MessagePort, parentPort, Worker, workerData } from "node:worker_threads";
import { ImageError, type ImageErrorCode } from "../image-error.ts";
import { type CheckRequest, type Unpacked, unpackLayer, type UnpackRequest } from "./unpack.ts";

type Message =
  | { readonly kind: "progress"; readonly bytes: number }
  | { readonly kind: "done"; readonly unpacked: Unpacked }
  | { readonly kind: "refused"; readonly code: ImageErrorCode; readonly message: string };

export interface UnpackOptions {
  /** Called with the number of uncompressed bytes so far, once for every few MB. */
  readonly onBytes?: ((bytes: number) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

const mark = "agentbox-unpack";

/** A thread that unpacks one layer after the other, started when the first one comes. */
export class UnpackThread implements AsyncDisposable {
  #worker: Worker | undefined;

  /** As `unpackLayer`. One at a time. An abort stops it at once, and the thread with it. */
  async unpack(request: UnpackRequest | CheckRequest, { onBytes, signal }: UnpackOptions = {}): Promise<Unpacked> {
    signal?.throwIfAborted();
    // Without the flags of this process: some of them are about its own script.
    const worker = (this.#worker ??= new Worker(new URL(import.meta.url), { workerData: mark, execArgv: [] }));
    const stop = (): void => void worker.terminate();
    signal?.addEventListener("abort", stop, { once: true });
    try {
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- that is for windows of a browser
      worker.postMessage(request);
      return await outcome(worker, onBytes);
    } catch (error) {
      signal?.throwIfAborted();
      throw error;
    } finally {
      signal?.removeEventListener("abort", stop);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#worker?.terminate();
    this.#worker = undefined;
  }
}

async function outcome(worker: Worker, onBytes: UnpackOptions["onBytes"]): Promise<Unpacked> {
  const { promise, resolve, reject } = Promise.withResolvers<Unpacked>();
  const onMessage = (message: Message): void => {
    if (message.kind === "progress") onBytes?.(message.bytes);
    else if (message.kind === "done") resolve(message.unpacked);
    else reject(new ImageError(message.code, message.message));
  };
  const onExit = (): void => reject(new Error("the unpacking thread ended without a result"));
  worker.on("message", onMessage).on("error", reject).on("exit", onExit);
  try {
    return await promise;
  } finally {
    worker.off("message", onMessage).off("error", reject).off("exit", onExit);
  }
}

function serve(port: MessagePort): void {
  port.on("message", (request: UnpackRequest | CheckRequest) => void answer(request, (message) => port.postMessage(message)));
}

async function answer(request: UnpackRequest | CheckRequest, post: (message: Message) => void): Promise<void> {
  let told = 0;
  try {
    const unpacked = await unpackLayer(request, (bytes) => {
      // Each message wakes the main thread.
      if (bytes - told < 4 * 1024 * 1024) return;
      told = bytes;
      post({ kind: "progress", bytes });
    });
    post({ kind: "done", unpacked });
  } catch (error) {
    // Errors lose their class on the way to another thread. Others than ours are bugs: they end the thread.
    if (!(error instanceof ImageError)) throw error;
    post({ kind: "refused", code: error.code, message: error.message });
  }
}

// Other threads, such as those of a test runner, import this file too.
if (!isMainThread && parentPort !== null && workerData === mark) serve(parentPort);
