/** Makes a sandbox as the flags say, and uses it for one command or one shell: what `run` and `shell` have in common. */
import type { CreatedSandbox, SandboxWish } from "#client/sandbox-types.ts";
import type { SandboxesClient } from "#client/sandboxes.ts";
import { withoutUndefined } from "#lib/without-undefined.ts";
import { type TimeoutAction, timeoutActions } from "#model/keys.ts";
import type { CliContext } from "../context.ts";
import { UsageError } from "../failure.ts";
import type { Arguments, Flags } from "../flags.ts";
import { pairsOf } from "./pairs.ts";
import { withProgress } from "./progress.ts";
import { runCommand } from "./run-command.ts";
import { runTerminal } from "./run-terminal.ts";
import { spanOf } from "./spans.ts";

/** The Env that a first start makes. */
export const defaultPool = "base";

export const createFlags: Flags = {
  image: { value: "IMAGE", help: "Image of its first container (default: the pool's)" },
  "instance-type": { value: "TYPE", help: "Only pools of the Env with this instance type (default: the Env's)" },
  multiplier: { value: "N", help: "Only pools of the Env with so many times the instance type's resources" },
  "scaling-group": { value: "GROUP", help: "Only pools of this scaling group of the Env" },
  timeout: { value: "DURATION", help: "It ends after so long, whatever it does (default: never)" },
  "idle-timeout": { value: "DURATION", help: "It ends after so long without use; 0: never (default: the pool's)" },
  "on-timeout": { value: "ACTION", choices: timeoutActions, help: "What these do to it" },
  "startup-timeout": { value: "DURATION", help: "How long it may wait for a pod and start (default: the pool's)" },
  label: { short: "l", value: "KEY=VALUE", many: true, help: "Give its pod this label" },
  metadata: { short: "m", value: "KEY=VALUE", many: true, help: "Remember this about it, also after its end" },
};

export function createWish(command: string, args: Arguments): SandboxWish {
  const [poolName = defaultPool, ...more] = args.ownWords;
  if (more.length > 0)
    throw new UsageError(`${command} takes one pool; write -- before a command: agentbox ${command} ${poolName} -- ${more.join(" ")}`);
  return {
    poolName,
    ...withoutUndefined({
      image: args.text("image"),
      instanceType: args.text("instance-type"),
      multiplier: args.number("multiplier"),
      scalingGroup: args.text("scaling-group"),
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

export async function makeSandbox(
  context: CliContext,
  sandboxes: SandboxesClient,
  wish: SandboxWish,
  { wait }: { readonly wait: boolean },
): Promise<CreatedSandbox> {
  return await withProgress(context, `Waiting for a sandbox of ${wish.poolName}`, sandboxes.create(wish, { wait, signal: context.signal }));
}

export interface UseWish {
  readonly sandboxes: SandboxesClient;
  readonly wish: SandboxWish;
  readonly atTerminal: boolean;
}

/** Resolves with the exit code of the command; the sandbox has ended by then, unless it is to be kept. */
export async function makeAndUse(context: CliContext, use: UseWish, command: readonly string[], args: Arguments): Promise<number> {
  const { sandboxes, wish, atTerminal } = use;
  const made = await makeSandbox(context, sandboxes, wish, { wait: true });
  const id = made.sandbox.sandboxId;
  try {
    return await (atTerminal ? runTerminal : runCommand)(context, { sandboxes, id }, command, args);
  } finally {
    // Also after Ctrl-C, so without the signal of that.
    if (args.isOn("keep")) context.stderr.write(`Sandbox ${id} is kept. End it with: agentbox rm ${id}\n`);
    else await withProgress(context, `Ending sandbox ${id}`, sandboxes.end(id));
  }
}
