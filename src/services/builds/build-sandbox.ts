/** The sandbox that a build's steps run in. It is created from the newest layer when the first step must run. */
import type { StepName } from "#builds/build-failure.ts";
import { BuildFailure } from "#builds/build-failure.ts";
import type { BuildContext } from "#builds/build-context.ts";
import { OutputLines, outputLine } from "#builds/build-log.ts";
import type { Caller } from "#services/caller.ts";
import type { SandboxInside } from "#services/inside/sandbox-inside.ts";
import type { SandboxService } from "#services/sandbox-service.ts";
import { isServiceError } from "#services/service-error.ts";
import type { BuildLogs } from "./build-logs.ts";

const buildMetadataKey = "agentbox-build";

export interface BuildSandboxDeps {
  readonly sandboxes: Pick<SandboxService, "create" | "end" | "list">;
  readonly inside: Pick<SandboxInside, "run" | "writeFile">;
  readonly logs: Pick<BuildLogs, "add">;
  /** Longer than any build. */
  readonly lifetimeMs: number;
}

/** Where it starts. */
export interface SandboxSource {
  /** An Env or pool. */
  readonly from: string;
  /** Left out: the image of the Env. */
  readonly image?: string;
}

export interface BuildPlace {
  readonly buildId: string;
  readonly owner: Caller;
  /** How many steps there are, for the log. */
  readonly count: number;
  readonly signal: AbortSignal;
}

export interface StepCommand {
  readonly step: StepName;
  readonly argv: readonly string[];
  readonly user: string;
  /** Left out: none of the build's. */
  readonly context?: BuildContext;
  readonly timeoutMs: number;
  /** Left out: the build's. */
  readonly signal?: AbortSignal;
  /** What it prints is not for the log. */
  readonly isQuiet?: boolean;
}

export interface StepOutcome {
  readonly exitCode: number;
  readonly timedOut: boolean;
  /** The end of what it printed. */
  readonly stdout: string;
  readonly stderr: string;
}

const keptBytes = 256 * 1024;

export class BuildSandbox {
  readonly #deps: BuildSandboxDeps;
  readonly #place: BuildPlace;
  #id: string | undefined;

  constructor(deps: BuildSandboxDeps, place: BuildPlace) {
    this.#deps = deps;
    this.#place = place;
  }

  get id(): string | undefined {
    return this.#id;
  }

  async start({ from, image }: SandboxSource): Promise<string> {
    const { owner, buildId, signal } = this.#place;
    const { sandboxes, lifetimeMs } = this.#deps;
    const metadata = { [buildMetadataKey]: buildId };
    const command = { from, metadata, lifetimeMs, onTimeout: "kill", secure: true, ...(image !== undefined && { image }) } as const;
    const { sandbox } = await sandboxes.create(owner, command, { wait: true, signal });
    this.#id = sandbox.sandboxId;
    return sandbox.sandboxId;
  }

  /** Throws BuildFailure where the sandbox's daemon refuses the command. */
  async run({ step, argv, user, context, timeoutMs, isQuiet = false, signal }: StepCommand): Promise<StepOutcome> {
    const { buildId, owner, count } = this.#place;
    const printed = { stdout: new Output(), stderr: new Output() };
    const say = (stream: "stdout" | "stderr", lines: readonly string[]): void => {
      if (isQuiet) return;
      for (const line of lines) {
        this.#deps.logs.add(buildId, { message: outputLine(step, count, { stream, line }), step, isOutput: true });
      }
    };
    const onOutput = (stream: "stdout" | "stderr", bytes: Buffer): void => say(stream, printed[stream].add(bytes));
    const workingDir = context?.workdir;
    const command = {
      argv,
      user,
      timeoutMs,
      onOutput,
      ...(context !== undefined && { env: context.env }),
      ...(workingDir !== undefined && { workingDir }),
    };
    try {
      const { exitCode, timedOut } = await this.#deps.inside.run(owner, this.#started(), command, signal ?? this.#place.signal);
      return { exitCode, timedOut, stdout: printed.stdout.text, stderr: printed.stderr.text };
    } catch (error) {
      // The user or the folder of the step does not exist: the author of the steps can fix this.
      if (isServiceError(error, "invalid_request", "not_found")) throw new BuildFailure(step, error.message, { cause: error });
      throw error;
    } finally {
      for (const stream of ["stdout", "stderr"] as const) say(stream, printed[stream].end());
    }
  }

  async writeFile(path: string, bytes: Buffer): Promise<void> {
    await this.#deps.inside.writeFile(this.#place.owner, this.#started(), { path, bytes, user: "root" }, this.#place.signal);
  }

  /** Also those that an ended process has left. */
  async endAll(): Promise<void> {
    const { owner, buildId } = this.#place;
    const { sandboxes } = this.#deps;
    const { sandboxes: left } = await sandboxes.list(owner, {
      status: ["Starting", "Running", "Paused"],
      metadata: { [buildMetadataKey]: buildId },
    });
    const ids = new Set([...left.map(({ sandboxId }) => sandboxId), ...(this.#id === undefined ? [] : [this.#id])]);
    this.#id = undefined;
    for (const id of ids) await sandboxes.end(owner, id);
  }

  #started(): string {
    if (this.#id === undefined) throw new Error("the build has no sandbox yet");
    return this.#id;
  }
}

class Output {
  readonly #lines = new OutputLines();
  text = "";

  add(bytes: Buffer): readonly string[] {
    this.text += bytes.toString("utf8");
    // At twice the size, so that what is kept is not copied with every piece.
    if (this.text.length > 2 * keptBytes) this.text = this.text.slice(-keptBytes);
    return this.#lines.add(bytes);
  }

  end(): readonly string[] {
    return this.#lines.end();
  }
}
