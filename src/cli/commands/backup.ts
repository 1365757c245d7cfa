import { resolve } from "node:path";
import type { Command } from "../command.ts";
import { chosenServer } from "../api-client.ts";
import type { CliContext } from "../context.ts";
import { CliError, UsageError } from "../failure.ts";
import type { Arguments } from "../flags.ts";
import type { BackupMade, MachineBackups } from "../machine-backups.ts";
import { byteSize } from "../print/byte-size.ts";
import { StepProgress } from "../print/step-progress.ts";

export const backup: Command = {
  usage: ["backup FILE|- [--images] [--replace]"],
  about:
    "Writes the data folder of this machine's AgentBox into one tar file that only you can read: objects, history, keys, certificates and settings. " +
    "The server goes on working meanwhile. The file holds secrets in plain text. Not in it: running processes and their files, logs, " +
    "images that a registry has, and a history in PostgreSQL, which has tools of its own (pg_dump).",
  examples: [
    { does: "Make a backup", line: "sudo agentbox backup /var/backups/agentbox.tar" },
    {
      does: "Onto another machine, compressed and encrypted",
      line: "agentbox backup - | zstd | age -r KEY | ssh backups 'cat > agentbox.tar.zst.age'",
    },
    { does: "With images that were imported", line: "agentbox backup --images full.tar" },
  ],
  flags: {
    images: { help: "With the images that were imported, which no registry has; needs room for two copies of them" },
    replace: { help: "Write over FILE if it is there" },
  },
  run: async (context, args) => {
    const file = fileOf("backup", context, args);
    if (file === "-" && context.stdout.isTTY === true) throw new UsageError("backup - writes a tar file: redirect it, or give a FILE");
    const backups = await backupsOf("backup", context);
    const progress = new StepProgress(context.stderr, context.clock);
    const made = await backups
      .make({ file, images: args.isOn("images"), replace: args.isOn("replace"), onProgress: progress.update, signal: context.signal })
      .finally(() => progress.finish());
    // Standard output is the backup itself then.
    (file === "-" ? context.stderr : context.stdout).write(madeText(made, file));
    return 0;
  },
};

/** The one word of `backup` and `restore`. */
export function fileOf(command: string, { cwd }: CliContext, { words }: Arguments): string {
  const [file] = words;
  if (file === undefined || file === "" || words.length > 1)
    throw new UsageError(`${command} needs one FILE, or - for standard ${command === "backup" ? "output" : "input"}`);
  return file === "-" ? file : resolve(cwd, file);
}

/** A backup is of files on this machine, whatever server other commands work with. */
export async function backupsOf(command: string, context: CliContext): Promise<MachineBackups> {
  const chosen = await chosenServer(context);
  if (chosen !== undefined && chosen.home === undefined) {
    throw new CliError(
      `${command} works on a data folder of this machine, and the context ${chosen.name} is a server elsewhere: run it there`,
    );
  }
  return await context.backups(chosen?.home);
}

export function imagesText(images: readonly string[] | undefined): string {
  return images === undefined ? "" : `, ${images.length} imported ${images.length === 1 ? "image" : "images"}`;
}

function madeText({ files, bytes, at, images, historyElsewhere, leftOut }: BackupMade, file: string): string {
  const what = file === "-" ? "Backup" : `Backup in ${file}`;
  const withImages = imagesText(images);
  const lines = [
    `${what}: ${files} files, ${byteSize(bytes)}${withImages}; the state of ${new Date(at).toISOString()}`,
    ...(historyElsewhere === undefined ? [] : [`The history is not in it: it is in ${historyElsewhere}. Back it up with pg_dump`]),
    ...leftOut.map((path) => `Left out, because it is no file: ${path}`),
  ];
  return `${lines.join("\n")}\n`;
}
