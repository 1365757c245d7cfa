/** Runs the command-line scenario with a program and writes down what it says, without what differs from run to run. */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Said } from "../world/run-cli.ts";
import { cliScenario, type Step } from "./cli-scenario.ts";

/** Runs one command line in a folder. */
export type Program = (args: readonly string[], place: { readonly cwd: string; readonly stdin: string }) => Promise<Said>;

/** A program of its own, such as kubectl; `before` comes before the words of the scenario. */
export function program(file: string, before: readonly string[]): Program {
  return (args, { cwd, stdin }) =>
    new Promise((resolve) => {
      const child = execFile(file, [...before, ...args], { cwd }, (error, stdout, stderr) => {
        resolve({ stdout, stderr, code: typeof error?.code === "number" ? error.code : error === null ? 0 : -1 });
      });
      child.stdin?.end(stdin);
    });
}

/** The whole scenario as text, in a namespace that is new. Two namespaces of one length give equal texts. */
export async function transcriptOf(run: Program, namespace: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "agentbox-cli-"));
  try {
    const scenario = cliScenario(namespace);
    await writeAll(folder, scenario.files);
    let transcript = "";
    for (const step of scenario.steps) {
      await writeAll(folder, step.write ?? {});
      transcript += stepText(step, await run(step.args, { cwd: folder, stdin: step.stdin ?? "" }), namespace);
    }
    return transcript;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function writeAll(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
}

function stepText(step: Step, { stdout, stderr, code }: Said, namespace: string): string {
  const lines = [
    `$ ${step.args.join(" ")}`,
    ...textLines(stdout, "  "),
    ...sortedCauses(textLines(stderr, "! ")),
    ...(code === 0 ? [] : [`exit ${code}`]),
  ];
  return comparable(lines.join("\n"), namespace) + "\n\n";
}

function textLines(text: string, mark: string): string[] {
  return text === ""
    ? []
    : text
        .replace(/\n$/, "")
        .split("\n")
        .map((line) => mark + line);
}

/** An API server finds what is wrong with an object in no particular order. */
function sortedCauses(lines: readonly string[]): readonly string[] {
  const sorted = lines.filter((line) => line.startsWith("! * ")).sort();
  return lines.map((line) => (line.startsWith("! * ") ? (sorted.shift() ?? "") : line));
}

/** What differs from run to run gets a name; what we say otherwise on purpose gets our words. */
function comparable(text: string, namespace: string): string {
  return (
    text
      .replaceAll(namespace, "NAMESPACE")
      .replaceAll(/\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, "UID")
      .replaceAll(/(resourceVersion"?: ")\d+"/g, '$1N"')
      .replaceAll(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, "TIME")
      .replaceAll(/ (\d+m)?\d+s( +|$)/gm, " AGE ")
      .replaceAll(/ AGE +/g, " AGE ")
      // The words about broken YAML are the parser's own.
      .replaceAll(/(error converting YAML to JSON: yaml: )(?:line \d+: )?.*/g, "$1WHY")
      // So are those about what changed in a pod: a diff of its structures in Go.
      .replaceAll(/(allow it to be set to 1 if it was previously negative\))\n(?:! .*\n)+/g, "$1\n")
      // There is no CustomResourceDefinition to install into the embedded server.
      .replaceAll(/\n! ensure CRDs are installed first/g, "")
      .replaceAll("either kubectl create --save-config or kubectl apply", "agentbox apply")
      .replaceAll("kubectl apply", "agentbox apply")
  );
}
