import { spawn } from "node:child_process";
import { commandEnvironment, sandboxVariables } from "#envd/process/environment.ts";
import type { Account } from "#envd/accounts/accounts.ts";
import type { ArmedState } from "#envd/armed-state.ts";

/**
 * Runs what the image would have run, if the pod asks for it: once, as the container's own user, after the sandbox has its environment. Its output is the
 * container's log; the sandbox continues when it ends.
 */
export function runEntrypoint([command = "", ...args]: readonly string[], state: ArmedState, account: Account): void {
  // It may have ended while this module was loaded.
  if (state.isRetired) return;
  const sandbox = sandboxVariables(state.sandboxId ?? "", state.init.envVars);
  const env = commandEnvironment({ own: process.env, account, sandbox });
  const own = process.getuid?.() === account.uid ? {} : { uid: account.uid, gid: account.gid };
  const child = spawn(command, args, { ...own, env, stdio: ["ignore", "inherit", "inherit"], detached: true });
  child.on("error", (error) => console.error(`envd: the entrypoint cannot be started: ${error.message}`));
  child.on("exit", (code, signal) => console.error(`envd: the entrypoint has ended: ${signal ?? `exit status ${code}`}`));
}
