import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

/** Where administrators' commands are, which are not on everybody's PATH. */
const alsoIn = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/** The path of a command; undefined if the machine has none of this name. */
export function findCommand(name: string, path: string = process.env["PATH"] ?? ""): string | undefined {
  return [...path.split(delimiter), ...alsoIn].map((folder) => join(folder, name)).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return path.startsWith("/");
  } catch {
    return false;
  }
}
