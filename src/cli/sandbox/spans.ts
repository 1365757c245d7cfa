import { parseDuration } from "#model/duration.ts";
import { UsageError } from "../failure.ts";
import type { Arguments } from "../flags.ts";

/** A flag with a time span as the user wrote it; undefined if it is not given. */
export function spanOf(args: Arguments, flag: string): string | undefined {
  const text = args.text(flag);
  if (text === undefined) return undefined;
  try {
    parseDuration(text);
    return text;
  } catch (error) {
    throw new UsageError(`--${flag}: ${(error as Error).message}`);
  }
}
