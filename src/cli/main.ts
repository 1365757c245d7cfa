/**
 * The command line. One file per command in commands/, behind the table in command-table.ts.
 *
 * - command-parser.ts, flags.ts          reading a command line, with commander
 * - failure.ts, failure-text.ts          how commands fail, and in which words
 * - context.ts                           what a command uses from outside the process
 * - manifest/   files → objects          - apply/   the three-way merge
 * - table/      objects → rows           - print/   rows and objects → text
 * - image/      actions of `agentbox image`, on machine-images.ts instead of a server
 * - envs/       actions of `agentbox envs`, through the API
 * - sandbox/    shared parts of the sandbox commands; they use the API, as those of key/ do
 *
 * Texts, layouts and exit codes of apply, get and delete are those of kubectl on purpose: users know them already.
 */
import { Command as Program } from "commander";
import type { Command } from "./command.ts";
import { type CommandEntry, commandTable, findCommand, groups } from "./command-table.ts";
import { FlagReader, isHelpShown, plainForms, splitAtDashes, usageErrorOf } from "./command-parser.ts";
import type { CliContext } from "./context.ts";
import { UsageError } from "./failure.ts";
import { failureText } from "./failure-text.ts";

/** Runs one command line (without the program's name) and resolves with the exit code. */
export async function runCli(context: CliContext, argv: readonly string[]): Promise<number> {
  const line = splitAtDashes(usualForm(argv, context.hasTerminal()));
  const entry = findCommand(line.own);
  try {
    return await parseAndRun(context, line, entry);
  } catch (error) {
    if (isHelpShown(error)) return 0;
    return report(context, entry, usageErrorOf(error));
  }
}

/** `help X` and `X --help` are the same. Without a command, a terminal shows the live view, and a pipe the help. */
function usualForm(argv: readonly string[], hasTerminal: boolean): readonly string[] {
  const [first, second] = argv;
  if (first === "--version") return ["version"];
  if (first !== "help") return argv.length === 0 ? [hasTerminal ? "ui" : "--help"] : argv;
  if (second === undefined || second.startsWith("-")) return ["--help"];
  return findCommand([second]) === undefined ? [second] : [second, "--help"];
}

async function parseAndRun(context: CliContext, { own, afterDashes }: ReturnType<typeof splitAtDashes>, chosen?: CommandEntry) {
  const program = programFor(context);
  let code = 0;
  let words = own;
  for (const group of groups) {
    for (const entry of commandTable.filter((candidate) => candidate.group === group.name)) {
      const command = program
        .command(entry.name, { hidden: group.name === "hidden" })
        .summary(entry.summary)
        .helpGroup(group.title)
        .exitOverride();
      command.aliases([...(entry.aliases ?? [])]);
      if (entry !== chosen) continue;
      const loaded = await entry.load();
      describe(command, entry, loaded);
      const reader = new FlagReader(command, loaded.flags);
      words = plainForms(own, loaded.flags);
      command.action(async () => {
        const { context: contextName } = program.opts<{ context?: string }>();
        code = await loaded.run({ ...context, contextName }, reader.arguments(command.args, afterDashes));
      });
    }
  }
  await program.parseAsync(words, { from: "user" });
  return code;
}

function programFor({ stdout }: CliContext): Program {
  const program = new Program("agentbox");
  program
    .description("AgentBox: isolated sandboxes for AI agents, from warm pools.")
    .usage("COMMAND [ARGUMENTS]")
    .option("--context <NAME>", "Use this server (agentbox config ls)")
    .helpOption("-h, --help", "Show help")
    .helpCommand(false)
    .exitOverride()
    .configureHelp({ helpWidth: Math.max(60, Math.min(stdout.columns ?? 120, 120)), subcommandTerm: (command) => command.name() })
    .configureOutput({ writeOut: (text) => void stdout.write(text), writeErr: () => {} })
    .addHelpText(
      "after",
      "\nagentbox help COMMAND, or agentbox COMMAND --help, shows the help of a command.\n" +
        "AGENTBOX_HOME chooses the data folder (default: ~/.agentbox). prints the stack of an internal error.",
    );
  return program;
}

function describe(command: Program, entry: CommandEntry, { usage, about, examples }: Command): void {
  const forms = usage.map((form) => form.replace(/^\S+ ?/, ""));
  const lines = examples.flatMap(({ does, line }) => [`  # ${does}`, `  ${line}`]);
  command
    .usage(forms.map((form, at) => (at === 0 ? form : `       agentbox ${usage[at] ?? ""}`)).join("\n"))
    .description(`${entry.summary}.\n\n${about}`)
    .allowExcessArguments()
    .addHelpText("after", `\nExamples:\n${lines.join("\n")}`);
}

function report(context: CliContext, entry: CommandEntry | undefined, error: unknown): number {
  if (error instanceof UsageError) {
    context.stderr.write(`error: ${error.message}\nSee: agentbox ${entry === undefined ? "help" : `help ${entry.name}`}\n`);
    return 2;
  }
  // Ctrl-C is not a failure that needs a message. 130 is the exit code that shells expect.
  if (context.signal.aborted) return 130;
  const debug = context.env["AGENTBOX_DEBUG"] ?? "";
  context.stderr.write(failureText(error, { debug: debug !== "" && debug !== "0" }));
  return 1;
}
