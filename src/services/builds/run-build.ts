/**
 * One build from its first step to its last. A step whose layer exists is skipped, until the first step that must run; all later steps run too. After each step
 * that may have changed a file, the sandbox's files become a layer, which is recorded before the next step begins. An interrupted build continues from there.
 */
import { createHash } from "node:crypto";
import type { BuildContext } from "#builds/build-context.ts";
import { firstContext } from "#builds/build-context.ts";
import { BuildFailure, type StepName } from "#builds/build-failure.ts";
import { stepLine, stepText } from "#builds/build-log.ts";
import { type BuildStep, readStep } from "#builds/build-step.ts";
import { baseKey, stepKey } from "#builds/step-key.ts";
import { baseCommand, changedMark } from "#builds/step-scripts.ts";
import type { Clock } from "#lib/clock.ts";
import type { Caller } from "#services/caller.ts";
import type { BuildBook } from "./build-book.ts";
import type { BuildLogs } from "./build-logs.ts";
import { type BuildRequest, type BuildResult, callerFor, type StoredBuild, type StoredLayer } from "./build-records.ts";
import { BuildSandbox, type BuildSandboxDeps, type SandboxSource } from "./build-sandbox.ts";
import { type BuildBase, findBase, type FindBaseDeps } from "./find-base.ts";
import { findLayer } from "./find-layer.ts";
import { finishBuild } from "./finish-build.ts";
import type { LayerTaker } from "./layer-taker.ts";
import { runStep, type StepDeps } from "./run-step.ts";
import type { UploadStore } from "./upload-store.ts";

export interface RunBuildDeps extends BuildSandboxDeps, FindBaseDeps {
  readonly book: BuildBook;
  readonly logs: BuildLogs;
  readonly uploads: Pick<UploadStore, "use" | "read">;
  readonly layers: LayerTaker;
  readonly clock: Clock;
  readonly stepMs: number;
}

/** The build was deleted while it ran. */
export class BuildGone extends Error {
  override readonly name = "BuildGone";
}

/** Throws BuildFailure, ServiceError, BuildGone, or the signal's reason. The sandbox of the build is gone afterwards. */
export async function runBuild(deps: RunBuildDeps, build: StoredBuild, request: BuildRequest, signal: AbortSignal): Promise<BuildResult> {
  const run = new BuildRun(deps, { build, request, signal });
  try {
    await run.clear();
    return await run.result();
  } finally {
    // What is left here ends by its lifetime, or when the build is begun again.
    await run.clear().catch(() => {});
  }
}

interface BuildTask {
  readonly build: StoredBuild;
  readonly request: BuildRequest;
  readonly signal: AbortSignal;
}

export class BuildRun {
  readonly deps: RunBuildDeps;
  readonly build: StoredBuild;
  readonly request: BuildRequest;
  readonly signal: AbortSignal;
  readonly owner: Caller;
  readonly sandbox: BuildSandbox;
  readonly count: number;
  #base: BuildBase | undefined;
  #layer: StoredLayer | undefined;
  /** No step has had to run yet. */
  #isCached = true;

  constructor(deps: RunBuildDeps, { build, request, signal }: BuildTask) {
    this.deps = deps;
    this.build = build;
    this.request = request;
    this.signal = signal;
    this.owner = callerFor(build.owner);
    this.count = request.steps.length;
    this.sandbox = new BuildSandbox(deps, { buildId: build.buildId, owner: this.owner, count: this.count, signal });
  }

  async result(): Promise<BuildResult> {
    const steps = this.request.steps.map((step, at) => readStep(step, at + 1));
    const base = await this.#startFrom();
    for (const [at, step] of steps.entries()) await this.#step(step, at + 1);
    await this.#keepVariables();
    return await finishBuild(this, this.layer, base);
  }

  /** Ends the build's sandboxes. */
  clear(): Promise<void> {
    return this.sandbox.endAll();
  }

