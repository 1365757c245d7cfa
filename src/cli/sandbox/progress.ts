import type { CliContext } from "../context.ts";

/** Whoever waits longer than this wants to know for what. */
const patienceMs = 2000;

/** Says on stderr what is being waited for, when it takes long. */
export async function withProgress<Result>(context: CliContext, text: string, work: Promise<Result>): Promise<Result> {
  const timer = context.clock.after(patienceMs, () => context.stderr.write(`${text} …\n`));
  try {
    return await work;
  } finally {
    timer.cancel();
  }
}
