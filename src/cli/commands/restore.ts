import type { Command } from "../command.ts";
import type { Restored } from "../machine-backups.ts";
import { byteSize } from "../print/byte-size.ts";
import { StepProgress } from "../print/step-progress.ts";
import { backupsOf, fileOf, imagesText } from "./backup.ts";

export const restore: Command = {
  usage: ["restore FILE|- [--replace]"],
  about:
    "Makes the data folder anew from a backup, on this machine or another one: AGENTBOX_HOME says where. Every file is checked first, and the folder " +
    "is put into place in one step: a restore that fails leaves everything as it was. No server may run on the folder. Sandboxes that ran when " +
    "the backup was made are recorded as ended (RestoredFromBackup) at the first start, and pools warm up again.",
  examples: [
    { does: "Restore into the usual folder, then start", line: "sudo agentbox restore /var/backups/agentbox.tar && sudo agentbox up" },
    { does: "Look at a backup beside the server that runs", line: "AGENTBOX_HOME=/tmp/look agentbox restore agentbox.tar" },
    { does: "From another machine", line: "ssh backups 'cat agentbox.tar' | agentbox restore -" },
  ],
  flags: {
    replace: { help: "In place of the data that is there, which is kept beside it as FOLDER.before-restore-TIME" },
  },
  run: async (context, args) => {
    const file = fileOf("restore", context, args);
    const backups = await backupsOf("restore", context);
    const progress = new StepProgress(context.stderr, context.clock);
    const restored = await backups
      .restore({ file, replace: args.isOn("replace"), onProgress: progress.update, signal: context.signal })
      .finally(() => progress.finish());
    context.stdout.write(restoredText(restored));
    return 0;
  },
};

function restoredText({ folder, files, bytes, at, version, images, historyElsewhere, putAside }: Restored): string {
  const withImages = imagesText(images);
  const lines = [
    `Restored ${folder}: ${files} files, ${byteSize(bytes)}${withImages}; the state of ${new Date(at).toISOString()}, made by AgentBox ${version}`,
    ...(putAside === undefined ? [] : [`What was there before is in ${putAside}`]),
    ...(historyElsewhere === undefined
      ? []
      : [`Its history is not in it: it was in ${historyElsewhere}. Start with DATABASE_URL as before`]),
    "Start it with: agentbox up",
  ];
  return `${lines.join("\n")}\n`;
}
