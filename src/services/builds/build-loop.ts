/**
 * Runs the builds that have been started, a few at a time. What stands in the records decides: a build whose process ended is begun again when the next one starts,
 * and goes on from its last layer; one that has ended so often that it may be the cause of it fails.
 */
import { BuildFailure, nameOfStep } from "#builds/build-failure.ts";
import { FairLimiter } from "#lib/fair-limiter.ts";
import { type Clock, sleep } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import { formatDuration } from "#model/duration.ts";
import { isServiceError } from "#services/service-error.ts";
import type { BuildReason, BuildResult, StoredBuild } from "./build-records.ts";
import { BuildGone, runBuild, type RunBuildDeps } from "./run-build.ts";
import type { Shelf } from "./shelf.ts";

export interface BuildLoopDeps extends RunBuildDeps {
  readonly shelf: Shelf;
  readonly log: Logger;
  readonly buildMs: number;
  /** Builds that run at a time, the last of them of a team that has none; others wait for their turn. */
  readonly atOnce: number;
}

const maxAttempts = 5;
const sweepEveryMs = 15 * 60_000;

interface Running {
  readonly abort: AbortController;
  ended: Promise<void>;
  /** It is its turn. */
  isBegun: boolean;
}

class Canceled extends Error {
  override readonly name = "Canceled";
}

class Stopped extends Error {
  override readonly name = "Stopped";
}

export class BuildLoop implements AsyncDisposable {
  readonly #deps: BuildLoopDeps;
  readonly #limiter: FairLimiter;
  readonly #running = new Map<string, Running>();
  readonly #stop = new AbortController();
  #sweeping: Promise<void> | undefined;

  constructor(deps: BuildLoopDeps) {
    this.#deps = deps;
    this.#limiter = new FairLimiter(deps.atOnce);
  }

  /** Once the cache has everything: takes up what an ended process has left. */
  open(): void {
    for (const build of this.#deps.book.builds()) if (build.status === "building") this.run(build);
    this.#sweeping = this.#sweepNowAndThen();
  }

  /** A build that is under way goes on. */
  run({ buildId, owner }: Pick<StoredBuild, "buildId" | "owner">): void {
    if (this.#running.has(buildId) || this.#stop.signal.aborted) return;
    const abort = new AbortController();
    const running: Running = { abort, ended: Promise.resolve(), isBegun: false };
    this.#running.set(buildId, running);
    const begin = (): Promise<void> => {
      running.isBegun = true;
      return this.#work(buildId, abort.signal);
    };
    running.ended = this.#limiter
      .run(owner.team, begin)
      .catch((error: unknown) => this.#deps.log.error({ buildId, error }, "a build was left: its record could not be written"))
      .finally(() => this.#running.delete(buildId));
  }

  /** Ends it, and resolves when nothing of it runs any more. */
  async cancel(buildId: string, why: string): Promise<void> {
    const running = this.#running.get(buildId);
    running?.abort.abort(new Canceled(why));
    // One that waits for its turn finds out when it has come.
    if (running?.isBegun === true) await running.ended;
    await this.#fail(buildId, { message: why });
    // Else builds that are asked for and cancelled would add up until the next sweep, which does again what fails here.
    const { book, shelf, log } = this.#deps;
    const build = book.build(buildId);
    if (build === undefined) return;
    await shelf.tidy(build.templateId).catch((error: unknown) => log.warn({ error, buildId }, "old builds could not be removed"));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new Stopped("the server stops"));
    for (const { abort } of this.#running.values()) abort.abort(new Stopped("the server stops"));
    await Promise.all([...this.#running.values()].map(({ ended }) => ended));
    await this.#sweeping;
  }

  async #work(buildId: string, canceled: AbortSignal): Promise<void> {
    const { book, logs, clock, buildMs } = this.#deps;
    if (canceled.aborted) return;
    const build = await book.changeBuild(buildId, (one) =>
      one.status === "building" ? { ...one, attempts: one.attempts + 1 } : undefined,
    );
    if (build?.request === undefined) return;
    if (build.attempts > maxAttempts) {
      return await this.#fail(buildId, {
        message: `the build was begun ${maxAttempts} times, and the server ended each time: it is not tried again`,
      });
    }
    if (build.attempts > 1)
      logs.add(buildId, { level: "warn", message: "the server was started anew: the build goes on from its last layer" });
    const late = new AbortController();
    const timer = clock.after(buildMs, () => late.abort(new Canceled(`the build did not end within ${formatDuration(buildMs)}`)));
    const signal = AbortSignal.any([canceled, late.signal]);
    try {
      const result = await runBuild(this.#deps, build, build.request, signal);
      await this.#succeed(build, result, signal);
    } catch (error) {
      await this.#failed(build, signal.aborted ? signal.reason : error);
    } finally {
      timer.cancel();
    }
    await this.#deps.shelf.tidy(build.templateId);
  }

  async #succeed(build: StoredBuild, result: BuildResult, signal: AbortSignal): Promise<void> {
    const { book, shelf, clock } = this.#deps;
    const { buildId } = build;
    const noted = await book.changeBuild(buildId, (one) => ({ ...one, result }));
    if (noted === undefined) throw new BuildGone(`build ${buildId} was deleted`);
    await shelf.put(noted, result, signal);
    await book.changeBuild(buildId, (one) => ({ ...over(one), status: "ready", finishedAt: iso(clock) }));
  }

  async #failed(build: StoredBuild, error: unknown): Promise<void> {
    const { log } = this.#deps;
    const { buildId } = build;
    // It stays as it is, for the next process.
    if (error instanceof Stopped || error instanceof BuildGone) return;
    if (!(error instanceof BuildFailure) && !(error instanceof Canceled) && !isServiceError(error))
      log.error({ buildId, error }, "a build failed");
    await this.#fail(buildId, reasonOf(error));
  }

  async #fail(buildId: string, reason: BuildReason): Promise<void> {
    const { book, logs, clock } = this.#deps;
    const failed = await book.changeBuild(buildId, (one) =>
      one.status === "ready" || one.status === "error" ? undefined : { ...over(one), status: "error", finishedAt: iso(clock), reason },
    );
    if (failed === undefined) return;
    logs.add(buildId, { level: "error", message: `Build failed: ${reason.message}` });
  }

  async #sweepNowAndThen(): Promise<void> {
    const { clock, log, shelf } = this.#deps;
    for (;;) {
      try {
        await shelf.sweep((buildId, why) => this.cancel(buildId, why));
      } catch (error) {
        log.warn({ error }, "old builds could not be removed");
      }
      await sleep(clock, sweepEveryMs, this.#stop.signal).catch(() => {});
      if (this.#stop.signal.aborted) return;
    }
  }
}

/** Steps may hold secrets, and are not needed after the build. */
function over(build: StoredBuild): StoredBuild {
  const { sandboxId: _, request: __, ...rest } = build;
  return rest;
}

function iso(clock: Clock): string {
  return new Date(clock.now()).toISOString();
}

/** The author sees failures of the build itself in full; details of our own defects go only to our log. */
function reasonOf(error: unknown): BuildReason {
  if (error instanceof BuildFailure) return { step: nameOfStep(error.step), message: error.message };
  if (error instanceof Canceled || isServiceError(error)) return { message: error.message };
  return { message: "an internal error occurred while the template was built; the log of the server has it" };
}