  get layer(): StoredLayer {
    if (this.#layer === undefined) throw new Error("the build has no layer yet");
    return this.#layer;
  }

  say(step: StepName, text: string, { key, isCached }: { readonly key: string; readonly isCached: boolean }): void {
    const message = stepLine({ step, count: this.count, text, key, isCached });
    this.deps.logs.add(this.build.buildId, { message, step });
  }

  /** The sandbox on the newest layer. */
  async ready(): Promise<void> {
    if (this.sandbox.id !== undefined) return;
    const sandboxId = await this.sandbox.start(this.#source());
    const noted = await this.deps.book.changeBuild(this.build.buildId, (build) => ({ ...build, sandboxId }));
    if (noted === undefined) throw new BuildGone(`build ${this.build.buildId} was deleted`);
  }

  #source(): SandboxSource {
    if (this.#base === undefined) throw new Error("the build has no base yet");
    return this.#layer === undefined || this.#layer.image === this.#base.image
      ? this.#base.source
      : { from: this.#base.source.from, image: this.#layer.image };
  }

  async #startFrom(): Promise<BuildBase> {
    const base = await findBase(this.deps, this.owner, this.request.from, this.signal);
    this.#base = base;
    if (base.layer !== undefined) {
      this.say("base", base.text, { key: base.layer.key, isCached: true });
      this.#layer = base.layer;
      return base;
    }
    const key = baseKey(base.identity);
    const known = this.request.force ? undefined : await findLayer(this.deps, this.owner, key);
    this.say("base", base.text, { key, isCached: known !== undefined });
    if (known !== undefined) await this.#note(known);
    else await this.#prepareBase(base, key);
    return base;
  }

  async #prepareBase({ image }: BuildBase, key: string): Promise<void> {
    this.#isCached = false;
    try {
      await this.ready();
    } catch (error) {
      throw this.deps.asBaseFailure(error);
    }
    const done = await this.sandbox.run({ step: "base", argv: baseCommand, user: "root", timeoutMs: baseMs, isQuiet: true });
    if (done.exitCode !== 0) {
      throw new BuildFailure("base", `the base image could not be prepared: ${done.stderr.trim() || `exit status ${done.exitCode}`}`);
    }
    await this.#keep({ key, image, context: firstContext }, done.stdout.includes(changedMark));
  }

  async #step(step: BuildStep, number: number): Promise<void> {
    this.signal.throwIfAborted();
    const wire = this.request.steps[number - 1] ?? { type: "" };
    const before = this.layer;
    const key = stepKey(before.key, wire);
    const mayBeKnown = this.#isCached && !this.request.force && wire.force !== true;
    const known = mayBeKnown ? await findLayer(this.deps, this.owner, key) : undefined;
    this.say(number, stepText(wire), { key, isCached: known !== undefined });
    if (known !== undefined) return await this.#note(known);
    this.#isCached = false;
    const { context, isChanged } = await runStep(this.#stepDeps(), number, step, before.context);
    await this.#keep({ ...before, key, context }, isChanged);
  }

  #stepDeps(): StepDeps {
    const { uploads, stepMs } = this.deps;
    return { uploads, stepMs, sandbox: this.sandbox, owner: this.owner, ready: () => this.ready() };
  }

  async #keep(layer: StoredLayer, isChanged: boolean): Promise<void> {
    if (!isChanged) return await this.#note(layer);
    const taken = await this.#taken(layer.context);
    await this.#note({ ...layer, ...taken, imageVariables: hashOf(layer.context) });
  }

  /** Variables that were set after the last image was taken belong into the template's image, too. */
  async #keepVariables(): Promise<void> {
    const { layer } = this;
    if ((layer.imageVariables ?? hashOf(firstContext)) === hashOf(layer.context)) return;
    await this.ready();
    await this.#keep(layer, true);
  }

  async #taken(context: BuildContext): Promise<Pick<StoredLayer, "image" | "checkpoint">> {
    const { id: sandboxId } = this.sandbox;
    if (sandboxId === undefined) throw new Error("the build has no sandbox to take a layer of");
    return await this.deps.layers.take(this.owner, { sandboxId, context }, this.signal);
  }

  async #note(layer: StoredLayer): Promise<void> {
    this.#layer = layer;
    const noted = await this.deps.book.changeBuild(this.build.buildId, (build) => ({
      ...build,
      layers: [...build.layers.filter(({ key }) => key !== layer.key), layer],
    }));
    if (noted === undefined) throw new BuildGone(`build ${this.build.buildId} was deleted`);
  }
}

function hashOf({ env }: BuildContext): string {
  const pairs = Object.entries(env).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return createHash("sha256").update(JSON.stringify(pairs)).digest("hex");
}

const baseMs = 10 * 60_000;
