/**
 * Unpacking in a thread of its own. It makes many small calls to the file system, which are several times faster when
 * made synchronously, and nobody else's requests may wait for them. When a thread is stopped in the middle its folder is
 * as useless as after any other failure.
 *
 * This file is both sides: the function that others call, and what the thread runs.
 */
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { ImageError, type ImageErrorCode } from "../image-error.ts";
import { unpackLayer, type Unpacked, type UnpackRequest } from "./unpack.ts";

type Message =
  | { readonly kind: "progress"; readonly bytes: number }
  | { readonly kind: "done"; readonly unpacked: Unpacked }
  | { readonly kind: "refused"; readonly code: ImageErrorCode; readonly message: string };

export interface UnpackOptions {
  /** Called with the number of uncompressed bytes so far, at most some dozen times a second. */
  readonly onBytes?: ((bytes: number) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** As `unpackLayer`, in a thread. An abort stops it at once. */
export async function unpackInWorker(request: UnpackRequest, { onBytes, signal }: UnpackOptions = {}): Promise<Unpacked> {
  signal?.throwIfAborted();
  const worker = new Worker(new URL(import.meta.url), { workerData: { unpack: request } });
  const stop = (): void => void worker.terminate();
  signal?.addEventListener("abort", stop, { once: true });
  try {
    return await outcome(worker, onBytes, signal);
  } finally {
    signal?.removeEventListener("abort", stop);
    await worker.terminate();
  }
}

function outcome(worker: Worker, onBytes: UnpackOptions["onBytes"], signal: AbortSignal | undefined): Promise<Unpacked> {
  return new Promise((resolve, reject) => {
    worker.on("message", (message: Message) => {
      if (message.kind === "progress") onBytes?.(message.bytes);
      else if (message.kind === "done") resolve(message.unpacked);
      else reject(new ImageError(message.code, message.message));
    });
    worker.on("error", reject);
    worker.on("exit", () =>
      reject(signal?.aborted === true ? (signal.reason as Error) : new Error("the unpacking thread ended without a result")),
    );
  });
}

async function runInThread(request: UnpackRequest, post: (message: Message) => void): Promise<void> {
  let told = 0;
  try {
    const unpacked = await unpackLayer(request, (bytes) => {
      // Once for every few MB: each message wakes the main thread.
      if (bytes - told < 4 * 1024 * 1024) return;
      told = bytes;
      post({ kind: "progress", bytes });
    });
    post({ kind: "done", unpacked });
  } catch (error) {
    // Errors lose their class on the way to another thread.
    if (!(error instanceof ImageError)) throw error;
    post({ kind: "refused", code: error.code, message: error.message });
  }
}

const port = parentPort;
const job = workerData as { readonly unpack?: UnpackRequest } | undefined;
// A test runner's own threads import this file too, without a job for it.
if (!isMainThread && port !== null && job?.unpack !== undefined) await runInThread(job.unpack, (message) => port.postMessage(message));
