import { isClientError } from "#client/client-error.ts";
import type { Sandbox } from "#client/sandbox-types.ts";
import type { SandboxesClient } from "#client/sandboxes.ts";
import { sleep } from "#lib/clock.ts";
import { parseDuration } from "#model/duration.ts";
import { isTerminalStatus } from "#model/sandbox-record.ts";
import { apiClient } from "../api-client.ts";
import type { Command } from "../command.ts";
import type { CliContext } from "../context.ts";
import { CliError, UsageError } from "../failure.ts";
import { withProgress } from "../sandbox/progress.ts";
import { spanOf } from "../sandbox/spans.ts";

const lookMs = 500;
const goals = ["running", "paused", "ended"] as const;
type Goal = (typeof goals)[number];

export const wait: Command = {
  usage: ["wait ID … [--for STATE] [--timeout DURATION]"],
  about: "Waits until all given sandboxes run, are paused or have ended. Fails at the timeout, or if a sandbox ends instead.",
  examples: [
    { does: "Until it runs", line: "agentbox wait ID" },
    {
      does: "Wait until all sandboxes of a pool have ended, at most ten minutes",
      line: "agentbox wait $(agentbox ls --pool base -o name) --for ended --timeout 10m",
    },
  ],
  flags: {
    for: { value: "STATE", choices: goals, help: "State to wait for (default: running)" },
    timeout: { value: "DURATION", help: "Give up after this time (default: never)" },
  },
  run: async (context, args) => {
    if (args.words.length === 0) throw new UsageError("wait needs the ID of a sandbox; agentbox ls lists them");
    const goal = (args.text("for") ?? "running") as Goal;
    const span = spanOf(args, "timeout");
    const until = span === undefined ? Infinity : context.clock.now() + parseDuration(span);
    const { sandboxes } = await apiClient(context);
    for (const id of args.words) await withProgress(context, `Waiting for sandbox ${id}`, waitFor(context, sandboxes, { id, goal, until }));
    return 0;
  },
};

interface Wanted {
  readonly id: string;
  readonly goal: Goal;
  readonly until: number;
}

async function waitFor(context: CliContext, sandboxes: SandboxesClient, { id, goal, until }: Wanted): Promise<void> {
  for (;;) {
    const sandbox = await lookAt(sandboxes, id, goal, context.signal);
    if (sandbox === undefined || isReached(sandbox, goal)) return;
    if (isTerminalStatus(sandbox.status))
      throw new CliError(
        `sandbox ${id} has ended: ${sandbox.status}${sandbox.failureMessage === undefined ? "" : `: ${sandbox.failureMessage}`}`,
      );
    if (context.clock.now() >= until)
      throw new CliError(`sandbox ${id} is still ${sandbox.status} after the timeout: see agentbox inspect ${id}`);
    await sleep(context.clock, Math.min(lookMs, until - context.clock.now()), context.signal);
  }
}

/** Undefined: the history has forgotten it, so it has ended. */
async function lookAt(sandboxes: SandboxesClient, id: string, goal: Goal, signal: AbortSignal): Promise<Sandbox | undefined> {
  try {
    return await sandboxes.get(id, signal);
  } catch (error) {
    if (goal === "ended" && isClientError(error, "not_found")) return undefined;
    throw error;
  }
}

function isReached({ status }: Sandbox, goal: Goal): boolean {
  if (goal === "ended") return isTerminalStatus(status);
  return status === (goal === "running" ? "Running" : "Paused");
}
