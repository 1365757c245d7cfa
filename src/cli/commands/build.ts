import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { type Dockerfile, DockerfileError, parseDockerfile } from "#builds/dockerfile/parse-dockerfile.ts";
import type { Build, BuildsClient } from "#client/builds.ts";
import { withoutUndefined } from "#lib/without-undefined.ts";
import { apiClient } from "../api-client.ts";
import { contextFiles } from "../build/context-files.ts";
import { followBuild } from "../build/follow-build.ts";
import { archiveOf } from "../build/pack-context.ts";
import { type PlannedStep, planSteps } from "../build/plan-build.ts";
import type { Command } from "../command.ts";
import type { CliContext } from "../context.ts";
import { CliError, UsageError } from "../failure.ts";
import type { Arguments } from "../flags.ts";
import { pairsOf } from "../sandbox/pairs.ts";

export const build: Command = {
  usage: ["build -t NAME[:TAG] [-f FILE] [OPTIONS] FOLDER"],
  about:
    "Builds a template from a Dockerfile of one stage. Each step runs in a sandbox of the server, and a step that was built before is not run again. " +
    "CMD and ENTRYPOINT are the start command, which each sandbox of the template runs. No Docker is needed.",
  examples: [
    { does: "Build the Dockerfile of this folder", line: "agentbox build -t app ." },
    { does: "Make a sandbox of it", line: "agentbox shell app" },
    { does: "Wait for its server in each create", line: 'agentbox build -t web --ready "curl -sf http://127.0.0.1:8000/" .' },
  ],
  flags: {
    tag: { short: "t", value: "NAME", help: "Name of the template, with a tag or without (default tag: default)" },
    file: { short: "f", value: "FILE", help: "The Dockerfile (default: Dockerfile in the folder)" },
    "build-arg": { value: "NAME=VALUE", many: true, help: "Value of an ARG; may be repeated" },
    start: { value: "COMMAND", help: "Start command (default: ENTRYPOINT and CMD)" },
    ready: { value: "COMMAND", help: "Succeeds when the start command's program is ready (default: 20 seconds, in the build)" },
    cpu: { value: "N", help: "Cores of its sandboxes (default: 2)" },
    memory: { value: "MB", help: "Memory of its sandboxes (default: 1024)" },
    "no-cache": { help: "Run all steps" },
  },
  run: runBuild,
};

async function runBuild(context: CliContext, args: Arguments): Promise<number> {
  const { stdout, stderr, clock } = context;
  const [folder, ...more] = args.words;
  const name = args.text("tag");
  if (name === undefined) throw new UsageError("build needs the name of the template: -t NAME");
  if (folder === undefined || more.length > 0) throw new UsageError("build takes one folder, such as .");
  const root = resolve(context.cwd, folder);
  const dockerfile = await readDockerfile(context, args, root);
  for (const note of dockerfile.notes) stderr.write(`${note}\n`);
  const steps = await planSteps(dockerfile, await contextFiles(root));
  const { builds } = await apiClient(context);
  const since = clock.now();
  const asked = await builds.request(
    { name, ...withoutUndefined({ cpuCount: args.number("cpu"), memoryMB: args.number("memory") }) },
    context.signal,
  );
  try {
    await sendFiles(context, builds, asked, steps);
    await builds.start(asked.buildId, startOf(args, dockerfile, steps), context.signal);
    const over = await followBuild(context, builds, asked.buildId);
    if (over.status === "error") throw new CliError(failureOf(over, steps));
  } catch (error) {
    // The build is of no use without this process, which Ctrl-C has ended.
    if (context.signal.aborted) await builds.cancel(asked.buildId).catch(() => {});
    throw error;
  }
  const seconds = ((clock.now() - since) / 1000).toFixed(1);
  stdout.write(`Built ${asked.name} (${asked.tags.join(", ")}) in ${seconds} s. Make a sandbox: agentbox run ${asked.name}\n`);
  return 0;
}

async function readDockerfile(context: CliContext, args: Arguments, root: string): Promise<Dockerfile> {
  const named = args.text("file");
  const path = named === undefined ? join(root, "Dockerfile") : resolve(context.cwd, named);
  const source = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    throw new CliError(`${path} cannot be read (${error.code}): name the Dockerfile with -f FILE`);
  });
  try {
    return parseDockerfile(source, pairsOf(args, "build-arg"));
  } catch (error) {
    if (error instanceof DockerfileError) throw new CliError(error.message);
    throw error;
  }
}

async function sendFiles(context: CliContext, builds: BuildsClient, { buildId }: Build, steps: readonly PlannedStep[]): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "agentbox-build-"));
  try {
    for (const [at, { files }] of steps.entries()) {
      if (files === undefined) continue;
      const archive = (): Promise<Blob> => archiveOf(files.list, join(folder, `${at}.tgz`));
      await builds.sendFiles(buildId, { hash: files.hash, archive }, context.signal);
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function startOf(args: Arguments, { image, startCmd }: Dockerfile, steps: readonly PlannedStep[]) {
  return {
    fromImage: image,
    force: args.isOn("no-cache"),
    startCmd: args.text("start") ?? startCmd,
    readyCmd: args.text("ready") ?? "",
    steps: steps.map(({ type, args: words, files }) => ({ type, args: words, ...(files !== undefined && { filesHash: files.hash }) })),
  };
}

function failureOf({ reason }: Build, steps: readonly PlannedStep[]): string {
  const line = steps[Number(reason?.step ?? Number.NaN) - 1]?.line;
  return `${line === undefined ? "" : `Dockerfile line ${line}: `}${reason?.message ?? "the build failed"}`;
}
