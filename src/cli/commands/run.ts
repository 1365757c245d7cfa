import type { CreatedSandbox, SandboxWish } from "#client/sandbox-types.ts";
import type { SandboxesClient } from "#client/sandboxes.ts";
import { withoutUndefined } from "#lib/without-undefined.ts";
import { type TimeoutAction, timeoutActions } from "#model/keys.ts";
import { apiClient } from "../api-client.ts";
import type { Command } from "../command.ts";
import type { CliContext } from "../context.ts";
import { UsageError } from "../failure.ts";
import type { Arguments } from "../flags.ts";
import { pairsOf } from "../sandbox/pairs.ts";
import { withProgress } from "../sandbox/progress.ts";
import { commandFlags, isTerminal, runCommand } from "../sandbox/run-command.ts";
import { runTerminal } from "../sandbox/run-terminal.ts";
import { spanOf } from "../sandbox/spans.ts";

/** The pool that a first start makes. */
const defaultPool = "base";

export const run: Command = {
  usage: ["run [POOL] [FLAGS]", "run [POOL] [FLAGS] -- COMMAND …", "run [POOL] -t [FLAGS]"],
  about:
    `Makes a sandbox out of a pool (default: ${defaultPool}) and prints its ID. With a command, or with -t and a shell: runs that in it,\n` +
    "ends the sandbox when the command has ended, and ends with the command's exit code.",
  examples: [
    { does: "Run one command in a sandbox of its own", line: "agentbox run base -- echo hi" },
    { does: "A shell in a sandbox of its own", line: "agentbox run base -t" },
    { does: "Make a sandbox, use it, end it", line: 'ID=$(agentbox run base) && agentbox exec "$ID" -- ls / && agentbox rm "$ID"' },
    { does: "One that lives for an hour at most, and ten minutes without use", line: "agentbox run base --timeout 1h --idle-timeout 10m" },
  ],
  flags: {
    image: { value: "IMAGE", help: "Image of its first container (default: the pool's)" },
    timeout: { value: "DURATION", help: "It ends after so long, whatever it does (default: never)" },
    "idle-timeout": { value: "DURATION", help: "It ends after so long without use; 0: never (default: the pool's)" },
    "on-timeout": { value: "ACTION", choices: timeoutActions, help: "What these do to it" },
    "startup-timeout": { value: "DURATION", help: "How long it may wait for a pod and start (default: the pool's)" },
    label: { short: "l", value: "KEY=VALUE", many: true, help: "Give its pod this label" },
    metadata: { short: "m", value: "KEY=VALUE", many: true, help: "Remember this about it, also after its end" },
    keep: { help: "Do not end it after the command" },
    "no-wait": { help: "Do not wait until it runs" },
    ...commandFlags,
    output: { short: "o", value: "FORMAT", choices: ["json"], help: "Print the sandbox for programs; not with a command" },
  },
  run: async (context, args) => {
    const wish = wishOf(args);
    const command = args.afterDashes ?? [];
    const isUsed = isTerminal(args) || command.length > 0;
    if (args.afterDashes?.length === 0) throw new UsageError("a command must stand after --: agentbox run base -- echo hi");
    refuseMixed(args, isUsed);
    const { sandboxes } = await apiClient(context);
    const creating = sandboxes.create(wish, { wait: !args.isOn("no-wait"), signal: context.signal });
    const made = await withProgress(context, `Waiting for a sandbox of pool ${wish.poolName}`, creating);
    if (isUsed) return await runAndEnd(context, { sandboxes, made }, command, args);
    if (args.has("output")) context.stdout.write(`${JSON.stringify(made, null, 2)}\n`);
    else context.stdout.write(`${made.sandbox.sandboxId}\n`);
    return 0;
  },
};

function wishOf(args: Arguments): SandboxWish {
  const [poolName = defaultPool, ...more] = args.ownWords;
  if (more.length > 0) throw new UsageError(`run takes one pool; write -- before a command: agentbox run ${poolName} -- ${more.join(" ")}`);
  return {
    poolName,
    ...withoutUndefined({
      image: args.text("image"),
      lifetime: spanOf(args, "timeout"),
      idleTimeout: spanOf(args, "idle-timeout"),
      startupTimeout: spanOf(args, "startup-timeout"),
      // One of them: the flag takes no others.
      onTimeout: args.text("on-timeout") as TimeoutAction | undefined,
      labels: pairsOf(args, "label"),
      metadata: pairsOf(args, "metadata"),
      envVars: pairsOf(args, "env"),
    }),
  };
}

/** Flags that would be ignored are mistakes that somebody finds out about too late. */
function refuseMixed(args: Arguments, hasCommand: boolean): void {
  const wrong = (hasCommand ? ["no-wait", "output"] : ["keep", "user", "workdir", "stdin", "command-timeout"]).filter((flag) =>
    args.has(flag),
  );
  if (wrong.length === 0) return;
  throw new UsageError(`--${wrong[0] ?? ""} cannot be used ${hasCommand ? "with" : "without"} a command`);
}

interface Made {
  readonly sandboxes: SandboxesClient;
  readonly made: CreatedSandbox;
}

async function runAndEnd(context: CliContext, { sandboxes, made }: Made, command: readonly string[], args: Arguments): Promise<number> {
  const id = made.sandbox.sandboxId;
  try {
    return await (isTerminal(args) ? runTerminal : runCommand)(context, { sandboxes, id }, command, args);
  } finally {
    // Also after Ctrl-C, so without the signal of that.
    if (args.isOn("keep")) context.stderr.write(`Sandbox ${id} is kept. End it with: agentbox rm ${id}\n`);
    else await withProgress(context, `Ending sandbox ${id}`, sandboxes.end(id));
  }
}
