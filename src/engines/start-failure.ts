/**
 * Why an OCI runtime could not start a command. Runtimes have no codes for that, only texts, of which each has its own; whatever fits none of
 * them is not shown to callers, because it may name things of the machine.
 */
import { CommandNotStarted, type StartFault } from "#kube/pod-access.ts";

interface Meaning {
  readonly said: RegExp;
  readonly fault: StartFault;
  readonly text: (program: string, folder: string) => string;
}

/** Of runc, crun and runsc. The first that fits is taken: a folder that is not there has the same error number as a program. */
const meanings: readonly Meaning[] = [
  {
    said: /chdir to|working directory|failed to set cwd/i,
    fault: "workingDir",
    text: (_, folder) => `the folder ${folder} is not in the container, or cannot be entered`,
  },
  { said: /argument list too long/i, fault: "too-long", text: () => "the arguments and the environment are longer than the kernel takes" },
  {
    said: /exec format error/i,
    fault: "not-executable",
    text: (program) => `${program} is not a program for this machine, or a script without a first line such as #!/bin/sh`,
  },
  { said: /is a directory/i, fault: "not-executable", text: (program) => `${program} is a directory` },
  { said: /permission denied/i, fault: "not-executable", text: (program) => `${program} may not be executed` },
  {
    said: /executable file .*not found|error finding executable/i,
    fault: "not-found",
    text: (program) => `there is no program ${program} in PATH`,
  },
  {
    // The runtime has found the file, and the kernel the interpreter of its first line not.
    said: /exec \/\S+: no such file or directory/i,
    fault: "not-found",
    text: (program) => `${program} needs an interpreter that is not in the container`,
  },
  { said: /no such file or directory|not a directory/i, fault: "not-found", text: (program) => `there is no program ${program}` },
];

/** The runtime's failure as the caller may see it. */
export function startFailure(error: unknown, argv: readonly string[], folder = "/"): CommandNotStarted {
  const said = error instanceof Error ? error.message : String(error);
  const meaning = meanings.find((one) => one.said.test(said));
  if (meaning === undefined) return new CommandNotStarted("other", "the command could not be run; the server's log says why", error);
  return new CommandNotStarted(meaning.fault, meaning.text(JSON.stringify(argv[0] ?? ""), JSON.stringify(folder)), error);
}
