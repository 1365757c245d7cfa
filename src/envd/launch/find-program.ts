/** Finds the file of a command's first word like execvp, and checks if the kernel will run it. */
import { accessSync, closeSync, constants, openSync, readSync, statSync } from "node:fs";
import { join } from "node:path";
import { LaunchFault } from "./launch-fault.ts";

const usualPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/** MAX_ARG_STRLEN: limit of one argument or variable, including its zero byte. */
const longestString = 128 * 1024;
/** Linux allows a quarter of the stack limit, which is 8 MiB. */
const longestAll = 2 * 1024 * 1024 - 64 * 1024;

/** Throws if there is no program that we may run. */
export function findProgram(name: string, path: string | undefined): string {
  if (name === "") throw new LaunchFault("not-found", "a command is needed");
  const shown = JSON.stringify(name);
  if (name.includes("/")) {
    const kind = kindOf(name);
    if (kind === "program") return name;
    throw kind === "absent"
      ? new LaunchFault("not-found", `there is no program ${shown}`)
      : new LaunchFault("not-executable", kind === "folder" ? `${shown} is a directory` : `${shown} may not be executed`);
  }
  // An empty PATH means the current folder, like an empty part of it.
  const folders = (path ?? usualPath).split(":").map((folder) => (folder === "" ? "." : folder));
  const files = folders.map((folder) => join(folder, name));
  const found = files.find((file) => kindOf(file) === "program");
  if (found === undefined) {
    if (files.some((file) => kindOf(file) === "plain")) throw new LaunchFault("not-executable", `${shown} may not be executed`);
    throw new LaunchFault("not-found", `there is no program ${shown} in PATH`);
  }
  // Without a slash, exec would search for it again.
  return found.includes("/") ? found : `./${found}`;
}

function kindOf(file: string): "program" | "plain" | "folder" | "absent" {
  try {
    const stat = statSync(file);
    if (stat.isDirectory()) return "folder";
    accessSync(file, constants.X_OK);
    return stat.isFile() ? "program" : "plain";
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EACCES" ? "plain" : "absent";
  }
}

/** After the launcher has reported a program, only the kernel could refuse it; so its first bytes are checked here. */
export function refuseUnreadable(file: string): void {
  const first = firstBytes(file);
  if (first === undefined) return;
  const interpreter = /^#![ \t]*([^ \t\n]+)/.exec(first)?.[1];
  if (interpreter === undefined) {
    if (first.startsWith("\x7fELF")) return;
    const message = `${JSON.stringify(file)} is not a program for this machine, or a script without a first line such as #!/bin/sh`;
    throw new LaunchFault("not-executable", message);
  }
  if (kindOf(interpreter) === "absent") {
    throw new LaunchFault("not-found", `${JSON.stringify(file)} needs ${JSON.stringify(interpreter)}, which is not in the container`);
  }
}

/** Undefined if the file may be executed but not read. */
function firstBytes(file: string): string | undefined {
  let descriptor: number;
  try {
    descriptor = openSync(file, "r");
  } catch {
    return undefined;
  }
  try {
    const bytes = Buffer.alloc(256);
    return bytes.toString("latin1", 0, readSync(descriptor, bytes));
  } finally {
    closeSync(descriptor);
  }
}

export function refuseTooLong(argv: readonly string[], variables: Readonly<Record<string, string>>): void {
  const sizes = [...argv, ...Object.entries(variables).map(([name, value]) => `${name}=${value}`)].map((one) => Buffer.byteLength(one) + 1);
  if (sizes.some((size) => size > longestString)) {
    throw new LaunchFault("too-long", "an argument or a variable has more than 128 KiB, which is the most that Linux takes");
  }
  // Each pointer counts, too.
  if (sizes.reduce((sum, size) => sum + size + 8, 0) > longestAll) {
    throw new LaunchFault("too-long", "the arguments and the environment are longer than the kernel takes");
  }
}
