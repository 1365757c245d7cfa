import type { Command } from "./command.ts";
import type { CommandEntry } from "./command-table.ts";
import { type Flag, type Flags, helpFlag, orList } from "./flags.ts";

export function programHelp(table: readonly CommandEntry[]): string {
  const width = Math.max(...table.map(({ name }) => name.length));
  return [
    "AgentBox: isolated sandboxes for AI agents, out of warm pools.",
    "",
    "Usage: agentbox COMMAND [ARGUMENTS]",
    "",
    "Commands:",
    ...table.map(({ name, summary }) => `  ${name.padEnd(width)}   ${summary}`),
    "",
    "agentbox help COMMAND, or agentbox COMMAND --help, says more about a command.",
    "AGENTBOX_HOME chooses the data folder (default: ~/.agentbox). AGENTBOX_DEBUG=1 shows where a defect is.",
    "",
  ].join("\n");
}

export function commandHelp(entry: CommandEntry, command: Command): string {
  return [
    `${entry.summary}.`,
    "",
    ...command.usage.map((form, index) => `${index === 0 ? "Usage:" : "      "} agentbox ${form}`),
    "",
    command.about,
    "",
    "Examples:",
    ...command.examples.flatMap(({ does, line }) => [`  # ${does}`, `  ${line}`]),
    "",
    "Flags:",
    ...flagLines({ ...command.flags, ...helpFlag }),
    "",
  ].join("\n");
}

function flagLines(flags: Flags): string[] {
  const rows = Object.entries(flags).map(([name, flag]) => [flagForm(name, flag), flag] as const);
  const width = Math.max(...rows.map(([form]) => form.length));
  return rows.map(
    ([form, flag]) => `  ${form.padEnd(width)}   ${flag.help}${choicesText(flag)}${flag.many === true ? "; may be repeated" : ""}`,
  );
}

function flagForm(name: string, flag: Flag): string {
  const short = flag.short === undefined ? "    " : `-${flag.short}, `;
  if (flag.value === undefined) return `${short}--${name}`;
  return flag.alone === undefined ? `${short}--${name} ${flag.value}` : `${short}--${name}[=${flag.value}]`;
}

function choicesText({ choices }: Flag): string {
  return choices === undefined ? "" : `: ${orList(choices)}`;
}
