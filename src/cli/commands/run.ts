import { apiClient } from "../api-client.ts";
import type { Command } from "../command.ts";
import { UsageError } from "../failure.ts";
import type { Arguments } from "../flags.ts";
import { printed, programFormat } from "../print/listing.ts";
import { createFlags, createWish, defaultPool, makeAndUse, makeSandbox } from "../sandbox/make-sandbox.ts";
import { commandFlags, isTerminal } from "../sandbox/run-command.ts";

export const run: Command = {
  usage: ["run [POOL] [FLAGS]", "run [POOL] [FLAGS] -- COMMAND …", "run [POOL] -t [FLAGS]"],
  about:
    `Creates a sandbox from an Env or a pool (default: ${defaultPool}) and prints its ID. With a command, or with -t for a shell: runs it in the sandbox,\n` +
    "ends the sandbox when the command has ended, and exits with the command's exit code.",
  examples: [
    { does: "Run one command in a new sandbox", line: "agentbox run base -- echo hi" },
    { does: "Open a shell in a new sandbox", line: "agentbox run base -t" },
    { does: "Create a sandbox, use it, end it", line: 'ID=$(agentbox run base) && agentbox exec "$ID" -- ls / && agentbox rm "$ID"' },
    { does: "Select a size, if the Env has several", line: "agentbox run base --instance-type cpu --multiplier 4" },
    { does: "End it after an hour, or after ten minutes without use", line: "agentbox run base --timeout 1h --idle-timeout 10m" },
  ],
  flags: {
    ...createFlags,
    keep: { help: "Do not end the sandbox after the command" },
    "no-wait": { help: "Do not wait until the sandbox runs" },
    ...commandFlags,
    output: { short: "o", value: "FORMAT", help: "Print the sandbox for programs: json, yaml or jsonpath={PATH}; not with a command" },
  },
  run: async (context, args) => {
    const wish = createWish("run", args);
    const command = args.afterDashes ?? [];
    const isUsed = isTerminal(context, args) || command.length > 0;
    if (args.afterDashes?.length === 0) throw new UsageError("-- must be followed by a command: agentbox run base -- echo hi");
    refuseMixed(args, isUsed);
    if (args.has("output")) programFormat(args);
    const { sandboxes } = await apiClient(context);
    if (isUsed) return await makeAndUse(context, { sandboxes, wish, atTerminal: args.isOn("tty") }, command, args);
    const made = await makeSandbox(context, sandboxes, wish, { wait: !args.isOn("no-wait") });
    if (!printed(context, args, made)) context.stdout.write(`${made.sandbox.sandboxId}\n`);
    return 0;
  },
};

/** A flag that would be ignored is refused, because the user would notice it too late. */
function refuseMixed(args: Arguments, hasCommand: boolean): void {
  const wrong = (hasCommand ? ["no-wait", "output"] : ["keep", "user", "workdir", "stdin", "no-stdin", "command-timeout"]).filter((flag) =>
    args.has(flag),
  );
  if (wrong.length === 0) return;
  throw new UsageError(`--${wrong[0] ?? ""} cannot be used ${hasCommand ? "with" : "without"} a command`);
}
