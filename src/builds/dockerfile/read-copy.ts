/** COPY and ADD of a Dockerfile: one part for each source. Pure. */
import { DockerfileError, type Instruction } from "./instructions.ts";
import { flagsOf, jsonList, wordsOf } from "./words.ts";

export interface CopyPart {
  /** A path or a pattern below the context folder, or a file that stands in the Dockerfile. */
  readonly source: string;
  readonly target: string;
  /** Empty: not given. */
  readonly owner: string;
  /** Octal; empty: not given. */
  readonly mode: string;
  /** Of a file that stands in the Dockerfile itself. */
  readonly content?: string;
}

const archive = /\.(?:tar|tgz|tar\.(?:gz|bz2|xz|zst)|tbz2|txz)$/i;
const elsewhere = /^(?:https?:\/\/|git@|git:\/\/)/;

export function readCopy({ keyword, line, text, documents }: Instruction, expand: (text: string) => string): readonly CopyPart[] {
  const fail = (why: string): never => {
    throw new DockerfileError(line, why);
  };
  const { flags, rest } = flagsOf(text);
  const { owner, mode } = readFlags(flags, fail);
  const words = (jsonList(rest) ?? wordsOf(rest)).map((word) => expand(word));
  const target = words.at(-1) ?? "";
  const sources = words.slice(0, -1);
  if (sources.length === 0 || target === "") return fail(`${keyword} takes one or more sources and a target`);
  if (sources.length > 1 && !target.endsWith("/")) return fail(`${keyword} of several sources needs a target that ends in /`);
  return sources.map((source): CopyPart => {
    const document = documents.find(({ name }) => source.replace(/^<<-?/, "") === name && source.startsWith("<<"));
    if (document !== undefined) {
      const content = document.isLiteral ? document.content : expand(document.content);
      return { source: document.name, target, owner, mode, content };
    }
    if (elsewhere.test(source)) return fail(`${keyword} of ${source}: only files of the context can be copied. Fetch it in a RUN`);
    if (keyword === "ADD" && archive.test(source)) return fail(`ADD would unpack ${source}: COPY it, and unpack it in a RUN`);
    return { source: inContext(source, fail), target, owner, mode };
  });
}

function readFlags(
  flags: ReadonlyMap<string, readonly string[]>,
  fail: (why: string) => never,
): { readonly owner: string; readonly mode: string } {
  if (flags.has("from")) fail("--from needs a second stage or image, and only one stage can be built");
  const unknown = [...flags.keys()].find((name) => !["chown", "chmod", "link"].includes(name));
  if (unknown !== undefined) fail(`--${unknown} cannot be built here; there are --chown, --chmod and --link`);
  const mode = flags.get("chmod")?.at(-1) ?? "";
  if (mode !== "" && !/^[0-7]{3,4}$/.test(mode)) fail(`--chmod=${mode} must be octal, such as 0755`);
  return { owner: flags.get("chown")?.at(-1) ?? "", mode: mode.padStart(mode === "" ? 0 : 4, "0") };
}

/** The root of the context is where absolute paths begin. */
function inContext(source: string, fail: (why: string) => never): string {
  const parts: string[] = [];
  for (const part of source.split("/")) {
    if (part === "..") {
      if (parts.pop() === undefined) return fail(`${source} leads out of the context`);
    } else if (part !== "" && part !== ".") parts.push(part);
  }
  return parts.length === 0 ? "." : parts.join("/");
}
