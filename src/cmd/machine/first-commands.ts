/** What to type first, as it works from the folder where the server was started and with its data folder. Pure. */
import { isAbsolute, join, relative } from "node:path";
import { readyTemplateNames } from "#model/ready-templates.ts";

export interface Surroundings {
  /** Where this program is. */
  readonly root: string;
  readonly cwd: string;
  /** Of the server; undefined when commands find it by themselves. */
  readonly homeFolder: string | undefined;
}

export function firstCommands(where: Surroundings, runsSandboxes: boolean): readonly string[] {
  const home = where.homeFolder === undefined ? "" : `AGENTBOX_HOME=${shellWord(where.homeFolder)} `;
  const program = `${home}${shellWord(nearPath(where, "bin/agentbox"))}`;
  const examples = shellWord(nearPath(where, "deploy/examples"));
  const templates = `template add ${readyTemplateNames.join(" ")}   # or some of them: what programs for E2B expect`;
  const lines = runsSandboxes ? ["run base -- echo hi", "ls --all", "get sandboxpools", templates] : ["key ls", `apply -f ${examples}`];
  const sdks = runsSandboxes ? [`eval "$(${program} env)"   # and programs with E2B's SDK run here`] : [];
  return [...lines.map((line) => `${program} ${line}`), ...sdks, `${program} help`];
}

/** Relative to the current folder if it is below, as the user would type it. */
function nearPath({ root, cwd }: Surroundings, file: string): string {
  const path = join(root, file);
  const near = relative(cwd, path);
  return near.startsWith("..") || isAbsolute(near) ? path : near;
}

function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
