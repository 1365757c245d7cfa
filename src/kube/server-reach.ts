/**
 * Whether the object server answers, learnt from every call that is made anyway. Where a caller waits for an answer it is better to
 * know than to try: each try costs its timeout. While the server is gone it is asked now and then, so that its return is
 * noticed at once too.
 */
import { ApiError, type ApiErrorReason, isApiError } from "#kube/api-error.ts";
import type { ObjectClient, WatchEvent } from "#kube/object-client.ts";
import type { Clock, Timer } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import type { ApiObject } from "#model/meta.ts";

export interface ServerReachOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** Any small request. An answer that refuses it is an answer. */
  readonly probe: (signal: AbortSignal) => Promise<unknown>;
}

/** Errors of calls that got no answer, or an answer from a proxy that does not reach the server. */
const noAnswer: ReadonlySet<ApiErrorReason> = new Set(["Unreachable", "Timeout", "ServiceUnavailable"]);
/** One connection may break; when the next call gets no answer either, it is the server. */
const failuresInARow = 2;
const probeEveryMs = 500;
const probeMs = 2_000;
const retryAfterMs = 2_000;

export class ServerReach {
  readonly #options: ServerReachOptions;
  #failures = 0;
  #probing: Timer | undefined;
  #isStopped = false;

  constructor(options: ServerReachOptions) {
    this.#options = options;
  }

  get isGone(): boolean {
    return this.#failures >= failuresInARow;
  }

  stop(): void {
    this.#isStopped = true;
    this.#probing?.cancel();
  }

  /** The same client, whose calls say whether the server is there. */
  observed(client: ObjectClient): ObjectClient {
    const noted = <T>(call: Promise<T>): Promise<T> => this.#noted(call);
    return {
      get: (...call) => noted(client.get(...call)),
      list: (...call) => noted(client.list(...call)),
      watch: (...call) => this.#watched(client.watch(...call)),
      create: (...call) => noted(client.create(...call)),
      update: (...call) => noted(client.update(...call)),
      patch: (...call) => noted(client.patch(...call)),
      delete: (...call) => noted(client.delete(...call)),
      getScale: (...call) => noted(client.getScale(...call)),
      updateScale: (...call) => noted(client.updateScale(...call)),
      patchScale: (...call) => noted(client.patchScale(...call)),
    };
  }

  /** The same client, whose calls fail at once while the server is known to be gone. For callers that wait. */
  impatient(client: ObjectClient): ObjectClient {
    const unlessGone = <T>(call: () => Promise<T>): Promise<T> => (this.isGone ? Promise.reject(gone()) : call());
    return {
      get: (...call) => unlessGone(() => client.get(...call)),
      list: (...call) => unlessGone(() => client.list(...call)),
      watch: (...call) => client.watch(...call),
      create: (...call) => unlessGone(() => client.create(...call)),
      update: (...call) => unlessGone(() => client.update(...call)),
      patch: (...call) => unlessGone(() => client.patch(...call)),
      delete: (...call) => unlessGone(() => client.delete(...call)),
      getScale: (...call) => unlessGone(() => client.getScale(...call)),
      updateScale: (...call) => unlessGone(() => client.updateScale(...call)),
      patchScale: (...call) => unlessGone(() => client.patchScale(...call)),
    };
  }

  async #noted<T>(call: Promise<T>): Promise<T> {
    try {
      const result = await call;
      this.#answered();
      return result;
    } catch (error) {
      this.#failed(error);
      throw error;
    }
  }

  async *#watched<T extends ApiObject>(events: AsyncIterable<WatchEvent<T>>): AsyncGenerator<WatchEvent<T>, void, undefined> {
    try {
      for await (const event of events) {
        this.#answered();
        yield event;
      }
    } catch (error) {
      this.#failed(error);
      throw error;
    }
  }

  #answered(): void {
    if (this.isGone) this.#options.log.info({}, "object server answers again");
    this.#failures = 0;
  }

  #failed(error: unknown): void {
    if (!isApiError(error)) return;
    if (!noAnswer.has(error.reason)) {
      this.#answered();
      return;
    }
    this.#failures += 1;
    if (this.#failures === failuresInARow) {
      this.#options.log.warn({ error }, "object server does not answer");
      this.#probeLater();
    }
  }

  #probeLater(): void {
    if (this.#isStopped) return;
    this.#probing = this.#options.clock.after(probeEveryMs, () => void this.#probe());
  }

  async #probe(): Promise<void> {
    const late = new AbortController();
    const timer = this.#options.clock.after(probeMs, () => late.abort(new ApiError("Timeout", `no answer within ${probeMs} ms`)));
    await this.#noted(this.#options.probe(late.signal)).catch(() => {});
    timer.cancel();
    if (this.isGone) this.#probeLater();
  }
}

function gone(): ApiError {
  return new ApiError("Unreachable", "the object server does not answer", { retryAfterMs });
}
