/**
 * The command line. One file per command in commands/, behind the table in command-table.ts.
 *
 * - flags.ts, help.ts, nearest-word.ts   reading a command line, and helping with it
 * - failure.ts, failure-text.ts          how commands fail, and in which words
 * - context.ts                           what a command has at hand
 * - manifest/   files → objects          - apply/   the three-way merge
 * - table/      objects → rows           - print/   rows and objects → text
 * - image/      what `agentbox image` does, on machine-images.ts instead of a server
 * - sandbox/    what the commands of sandboxes have in common; they go through the API, as those of key/ do
 *
 * Words, layouts and exit codes of apply, get and delete are kubectl's, on purpose: who knows the one knows the other.
 */
import { commandHelp, programHelp } from "./help.ts";
import { type CommandEntry, commandTable } from "./command-table.ts";
import type { CliContext } from "./context.ts";
import { UsageError } from "./failure.ts";
import { failureText } from "./failure-text.ts";
import { helpFlag, readArguments } from "./flags.ts";
import { nearestWord } from "./nearest-word.ts";

/** Runs one command line (without the program's name) and resolves with the exit code. */
export async function runCli(context: CliContext, argv: readonly string[]): Promise<number> {
  const [first, ...rest] = argv;
  try {
    if (first === undefined || first === "--help" || first === "-h") return showProgramHelp(context);
    if (first === "--version") return await runCommand(context, "version", rest);
    if (first === "help") return await showHelp(context, rest);
    return await runCommand(context, first, rest);
  } catch (error) {
    return report(context, first ?? "", error);
  }
}

async function runCommand(context: CliContext, name: string, argv: readonly string[]): Promise<number> {
  const entry = findCommand(name);
  const command = await entry.load();
  const args = readArguments(argv, { ...command.flags, ...helpFlag });
  if (args.isOn("help")) return await showHelp(context, [name]);
  return await command.run(context, args);
}

async function showHelp(context: CliContext, words: readonly string[]): Promise<number> {
  const name = words.find((word) => !word.startsWith("-"));
  if (name === undefined) return showProgramHelp(context);
  const entry = findCommand(name);
  context.stdout.write(commandHelp(entry, await entry.load()));
  return 0;
}

function showProgramHelp(context: CliContext): number {
  context.stdout.write(programHelp(commandTable));
  return 0;
}

function findCommand(name: string): CommandEntry {
  const entry = commandTable.find((candidate) => candidate.name === name || candidate.aliases?.includes(name) === true);
  if (entry !== undefined) return entry;
  const what = name.startsWith("-") ? `a command must come before flags such as ${name}` : `unknown command: ${name}`;
  const near = nearestWord(
    name,
    commandTable.map((candidate) => candidate.name),
  );
  throw new UsageError(near === undefined ? what : `${what}. Did you mean ${near}?`);
}

function report(context: CliContext, name: string, error: unknown): number {
  if (error instanceof UsageError) {
    const known = commandTable.some((entry) => entry.name === name || entry.aliases?.includes(name) === true);
    context.stderr.write(`error: ${error.message}\nSee: agentbox ${known ? `help ${name}` : "help"}\n`);
    return 2;
  }
  // Ctrl-C is an end, not a failure to explain. 130 is what shells expect of it.
  if (context.signal.aborted) return 130;
  const debug = context.env["AGENTBOX_DEBUG"] ?? "";
  context.stderr.write(failureText(error, { debug: debug !== "" && debug !== "0" }));
  return 1;
}
