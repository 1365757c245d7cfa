/** `agentbox mcp init`: writes the entry for this server into a client's configuration. */
import { mkdir, readFile, rename, stat, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import type { CliContext } from "../context.ts";
import { CliError, UsageError } from "../failure.ts";
import { type Arguments, orList } from "../flags.ts";
import { clientConfigs, clientNames, type McpEntry, withEntry } from "./client-configs.ts";

const program = join(import.meta.dirname, "../../../bin/agentbox");

export async function initClient(context: CliContext, words: readonly string[], args: Arguments): Promise<number> {
  const [name = "", ...others] = words;
  const config = Object.hasOwn(clientConfigs, name) ? clientConfigs[name] : undefined;
  if (config === undefined || others.length > 0) throw new UsageError(`mcp init needs one client: ${orList(clientNames)}`);
  const folders = { home: context.env["HOME"] ?? homedir(), cwd: context.cwd, isMac: process.platform === "darwin" };
  const file = config.file(folders);
  const entry = entryOf(context, args);
  const before = await readFile(file, "utf8").catch(absent);
  const after = withEntry(config, before ?? "", entry);
  if (after === undefined) {
    const alone = withEntry(config, "", entry) ?? "";
    throw new CliError(`${file} is not plain JSON (does it contain comments?), so nothing was written. Add this yourself:\n${alone}`);
  }
  if (args.isOn("print")) {
    context.stdout.write(`# ${file}\n${after}`);
    return 0;
  }
  await replaceFile(file, after);
  const key = "AGENTBOX_API_KEY" in entry.env ? " It holds your API key: do not share it." : "";
  context.stdout.write(`wrote ${file}.${key} Restart the client to load the tools of AgentBox.\n`);
  return 0;
}

/** Environment that selects the same server from anywhere: the client starts us in its own folder and environment. */
function entryOf({ env, home }: CliContext, args: Arguments): McpEntry {
  const flags = ["read-only", "keep"].flatMap((flag) => (args.isOn(flag) ? [`--${flag}`] : []));
  const names = (env["AGENTBOX_API_URL"] ?? "") === "" ? [] : ["AGENTBOX_API_URL", "AGENTBOX_API_KEY"];
  const given = names.flatMap((name) => ((env[name] ?? "") === "" ? [] : [[name, env[name] ?? ""]]));
  const place = names.length === 0 && (env["AGENTBOX_HOME"] ?? "") !== "" ? { AGENTBOX_HOME: home.folder } : {};
  return { command: program, args: ["mcp", ...flags], env: { ...(Object.fromEntries(given) as Record<string, string>), ...place } };
}

function absent(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT") throw new CliError(`the client's configuration cannot be read: ${error.message}`);
}

/** Atomic: readers see the old file or the new one. A new file is readable only by its owner, because it may contain a key. */
async function replaceFile(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  const mode = await stat(file).then(
    (found) => found.mode & 0o777,
    () => 0o600,
  );
  const fresh = `${file}.agentbox-new`;
  await writeFile(fresh, text, { mode });
  await rename(fresh, file);
}
