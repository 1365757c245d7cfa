import type { SandboxesClient } from "#client/sandboxes.ts";
import { apiClient } from "../api-client.ts";
import type { CliContext } from "../context.ts";
import { throwCollected, UsageError } from "../failure.ts";
import { withProgress } from "./progress.ts";

export interface SandboxAction {
  /** The command, for what it says of mistakes. */
  readonly command: string;
  /** What is being done to a sandbox, such as `Ending`. */
  readonly doing: string;
  /** Resolves with what is now true of the sandbox, such as `ends`. */
  readonly act: (sandboxes: SandboxesClient, id: string) => Promise<string>;
}

/** Does it to every sandbox that is named, though some may fail, and says so of each. */
export async function eachSandbox(context: CliContext, ids: readonly string[], { command, doing, act }: SandboxAction): Promise<number> {
  if (ids.length === 0) throw new UsageError(`${command} needs the ID of a sandbox: agentbox ls shows them`);
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
