/** One step of a build, done in its sandbox. */
import { type BuildContext, expandVariables, joinedPath, TooMuchText, withVariables } from "#builds/build-context.ts";
import { BuildFailure } from "#builds/build-failure.ts";
import type { BuildStep, CopyStep, EnvStep, RunStep } from "#builds/build-step.ts";
import { copyCommand, copyPlan } from "#builds/copy-plan.ts";
import { changedMark, homeCommand, runCommand, userCommand, variablesCommand, variablesIn, workdirCommand } from "#builds/step-scripts.ts";
import { formatDuration } from "#model/duration.ts";
import type { Caller } from "#services/caller.ts";
import type { BuildSandbox, StepOutcome } from "./build-sandbox.ts";
import { checkArchive } from "./check-archive.ts";
import type { UploadStore } from "./upload-store.ts";

export interface StepDeps {
  readonly uploads: Pick<UploadStore, "use" | "read">;
  readonly sandbox: BuildSandbox;
  /** Makes the sandbox if there is none yet. */
  readonly ready: () => Promise<void>;
  readonly owner: Pick<Caller, "team" | "user">;
  readonly stepMs: number;
}

export interface StepDone {
  readonly context: BuildContext;
  /** Whether files may have changed. */
  readonly isChanged: boolean;
}

const pieceBytes = 8 * 1024 * 1024;
/** For scripts of ours that do little. */
const scriptMs = 5 * 60_000;

/** Throws BuildFailure for mistakes that the author of the steps can fix. */
export async function runStep(deps: StepDeps, number: number, step: BuildStep, context: BuildContext): Promise<StepDone> {
  switch (step.kind) {
    case "run":
      return await runRun(deps, number, step, context);
    case "copy":
      return await runCopy(deps, number, step, context);
    case "env":
      return { context: await runEnv(deps, number, step, context), isChanged: false };
    case "user": {
      await deps.ready();
      const done = await script(deps, number, userCommand(step.name), `the user ${JSON.stringify(step.name)} could not be made`);
      return { context: { ...context, user: step.name }, isChanged: done.stdout.includes(changedMark) };
    }
    case "workdir": {
      await deps.ready();
      const path = joinedPath(
        context.workdir ?? "/",
        bounded(number, () => expandVariables(step.path, context.env)),
      );
      const done = await script(deps, number, workdirCommand(path, context.user), `the folder ${path} could not be made`);
      return { context: { ...context, workdir: path }, isChanged: done.stdout.includes(changedMark) };
    }
  }
}

async function runRun(deps: StepDeps, number: number, { command, user }: RunStep, context: BuildContext): Promise<StepDone> {
  await deps.ready();
  const { sandbox, stepMs } = deps;
  const failed = (why: string, cause?: unknown): BuildFailure =>
    new BuildFailure(number, `failed to run command '${command}': ${why}`, { cause });
  let outcome: StepOutcome;
  try {
    outcome = await sandbox.run({ step: number, argv: runCommand(command), user: user ?? context.user, context, timeoutMs: stepMs });
  } catch (error) {
    throw error instanceof BuildFailure ? failed(`command failed: ${error.message}`, error) : error;
  }
  if (outcome.timedOut) throw failed(`it did not end within ${formatDuration(stepMs)}`);
  if (outcome.exitCode !== 0) throw failed(`exit status ${outcome.exitCode}${lastLine(outcome)}`);
  return { context, isChanged: true };
}

function lastLine({ stderr, stdout }: StepOutcome): string {
  const line = (stderr.trim() === "" ? stdout : stderr).trimEnd().split("\n").at(-1)?.trim() ?? "";
  return line === "" ? "" : `: ${line.slice(0, 500)}`;
}

async function runEnv(deps: StepDeps, number: number, { pairs }: EnvStep, context: BuildContext): Promise<BuildContext> {
  // Names that no earlier step has set are those of a login shell, such as PATH.
  const needsMachine = pairs.some(([, value]) => value.includes("$"));
  if (!needsMachine) return bounded(number, () => withVariables(context, pairs, {}));
  await deps.ready();
  const { stdout } = await deps.sandbox.run({
    step: number,
    argv: variablesCommand,
    user: context.user,
    context,
    timeoutMs: scriptMs,
    isQuiet: true,
  });
  return bounded(number, () => withVariables(context, pairs, variablesIn(stdout)));
}

function bounded<T>(number: number, expand: () => T): T {
  try {
    return expand();
  } catch (error) {
    throw error instanceof TooMuchText ? new BuildFailure(number, `step ${number}: ${error.message}`, { cause: error }) : error;
  }
}

async function runCopy(deps: StepDeps, number: number, step: CopyStep, context: BuildContext): Promise<StepDone> {
  const { uploads, sandbox, owner, stepMs } = deps;
  const fail = (why: string): BuildFailure => new BuildFailure(number, `failed to copy '${step.source}' to '${step.target}': ${why}`);
  const upload = await uploads.use({ team: owner.team, user: owner.user, hash: step.filesHash });
  if (upload === undefined) throw fail("its files were not uploaded, or are no longer kept: build again");
  const archive = await checkArchive(uploads.read(upload));
  if (archive.kind === "bad") throw fail(`the archive of its files is refused: ${archive.why}`);
  await deps.ready();
  const folder = `/var/tmp/.agentbox-build-${number}`;
  await script(deps, number, ["/bin/sh", "-c", 'rm -rf "$1" && mkdir -p -m 700 "$1"', "folder", folder], "no folder for its files");
  await sendPieces(sandbox, folder, uploads.read(upload));
  const plan = copyPlan(step, context, await homeOf(deps, number, context.user));
  const argv = copyCommand(plan, { folder, isGzip: archive.isGzip });
  const outcome = await sandbox.run({ step: number, argv, user: "root", timeoutMs: stepMs });
  if (outcome.timedOut) throw fail(`it did not end within ${formatDuration(stepMs)}`);
  if (outcome.exitCode !== 0) throw fail(`exit status ${outcome.exitCode}${lastLine(outcome)}`);
  return { context, isChanged: true };
}

async function homeOf(deps: StepDeps, number: number, user: string): Promise<string> {
  const { stdout } = await deps.sandbox.run({ step: number, argv: homeCommand(user), user: "root", timeoutMs: scriptMs, isQuiet: true });
  return stdout.trim() || "/";
}

async function sendPieces(sandbox: BuildSandbox, folder: string, content: AsyncIterable<Buffer>): Promise<void> {
  let piece: Buffer[] = [];
  let bytes = 0;
  let count = 0;
  const send = async (): Promise<void> => {
    await sandbox.writeFile(`${folder}/piece.${String(count++).padStart(6, "0")}`, Buffer.concat(piece));
    piece = [];
    bytes = 0;
  };
  for await (const chunk of content) {
    piece.push(Buffer.from(chunk));
    bytes += chunk.length;
    if (bytes >= pieceBytes) await send();
  }
  if (bytes > 0) await send();
}

/** As root; says what it could not do. */
async function script(deps: StepDeps, number: number, argv: readonly string[], what: string): Promise<StepOutcome> {
  const outcome = await deps.sandbox.run({ step: number, argv, user: "root", timeoutMs: scriptMs, isQuiet: true });
  if (outcome.exitCode === 0) return outcome;
  throw new BuildFailure(number, `step ${number}: ${what}${lastLine(outcome)}`);
}
