/** The last phase: the start command is tried, and the build waits for its ready command. What they write is not part of the template, because each sandbox runs them anew. */
import { BuildFailure } from "#builds/build-failure.ts";
import { stepPrefix } from "#builds/build-log.ts";
import { readyCommandOf, readyEveryMs, readyWithinMs, type StartPlan } from "#builds/start-plan.ts";
import { finalKey } from "#builds/step-key.ts";
import { runCommand } from "#builds/step-scripts.ts";
import { ChildAbort } from "#lib/abortable.ts";
import { sleep } from "#lib/clock.ts";
import { formatDuration } from "#model/duration.ts";
import type { BuildResult, StoredLayer } from "./build-records.ts";
import type { StepOutcome } from "./build-sandbox.ts";
import type { BuildBase } from "./find-base.ts";
import { findTried } from "./find-tried.ts";
import type { BuildRun } from "./run-build.ts";

export async function finishBuild(run: BuildRun, layer: StoredLayer, base: BuildBase): Promise<BuildResult> {
  const { request } = run;
  const isInherited = request.startCmd === "" && request.readyCmd === "";
  const { startCmd, readyCmd } = isInherited && base.start !== undefined ? base.start : request;
  const key = finalKey(layer.key, startCmd, readyCmd);
  const plan: StartPlan = { startCmd, readyCmd: readyCommandOf({ startCmd, readyCmd }), context: layer.context };
  if (plan.readyCmd !== "") {
    const isTried = !request.force && findTried(run.deps.book, run.owner, key);
    run.say("finalize", plan.startCmd === "" ? `READY ${plan.readyCmd}` : `START ${plan.startCmd}`, { key, isCached: isTried });
    if (!isTried) await tryStart(run, plan);
  }
  return { ...layer, startCmd, readyCmd, finalKey: key };
}

async function tryStart(run: BuildRun, plan: StartPlan): Promise<void> {
  await run.ready();
  using stop = new ChildAbort(run.signal);
  const ended = plan.startCmd === "" ? undefined : started(run, plan, stop);
  try {
    await Promise.race([untilReady(run, plan, stop.signal), ...(ended === undefined ? [] : [failedStart(ended)])]);
    run.deps.logs.add(run.build.buildId, { message: `${stepPrefix("finalize", run.count)} is ready`, step: "finalize" });
  } finally {
    stop.abort(new Error("the start command was tried"));
    await ended?.catch(() => {});
  }
}

function started(run: BuildRun, { startCmd, context }: StartPlan, { signal }: ChildAbort): Promise<StepOutcome> {
  const { user } = context;
  return run.sandbox.run({ step: "finalize", argv: runCommand(startCmd), user, context, timeoutMs: readyWithinMs + 60_000, signal });
}

/** Rejects when the start command fails; one that has done its work and ended is no failure. */
async function failedStart(ended: Promise<StepOutcome>): Promise<never> {
  const { exitCode, stderr } = await ended;
  if (exitCode === 0) return await new Promise<never>(() => {});
  const said = stderr.trim().split("\n").at(-1) ?? "";
  throw new BuildFailure("finalize", `the start command failed: exit status ${exitCode}${said === "" ? "" : `: ${said.slice(0, 500)}`}`);
}

async function untilReady(run: BuildRun, { readyCmd, context }: StartPlan, signal: AbortSignal): Promise<void> {
  const { clock } = run.deps;
  const until = clock.now() + readyWithinMs;
  for (;;) {
    const timeoutMs = Math.max(1000, until - clock.now());
    const { exitCode, timedOut } = await run.sandbox.run({
      step: "finalize",
      argv: runCommand(readyCmd),
      user: context.user,
      context,
      timeoutMs,
      signal,
    });
    if (exitCode === 0 && !timedOut) return;
    if (timedOut || clock.now() + readyEveryMs > until) {
      throw new BuildFailure("finalize", `the ready command did not succeed within ${formatDuration(readyWithinMs)}: ${readyCmd}`);
    }
    await sleep(clock, readyEveryMs, signal);
  }
}
