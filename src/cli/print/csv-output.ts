/** A table that the server writes as CSV, passed on as it comes. */
import type { CliContext } from "../context.ts";
import type { Flags } from "../flags.ts";

export const csvFlag: Flags = { csv: { help: "Print CSV, for spreadsheets" } };

export async function printCsv({ stdout }: CliContext, answer: Response): Promise<number> {
  const text = new TextDecoder();
  for await (const piece of answer.body ?? []) stdout.write(text.decode(piece as Uint8Array, { stream: true }));
  return 0;
}
