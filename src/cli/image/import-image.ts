import { resolve } from "node:path";
import type { CliContext } from "../context.ts";
import { UsageError } from "../failure.ts";
import type { Arguments } from "../flags.ts";
import type { MachineImage, MachineImages } from "../machine-images.ts";
import { LayerProgress } from "../print/layer-progress.ts";
import { printed } from "../print/listing.ts";
import type { WordAction } from "../word-action.ts";
import { forPrograms } from "./for-programs.ts";

const rootfsFlags = ["env", "entrypoint", "user", "workdir", "label"];

export const importImage: WordAction = {
  flags: ["name", "platform", "rootfs", "output", ...rootfsFlags],
  run: async (context, words, args) => {
    const isRootfs = args.has("rootfs");
    checkUsage(words, args, isRootfs);
    await using images = await context.images();
    const progress = new LayerProgress(context.stderr, context.clock);
    const imported = isRootfs
      ? await importRootfs(context, images, progress, { words, args })
      : await importFiles(context, images, progress, { words, args });
    progress.finish();
    if (printed(context, args, imported.map(forPrograms))) return 0;
    for (const { shortName, digest } of imported) context.stdout.write(`${shortName} imported: ${digest}\n`);
    return 0;
  },
};

interface Request {
  readonly words: readonly string[];
  readonly args: Arguments;
}

function checkUsage(words: readonly string[], args: Arguments, isRootfs: boolean): void {
  if (!isRootfs && words.length !== 1)
    throw new UsageError("image import needs one file, folder, or - for standard input; or --rootfs FOLDER");
  if (isRootfs && !args.has("name")) throw new UsageError("image import --rootfs needs --name, because a folder has no image name");
  if (isRootfs && args.has("platform"))
    throw new UsageError("image import --rootfs takes no --platform: the programs must be for this machine");
  const stray = isRootfs ? undefined : rootfsFlags.find((flag) => args.has(flag));
  if (stray !== undefined) throw new UsageError(`--${stray} is only for image import --rootfs: an image has its own`);
}

function importFiles(
  context: CliContext,
  images: MachineImages,
  progress: LayerProgress,
  { words, args }: Request,
): Promise<readonly MachineImage[]> {
  const [given = ""] = words;
  const source = given === "-" ? given : resolve(context.cwd, given);
  return images.import(source, {
    name: args.text("name"),
    platform: args.text("platform"),
    onProgress: progress.update.bind(progress),
    signal: context.signal,
  });
}

function importRootfs(
  context: CliContext,
  images: MachineImages,
  progress: LayerProgress,
  { words, args }: Request,
): Promise<readonly MachineImage[]> {
  const entrypoint = args.text("entrypoint");
  return images.importRootfs(resolve(context.cwd, args.text("rootfs") ?? ""), {
    name: args.text("name") ?? "",
    env: args.list("env").map((text) => pair("env", text).join("=")),
    entrypoint: entrypoint === undefined ? [] : [entrypoint],
    cmd: words,
    user: args.text("user") ?? "",
    workingDir: args.text("workdir") ?? "/",
    labels: Object.fromEntries(args.list("label").map((text) => pair("label", text))),
    onSkipped: (path) => context.stderr.write(`skipped: ${path} (a socket or device)\n`),
    onProgress: progress.update.bind(progress),
    signal: context.signal,
  });
}

function pair(flag: string, text: string): [name: string, value: string] {
  const equals = text.indexOf("=");
  if (equals < 1) throw new UsageError(`--${flag} must be NAME=VALUE, not ${JSON.stringify(text)}`);
  return [text.slice(0, equals), text.slice(equals + 1)];
}
