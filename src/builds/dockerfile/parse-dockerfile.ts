/**
 * A Dockerfile as steps of a build: what E2B's SDK makes of one, and some more. One stage; what cannot be built is an error with its line, and what means
 * nothing here is a note. Pure.
 *
 * - `instructions.ts`  lines, continued lines, here-documents     - `words.ts`  words, quotes, flags
 * - `read-copy.ts`     COPY and ADD                               - `read-run.ts`  RUN, CMD and ENTRYPOINT
 */
import { expandVariables } from "../build-context.ts";
import { DockerfileError, type Instruction, readInstructions } from "./instructions.ts";
import { type CopyPart, readCopy } from "./read-copy.ts";
import { commandText, readRun } from "./read-run.ts";
import { flagsOf, wordsOf } from "./words.ts";

export { DockerfileError } from "./instructions.ts";

/** A step with the line that it comes from. COPY names files that are still to be found and sent. */
export type DockerStep =
  | { readonly type: "RUN" | "WORKDIR" | "USER" | "ENV"; readonly line: number; readonly args: readonly string[] }
  | ({ readonly type: "COPY"; readonly line: number } & CopyPart);

export interface Dockerfile {
  readonly image: string;
  readonly steps: readonly DockerStep[];
  /** Empty: none. */
  readonly startCmd: string;
  readonly notes: readonly string[];
}

const usual = { user: "user", workdir: "/home/user" };

class Reading {
  readonly steps: DockerStep[] = [];
  readonly notes: string[] = [];
  image: string | undefined;
  entrypoint = "";
  cmd = "";
  userLine: number | undefined;
  workdirLine: number | undefined;
  /** ARG before FROM, and then ARG and ENV after it: what `$NAME` means in other instructions. */
  variables: Record<string, string> = {};
  readonly #given: Readonly<Record<string, string>>;

  constructor(given: Readonly<Record<string, string>>) {
    this.#given = given;
  }

  read(instruction: Instruction): void {
    const { keyword, line } = instruction;
    const reader = readers[keyword];
    if (reader === undefined) throw new DockerfileError(line, `${keyword} is not known, or cannot be built here`);
    if (this.image === undefined && keyword !== "FROM" && keyword !== "ARG") throw new DockerfileError(line, "FROM must come first");
    reader(this, instruction);
  }

  argument(name: string, value: string | undefined): string {
    return this.#given[name] ?? value ?? "";
  }

  expand(text: string): string {
    return expandVariables(text, this.variables);
  }
}

type Reader = (reading: Reading, instruction: Instruction) => void;

const ignored: Reader = (reading, { keyword, line }) => {
  reading.notes.push(`line ${line}: ${keyword} has no meaning here and is left out`);
};

const readers: Readonly<Partial<Record<string, Reader>>> = {
  FROM: readFrom,
  ARG: readArg,
  ENV: readEnv,
  RUN: (reading, instruction) => {
    reading.steps.push({ type: "RUN", line: instruction.line, args: [readRun(instruction, reading.notes)] });
  },
  COPY: (reading, instruction) => pushCopies(reading, instruction),
  ADD: (reading, instruction) => pushCopies(reading, instruction),
  WORKDIR: (reading, { line, text }) => {
    reading.workdirLine = line;
    reading.steps.push({ type: "WORKDIR", line, args: [one(reading, line, text, "WORKDIR takes one path")] });
  },
  USER: (reading, { line, text }) => {
    reading.userLine = line;
    // A group beside it has no place in a step.
    const [name = ""] = one(reading, line, text, "USER takes one name").split(":");
    reading.steps.push({ type: "USER", line, args: [name] });
  },
  CMD: (reading, { text }) => {
    reading.cmd = commandText(text);
  },
  ENTRYPOINT: (reading, { text }) => {
    reading.entrypoint = commandText(text);
    reading.cmd = "";
  },
  EXPOSE: ignored,
  VOLUME: ignored,
  LABEL: ignored,
  MAINTAINER: ignored,
  STOPSIGNAL: ignored,
  HEALTHCHECK: ignored,
};

