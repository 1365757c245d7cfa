import { resolve } from "node:path";
import { UsageError } from "../failure.ts";
import type { WordAction } from "../word-action.ts";
import { readCredentials } from "./pull-images.ts";

export const exportImage: WordAction = {
  flags: ["credentials"],
  run: async (context, words, args) => {
    const [name, folder, ...more] = words;
    if (name === undefined || folder === undefined || more.length > 0) throw new UsageError("image export needs an image and a folder");
    await using images = await context.images();
    const credentials = await Promise.all(args.list("credentials").map((file) => readCredentials(context, file)));
    await images.export(name, resolve(context.cwd, folder), { credentials, signal: context.signal });
    context.stdout.write(`${name} written to ${folder}\n`);
    return 0;
  },
};
