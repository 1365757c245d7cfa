import { parseDuration } from "#model/duration.ts";
import { apiClient } from "../api-client.ts";
import { UsageError } from "../failure.ts";
import { printed } from "../print/listing.ts";
import type { WordAction } from "../word-action.ts";

export const createKey: WordAction = {
  flags: ["role", "team", "user", "name", "expires-in", "output"],
  run: async (context, words, args) => {
    if (words.length > 0) throw new UsageError(`key create takes only flags: unexpected ${words.join(" ")}`);
    const client = await apiClient(context);
    const wish = {
      role: args.text("role") as "admin" | "tenant" | undefined,
      team: args.text("team"),
      user: args.text("user"),
      name: args.text("name"),
      expiresAt: expiry(args.text("expires-in"), context.clock.now()),
    };
    const made = await client.keys.create(Object.fromEntries(Object.entries(wish).filter(([, value]) => value !== undefined)));
    if (!printed(context, args, made)) {
      context.stdout.write(`${made.key}\n`);
      // On stderr, so that `KEY=$(agentbox key create …)` works.
      context.stderr.write(`Key ${made.id} is shown only once: store it now. Revoke it with: agentbox key revoke ${made.id}\n`);
    }
    return 0;
  },
};

function expiry(duration: string | undefined, now: number): string | undefined {
  if (duration === undefined) return undefined;
  try {
    return new Date(now + parseDuration(duration)).toISOString();
  } catch (error) {
    throw new UsageError(`--expires-in: ${(error as Error).message}`);
  }
}
