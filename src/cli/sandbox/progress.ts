import type { CliContext } from "../context.ts";

/** After this time the user wants to know what the command waits for. */
const patienceMs = 2000;

/** Writes to stderr what the command waits for, if it takes long. */
export async function withProgress<Result>(context: CliContext, text: string, work: Promise<Result>): Promise<Result> {
  const timer = context.clock.after(patienceMs, () => context.stderr.write(`${text} …\n`));
  try {
    return await work;
  } finally {
    timer.cancel();
  }
}
