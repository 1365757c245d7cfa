import { apiClient } from "../api-client.ts";
import type { Command } from "../command.ts";
import { CliError } from "../failure.ts";
import type { Arguments } from "../flags.ts";
import { type Copying, copyAcross, copyFromStream, copyIn, copyOut, copyToStream } from "../cp/copy.ts";
import { type CopyPlace, copyPlaces } from "../cp/copy-places.ts";
import { CopyProgress } from "../cp/copy-progress.ts";
import type { SandboxFiles } from "../cp/sandbox-files.ts";

export const cp: Command = {
  usage: ["cp PATH ID:PATH", "cp ID:PATH PATH", "cp ID:PATH ID:PATH", "cp - ID:FILE", "cp ID:FILE -"],
  about:
    "Copies files and folders into a sandbox, out of it, or from one sandbox to another. A copy into an existing folder keeps its own " +
    "name; FOLDER/. copies the contents of the folder. Bytes, modes, times and symbolic links are kept; owners are not. - is standard input or output. " +
    "The image needs sh and tar (or cat, for -).",
  examples: [
    { does: "Copy a folder into a sandbox", line: "agentbox cp src ID:/work" },
    { does: "Copy a result out of a sandbox", line: "agentbox cp ID:/work/report.pdf ." },
    { does: "Copy from one sandbox to another", line: "agentbox cp ID1:/work/data ID2:/work" },
    { does: "Write the output of a program to a file in a sandbox", line: "make-data | agentbox cp - ID:/tmp/data" },
  ],
  flags: { user: { short: "u", value: "USER", help: "Read and write in the sandbox as this user" } },
  run: async (context, args) => {
    const [from, to] = copyPlaces(args.words);
    const progress = new CopyProgress(context);
    await copy({ context, progress }, args, from, to);
    progress.finish();
    return 0;
  },
};

async function copy(copying: Copying, args: Arguments, from: CopyPlace, to: CopyPlace): Promise<void> {
  const { context } = copying;
  const { sandboxes } = await apiClient(context);
  const { signal } = context;
  const filesOf = ({ id }: Extract<CopyPlace, { at: "sandbox" }>): SandboxFiles => ({ sandboxes, id, user: args.text("user"), signal });
  if (from.at === "sandbox") {
    if (to.at === "sandbox")
      return await copyAcross(copying, { files: filesOf(from), path: from.path }, { files: filesOf(to), path: to.path });
    if (to.at === "here") return await copyOut(copying, filesOf(from), from.path, to.path);
    using own = context.attach();
    return await copyToStream(filesOf(from), from.path, own.stdout);
  }
  if (to.at !== "sandbox") throw new CliError("source or target must be in a sandbox");
  if (from.at === "here") return await copyIn(copying, from.path, filesOf(to), to.path);
  using own = context.attach();
  return await copyFromStream(own.stdin, filesOf(to), to.path);
}
