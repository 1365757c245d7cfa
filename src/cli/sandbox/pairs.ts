import { UsageError } from "../failure.ts";
import type { Arguments } from "../flags.ts";

/** The values of a flag that is given as KEY=VALUE, any number of times; undefined when it is not given. */
export function pairsOf(args: Arguments, flag: string): Readonly<Record<string, string>> | undefined {
  if (!args.has(flag)) return undefined;
  return Object.fromEntries(
    args.list(flag).map((text) => {
      const at = text.indexOf("=");
      if (at < 1) throw new UsageError(`--${flag} needs KEY=VALUE, not ${JSON.stringify(text)}`);
      return [text.slice(0, at), text.slice(at + 1)];
    }),
  );
}
