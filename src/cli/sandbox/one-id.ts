import { UsageError } from "../failure.ts";

/** The only word of a command. */
export function oneId(command: string, words: readonly string[]): string {
  const [id, ...more] = words;
  if (id === undefined) throw new UsageError(`${command} needs the ID of a sandbox; agentbox ls lists them`);
  if (more.length > 0) throw new UsageError(`${command} takes one ID: unexpected ${more.join(" ")}`);
  return id;
}
