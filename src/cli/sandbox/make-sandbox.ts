/** Creates a sandbox from the flags and uses it for one command or one shell; shared by `run` and `shell`. */
import type { CreatedSandbox, MountWish, SandboxWish } from "#client/sandbox-types.ts";
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

/** The Env that the first start creates. */
export const defaultPool = "base";

export const createFlags: Flags = {
  image: { value: "IMAGE", help: "Image of the first container (default: the pool's)" },
  "instance-type": { value: "TYPE", help: "Only pools of the Env with this instance type (default: the Env's)" },
  multiplier: { value: "N", help: "Only pools of the Env with this multiplier of the instance type" },
  "scaling-group": { value: "GROUP", help: "Only pools of this scaling group of the Env" },
  timeout: { value: "DURATION", help: "End the sandbox after this time (default: never)" },
  "idle-timeout": { value: "DURATION", help: "End the sandbox after this time without use; 0: never (default: the pool's)" },
  "on-timeout": { value: "ACTION", choices: timeoutActions, help: "What happens at a timeout" },
  "startup-timeout": { value: "DURATION", help: "Time limit for waiting for a pod and starting (default: the pool's)" },
  volume: { value: "NAME:PATH[:ro]", many: true, help: "Mount this volume there; with :ro the sandbox cannot change it" },
  label: { short: "l", value: "KEY=VALUE", many: true, help: "Add this label to the pod" },
  metadata: { short: "m", value: "KEY=VALUE", many: true, help: "Store this with the sandbox; it stays in the history" },
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
      // The flag accepts only these values.
      onTimeout: args.text("on-timeout") as TimeoutAction | undefined,
      labels: pairsOf(args, "label"),
      metadata: pairsOf(args, "metadata"),
      envVars: pairsOf(args, "env"),
      volumeMounts: mountsOf(args.list("volume")),
    }),
  };
}

function mountsOf(texts: readonly string[]): readonly MountWish[] | undefined {
  if (texts.length === 0) return undefined;
  return texts.map((text) => {
    const { name, path, readOnly } = /^(?<name>[^:]+):(?<path>\/[^:]*)(?<readOnly>:ro)?$/.exec(text)?.groups ?? {};
    if (name === undefined || path === undefined)
      throw new UsageError(`--volume needs NAME:PATH or NAME:PATH:ro, such as data:/mnt/data, not ${JSON.stringify(text)}`);
    return { name, path, ...(readOnly === undefined ? {} : { readOnly: true }) };
  });
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

/** Resolves with the exit code of the command. The sandbox has ended by then, unless it is to be kept. */
export async function makeAndUse(context: CliContext, use: UseWish, command: readonly string[], args: Arguments): Promise<number> {
  const { sandboxes, wish, atTerminal } = use;
  const made = await makeSandbox(context, sandboxes, wish, { wait: true });
  const id = made.sandbox.sandboxId;
  try {
    return await (atTerminal ? runTerminal : runCommand)(context, { sandboxes, id }, command, args);
  } finally {
    // Without the command's signal, so that it also works after Ctrl-C.
    if (args.isOn("keep")) context.stderr.write(`Sandbox ${id} is kept. End it with: agentbox rm ${id}\n`);
    else await withProgress(context, `Ending sandbox ${id}`, sandboxes.end(id));
  }
}
