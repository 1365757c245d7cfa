/** Which file a command's first word means, as execvp finds it. */
import { accessSync, constants, statSync } from "node:fs";
import { join } from "node:path";

const usualPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** Throws when there is none that we may run. */
export function findProgram(name: string, path: string | undefined): string {
  if (name === "") throw new Error("a command is needed");
  if (name.includes("/")) {
    if (isProgram(name)) return name;
    throw new Error(`there is no program ${JSON.stringify(name)} that could be run`);
  }
  // A PATH that is there and empty means the present folder, as an empty part of one does.
  const folders = (path ?? usualPath).split(":").map((folder) => (folder === "" ? "." : folder));
  const found = folders.map((folder) => join(folder, name)).find(isProgram);
  if (found === undefined) throw new Error(`there is no program ${JSON.stringify(name)} in PATH`);
  // Without a slash it would be looked for again.
  return found.includes("/") ? found : `./${found}`;
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
