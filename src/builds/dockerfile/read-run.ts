/** RUN, CMD and ENTRYPOINT of a Dockerfile as commands of a shell. Pure. */
import { DockerfileError, type Instruction } from "./instructions.ts";
import { flagsOf, jsonList, shellWord } from "./words.ts";

/** A list in JSON is a command without a shell: its words are quoted for one. */
export function commandText(text: string): string {
  return (
    jsonList(text)
      ?.map((word) => shellWord(word))
      .join(" ") ?? text
  );
}

export function readRun({ line, text, documents }: Instruction, notes: string[]): string {
  const { flags, rest } = flagsOf(text);
  checkFlags(flags, line, notes);
  const [first, ...more] = documents;
  const isScript = first !== undefined && more.length === 0 && /^<<-?\s*["']?[\w.-]+["']?$/.test(rest);
  if (isScript) return scriptOf(first.content);
  const bodies = documents.map(({ name, content }) => `${content}${name}`);
  const command = [documents.length === 0 ? commandText(rest) : rest, ...bodies].join("\n");
  if (command.trim() === "") throw new DockerfileError(line, "RUN takes a command");
  return command;
}

/** One that names its own program is run by that. */
function scriptOf(content: string): string {
  if (!content.startsWith("#!")) return content.trimEnd();
  return `script=$(mktemp) && printf %s ${shellWord(content)} > "$script" && chmod 700 "$script" && "$script" && rm -f "$script"`;
}

function checkFlags(flags: ReadonlyMap<string, readonly string[]>, line: number, notes: string[]): void {
  for (const [name, values] of flags) {
    if (name === "network" && values.every((value) => value === "default")) continue;
    if (name !== "mount") throw new DockerfileError(line, `RUN --${name} cannot be built here`);
    const other = values.find((value) => !/(?:^|,)type=(?:cache|tmpfs)(?:,|$)/.test(value));
    if (other !== undefined) throw new DockerfileError(line, `RUN --mount=${other} cannot be built here: only caches can be left out`);
    notes.push(`line ${line}: --mount is left out; the folder is an ordinary one of the layer`);
  }
}
