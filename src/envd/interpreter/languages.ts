/** The languages of contexts: how the program of each is started, and how code is sent to it. */
import { join } from "node:path";
import { bashExecution, bashOpening } from "./bash-lines.ts";

export const languages = ["python", "javascript", "typescript", "bash"] as const;

export type Language = (typeof languages)[number];

const aliases: Readonly<Record<string, Language>> = { py: "python", python3: "python", js: "javascript", ts: "typescript", sh: "bash" };

/** Finds a language by any of its names, in any case. */
export function languageOf(name: string): Language | undefined {
  const lower = name.toLowerCase();
  return languages.find((language) => language === lower) ?? (Object.hasOwn(aliases, lower) ? aliases[lower] : undefined);
}

export interface Execution {
  readonly code: string;
  /** Only for this execution. */
  readonly env: Readonly<Record<string, string>>;
}

export interface Runner {
  readonly cmd: string;
  readonly args: readonly string[];
  /** Sent to the program first. */
  readonly opening: string;
  line(execution: Execution): string;
  /** Sent to end the running code, where a signal alone is not enough. */
  readonly interruptLine?: string;
}

function line({ code, env }: Execution): string {
  return `${JSON.stringify({ code, env })}\n`;
}

/** `programs`: the folder of the daemon and its runners. `mark`: the beginning of the runner's frames. */
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
      // Code that is interrupted inside a callback leaves no trace except in the books that these checks look at.
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
