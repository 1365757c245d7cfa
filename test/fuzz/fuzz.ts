/**
 * Bad input, generated: against the daemon, the gateway and the REST APIs, over real sockets. Whatever is sent, nothing crashes or hangs,
 * no answer is a failure of ours, and no caller gets at another's things.
 * - `raw-exchange.ts`: bytes to a server and what comes back, - `odd-values.ts`: texts, paths and JSON that no client would send,
 * - `odd-heads.ts`: heads of requests that mean two things, or nothing, - `odd-frames.ts`: messages of the Connect protocol
 * - `doorman-judge.ts`: the doorman's code under the compiler's sanitizers,
 * - `caged-daemon.ts`: a daemon that may be told to do anything, - `strict-program.ts`: a program behind the gateway that takes nothing amiss
 *   for granted, - `fuzzed-apis.ts`: both REST APIs over real use cases
 *
 * `AGENTBOX_FUZZ_RUNS` is the number of cases over all targets, `AGENTBOX_FUZZ_SEED` repeats a run: each target prints its seed, and a
 * failure prints the smallest case that still fails.
 */
import fc from "fast-check";

/** How the cases are divided: most to what reads bytes of strangers. */
const shares = {
  "calls to the daemon": 15,
  "frames of streams": 10,
  "heads to the daemon": 5,
  "forms and bodies of files": 10,
  "paths of files": 10,
  "tokens and signatures": 5,
  "orders to the doorman": 10,
  "heads to the gateway": 15,
  "answers to the gateway": 10,
  "other people's sandboxes": 5,
  "the native API": 5,
  "the API of E2B": 5,
  "heads to the APIs": 5,
} as const;

export type Target = keyof typeof shares;

const total = Object.values(shares).reduce((sum, share) => sum + share, 0);
const cases = Number(process.env["AGENTBOX_FUZZ_RUNS"] ?? 2000);
const seed = Number(process.env["AGENTBOX_FUZZ_SEED"] ?? Date.now() % 2 ** 31);

/**
 * Runs a target's share of the cases, one after the other. `attempt` gives the statuses that it was answered: told at the end, because a
 * run in which everything is sent away at the door shows little.
 */
export async function attack<T>(target: Target, input: fc.Arbitrary<T>, attempt: (given: T) => Promise<readonly number[]>): Promise<void> {
  const numRuns = Math.ceil((cases * shares[target]) / total);
  console.log(`fuzz: ${numRuns} cases against ${target}, AGENTBOX_FUZZ_SEED=${seed}`);
  const tally: Record<string, number> = {};
  const counted = async (given: T): Promise<void> => {
    const statuses = await attempt(given);
    for (const status of statuses.length === 0 ? ["none"] : statuses) tally[status] = (tally[status] ?? 0) + 1;
  };
  await fc.assert(fc.asyncProperty(input, counted), { numRuns, seed });
  const told = Object.entries(tally).map(([status, times]) => `${status}: ${times}`);
  console.log(`fuzz: ${target} were answered ${told.join(", ")}`);
}
