import type { SandboxesClient } from "#client/sandboxes.ts";
import { apiClient } from "../api-client.ts";
import type { CliContext } from "../context.ts";
import { throwCollected, UsageError } from "../failure.ts";
import { withProgress } from "./progress.ts";

export interface SandboxAction {
  /** Name of the command, for usage errors. */
  readonly command: string;
  /** What is done to a sandbox, such as `Ending`. */
  readonly doing: string;
  /** Resolves with the new state of the sandbox, such as `ends`. */
  readonly act: (sandboxes: SandboxesClient, id: string) => Promise<string>;
}

/** Does it to every named sandbox even if some fail, and reports each. */
export async function eachSandbox(context: CliContext, ids: readonly string[], { command, doing, act }: SandboxAction): Promise<number> {
  if (ids.length === 0) throw new UsageError(`${command} needs the ID of a sandbox; agentbox ls lists them`);
  const { sandboxes } = await apiClient(context);
  const errors: unknown[] = [];
  for (const id of ids) {
    try {
      const done = await withProgress(context, `${doing} sandbox ${id}`, act(sandboxes, id));
      context.stdout.write(`sandbox ${id} ${done}\n`);
    } catch (error) {
      errors.push(error);
    }
  }
  throwCollected(errors);
  return 0;
}
