import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { CliContext } from "../context.ts";
import { CliError, UsageError } from "../failure.ts";
import type { MachineImage } from "../machine-images.ts";
import { LayerProgress } from "../print/layer-progress.ts";
import { printed } from "../print/listing.ts";
import type { WordAction } from "../word-action.ts";
import { forPrograms } from "./for-programs.ts";

export const pullImages: WordAction = {
  flags: ["platform", "credentials", "output"],
  run: async (context, words, args) => {
    if (words.length === 0) throw new UsageError("image pull needs the name of an image");
    const credentials = await Promise.all(args.list("credentials").map((file) => readCredentials(context, file)));
    await using images = await context.images();
    const pulled: MachineImage[] = [];
    for (const name of words) {
      const progress = new LayerProgress(context.stderr, context.clock);
      const onProgress = progress.update.bind(progress);
      pulled.push(await images.pull(name, { platform: args.text("platform"), credentials, onProgress, signal: context.signal }));
      progress.finish();
    }
    if (printed(context, args, pulled.map(forPrograms))) return 0;
    for (const { shortName, digest } of pulled) context.stdout.write(`${shortName} pulled: ${digest}\n`);
    return 0;
  },
};

export async function readCredentials({ cwd }: CliContext, file: string): Promise<string> {
  try {
    return await readFile(resolve(cwd, file), "utf8");
  } catch (error) {
    throw new CliError(`cannot read the credentials ${file}: ${(error as Error).message}`);
  }
}
