/**
 * Passes the output of one process to any number of listeners. Without a listener the output is dropped, so that the process never blocks. The process is
 * paused only while all listeners are behind. A listener far behind the others is disconnected, so that it does not slow them down.
 */
import type { OutputName } from "#envd-protocol/process-messages.ts";

export interface OutputListener {
  /** Bytes passed to it that it has not processed yet. */
  readonly backlog: number;
  data(name: OutputName, base64: string): void;
  /** Called when it was too slow and is disconnected. */
  cut(): void;
}

export interface OutputSource {
  pause(): unknown;
  resume(): unknown;
}

/** A listener with more buffered bytes is behind. */
const behind = 512 * 1024;
/** A listener with more buffered bytes, while another keeps up, is disconnected. */
const lost = 16 * 1024 * 1024;
const pieceSizes: Readonly<Record<OutputName, number>> = { stdout: 32 * 1024, stderr: 32 * 1024, pty: 16 * 1024 };

export class OutputFan {
  readonly #listeners = new Set<OutputListener>();
  readonly #sources: readonly OutputSource[];
  #isPaused = false;

  constructor(sources: readonly OutputSource[]) {
    this.#sources = sources;
  }

  add(listener: OutputListener): void {
    this.#listeners.add(listener);
  }

  remove(listener: OutputListener): void {
    this.#listeners.delete(listener);
    this.flow();
  }

  data(name: OutputName, chunk: Buffer): void {
    if (this.#listeners.size === 0) return;
    const size = pieceSizes[name];
    for (let at = 0; at < chunk.length; at += size) {
      const piece = chunk.toString("base64", at, Math.min(at + size, chunk.length));
      for (const listener of this.#listeners) this.#give(listener, name, piece);
    }
    this.flow();
  }

  /** Call this when a listener has caught up. */
  flow(): void {
    const mustWait = this.#listeners.size > 0 && [...this.#listeners].every(({ backlog }) => backlog > behind);
    if (mustWait === this.#isPaused) return;
    this.#isPaused = mustWait;
    for (const source of this.#sources) {
      if (mustWait) source.pause();
      else source.resume();
    }
  }

  #give(listener: OutputListener, name: OutputName, piece: string): void {
    if (listener.backlog > lost && this.#listeners.size > 1) {
      this.#listeners.delete(listener);
      listener.cut();
      return;
    }
    listener.data(name, piece);
  }
}
