/** Which languages contexts speak, and how the program behind each is started and told what to run. */
import { join } from "node:path";
import { bashExecution, bashOpening } from "./bash-lines.ts";

export const languages = ["python", "javascript", "typescript", "bash"] as const;

export type Language = (typeof languages)[number];

const aliases: Readonly<Record<string, Language>> = { py: "python", python3: "python", js: "javascript", ts: "typescript", sh: "bash" };

/** By any of its names, in any case. */
export function languageOf(name: string): Language | undefined {
  const lower = name.toLowerCase();
  return languages.find((language) => language === lower) ?? (Object.hasOwn(aliases, lower) ? aliases[lower] : undefined);
}

export interface Execution {
  readonly code: string;
  /** For this run only. */
  readonly env: Readonly<Record<string, string>>;
}

export interface Runner {
  readonly cmd: string;
  readonly args: readonly string[];
  /** What is said to it before all else. */
  readonly opening: string;
  line(execution: Execution): string;
  /** Where a signal alone does not do it: what is said to it to end what runs. */
  readonly interruptLine?: string;
}

function line({ code, env }: Execution): string {
  return `${JSON.stringify({ code, env })}\n`;
}

/** `programs`: the folder where the daemon and its runners are. `mark`: what the runner's frames begin with. */
export function runnerOf(language: Language, programs: string, mark: string): Runner {
  if (language === "bash") {
    return {
      cmd: "bash",
      args: ["--noprofile", "--norc", "--noediting", "-i"],
      opening: bashOpening(mark),
      line: (execution) => bashExecution(mark, execution),
    };
  }
  if (language === "python") return { cmd: "python3", args: [join(programs, "python_runner.py"), mark], opening: "", line };
  return {
    cmd: join(programs, "lib/ld.so"),
    args: [
      "--library-path",
      join(programs, "lib"),
      join(programs, "node"),
      "--disable-warning=ExperimentalWarning",
      // Code that is broken off in the middle of a callback leaves no traces there but in the books that these checks are about.
      "--no-force-async-hooks-checks",
      join(programs, "javascript-runner.cjs"),
      mark,
      language,
    ],
    opening: "",
    line,
    interruptLine: "interrupt\n",
  };
}