function pushCopies(reading: Reading, instruction: Instruction): void {
  const parts = readCopy(instruction, (text) => reading.expand(text));
  for (const part of parts) reading.steps.push({ type: "COPY", line: instruction.line, ...part });
}

function one(reading: Reading, line: number, text: string, rule: string): string {
  const words = wordsOf(text).map((word) => reading.expand(word));
  if (words.length !== 1 || words[0] === undefined || words[0] === "") throw new DockerfileError(line, rule);
  return words[0];
}

function readFrom(reading: Reading, { line, text }: Instruction): void {
  if (reading.image !== undefined) {
    throw new DockerfileError(line, "a second FROM: only one stage can be built. Build the first stage as a template, and start from it");
  }
  const { flags, rest } = flagsOf(text);
  if (flags.has("platform")) reading.notes.push(`line ${line}: --platform is left out; images are for this machine`);
  const [image = "", as, , ...more] = wordsOf(rest).map((word) => reading.expand(word));
  if (image === "" || more.length > 0 || (as !== undefined && as.toUpperCase() !== "AS"))
    throw new DockerfileError(line, "FROM takes one image");
  if (image === "scratch") throw new DockerfileError(line, "FROM scratch has no shell to run steps in: name an image");
  reading.image = image;
  reading.variables = {};
  reading.steps.push({ type: "USER", line, args: ["root"] }, { type: "WORKDIR", line, args: ["/"] });
}

function readArg(reading: Reading, { line, text }: Instruction): void {
  const pairs = wordsOf(text).map((word) => pairOf(word));
  if (pairs.length === 0) throw new DockerfileError(line, "ARG takes a name");
  const values = pairs.map(
    ([name, value]) => [name, reading.argument(name, value === undefined ? undefined : reading.expand(value))] as const,
  );
  for (const [name, value] of values) reading.variables[name] = value;
  // Steps after FROM see it as a variable, as with E2B's SDK.
  if (reading.image !== undefined) reading.steps.push({ type: "ENV", line, args: values.flat() });
}

function readEnv(reading: Reading, { line, text }: Instruction): void {
  const words = wordsOf(text);
  const [first = "", ...others] = words;
  const isOldForm = !first.includes("=");
  if (first === "" || (isOldForm && others.length === 0)) throw new DockerfileError(line, "ENV takes NAME=value");
  const pairs = isOldForm ? [[first, others.join(" ")] as const] : words.map((word) => pairOf(word));
  const args = pairs.flatMap(([name, value]) => {
    if (value === undefined) throw new DockerfileError(line, `ENV ${name} has no value`);
    return [name, value];
  });
  for (const [name, value = ""] of pairs) reading.variables[name] = reading.expand(value);
  reading.steps.push({ type: "ENV", line, args });
}

function pairOf(word: string): readonly [name: string, value: string | undefined] {
  const at = word.indexOf("=");
  return at === -1 ? [word, undefined] : [word.slice(0, at), word.slice(at + 1)];
}

/** `given`: values for ARG. Throws DockerfileError. */
export function parseDockerfile(source: string, given: Readonly<Record<string, string>> = {}): Dockerfile {
  const reading = new Reading(given);
  const instructions = readInstructions(source);
  for (const instruction of instructions) reading.read(instruction);
  const last = instructions.at(-1)?.line ?? 1;
  if (reading.image === undefined) throw new DockerfileError(last, "there is no FROM");
  const { steps, notes, image, entrypoint, cmd } = reading;
  if (reading.userLine === undefined) steps.push({ type: "USER", line: last, args: [usual.user] });
  if (reading.workdirLine === undefined) steps.push({ type: "WORKDIR", line: last, args: [usual.workdir] });
  return { image, steps, notes, startCmd: [entrypoint, cmd].filter((part) => part !== "").join(" ") };
}
