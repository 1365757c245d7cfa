/** A Dockerfile as a list of instructions, each with the line that it begins at: continued lines are joined, comments are gone, here-documents are kept. Pure. */

export class DockerfileError extends Error {
  override readonly name = "DockerfileError";
  /** From 1 on. */
  readonly line: number;

  constructor(line: number, message: string) {
    super(`Dockerfile line ${line}: ${message}`);
    this.line = line;
  }
}

export interface HereDocument {
  readonly name: string;
  /** Variables in it stay as they are: its name stands in quotes. */
  readonly isLiteral: boolean;
  readonly content: string;
}

export interface Instruction {
  readonly line: number;
  /** In capitals. */
  readonly keyword: string;
  /** What follows the keyword, with the line ends that continued lines had taken away. */
  readonly text: string;
  readonly documents: readonly HereDocument[];
}

const mayHaveDocuments: ReadonlySet<string> = new Set(["RUN", "COPY", "ADD"]);
const documentStart = /<<(-?)\s*(?:"([A-Za-z_][\w.-]*)"|'([A-Za-z_][\w.-]*)'|([A-Za-z_][\w.-]*))/g;

export function readInstructions(source: string): readonly Instruction[] {
  const lines = source.replace(/^\uFEFF/, "").split(/\r?\n/);
  const escape = escapeOf(lines);
  const found: Instruction[] = [];
  for (let at = 0; at < lines.length;) {
    const first = lines[at] ?? "";
    if (first.trim() === "" || first.trimStart().startsWith("#")) {
      at++;
      continue;
    }
    const { text, next } = joined(lines, at, escape);
    const [, keyword = "", rest = ""] = /^\s*([A-Za-z]+)(?:\s+([\s\S]*))?$/.exec(text) ?? [];
    if (keyword === "") throw new DockerfileError(at + 1, `${JSON.stringify(text.trim().slice(0, 40))} does not begin with an instruction`);
    const name = keyword.toUpperCase();
    const { documents, end } = mayHaveDocuments.has(name) ? readDocuments(lines, next, rest) : { documents: [], end: next };
    found.push({ line: at + 1, keyword: name, text: rest.trim(), documents });
    at = end;
  }
  return found;
}

/** `# escape=`, which may stand at the top. */
function escapeOf(lines: readonly string[]): string {
  for (const line of lines) {
    const [, name, value] = /^\s*#\s*(\w+)\s*=\s*(\S+)\s*$/.exec(line) ?? [];
    if (name === undefined) return "\\";
    if (name.toLowerCase() === "escape" && value !== undefined) return value;
  }
  return "\\";
}

/** An instruction and the lines that continue it. Comments and empty lines between them do not end it. */
function joined(lines: readonly string[], from: number, escape: string): { readonly text: string; readonly next: number } {
  let text = "";
  for (let at = from; at < lines.length; at++) {
    const line = lines[at] ?? "";
    if (at > from && (line.trimStart().startsWith("#") || line.trim() === "")) continue;
    const bare = line.trimEnd();
    if (!bare.endsWith(escape)) return { text: text + line, next: at + 1 };
    text += bare.slice(0, -escape.length);
  }
  return { text, next: lines.length };
}

function readDocuments(
  lines: readonly string[],
  from: number,
  text: string,
): { readonly documents: readonly HereDocument[]; readonly end: number } {
  let end = from;
  const documents = [...text.matchAll(documentStart)].map(([, dash, double, single, bare]): HereDocument => {
    const name = double ?? single ?? bare ?? "";
    const isIndented = dash === "-";
    const content: string[] = [];
    for (; ; end++) {
      const line = lines[end];
      if (line === undefined) throw new DockerfileError(from, `the here-document ${name} has no end: a line with ${name} alone`);
      const bareLine = isIndented ? line.replace(/^\t+/, "") : line;
      if (bareLine === name) break;
      content.push(bareLine);
    }
    end++;
    return { name, isLiteral: bare === undefined, content: content.map((line) => `${line}\n`).join("") };
  });
  return { documents, end };
}
