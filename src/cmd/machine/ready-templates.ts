/** Templates that are built on this machine, in the words of the command line. */
import { join } from "node:path";
import { CliError } from "#cli/failure.ts";
import type { MachineImages } from "#cli/machine-images.ts";
import type { BuildRequest, ReadyTemplates } from "#cli/ready-templates.ts";
import { buildImage } from "#images/build/build-image.ts";
import { LayoutFolder } from "#images/build/layout-folder.ts";
import { hexOf } from "#images/digest.ts";
import type { ReadyTemplateName } from "#model/ready-templates.ts";
import { buildFolders } from "#ready-templates/build-folders.ts";
import { debianImage } from "#ready-templates/debian-image.ts";
import { recipes } from "#ready-templates/recipes.ts";
import { templateObjects } from "#ready-templates/template-objects.ts";

export interface ReadyTemplateOptions {
  /** Where what is built is kept for the next time. */
  readonly cache: string;
  readonly version: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly images: () => Promise<MachineImages>;
  readonly isRoot?: boolean;
}

export function readyTemplates(options: ReadyTemplateOptions): ReadyTemplates {
  return {
    describe: (name) => recipes[name].description,
    objects: (name, image) => templateObjects(name, image),
    build: (name, request) => build(options, name, request),
  };
}

async function build(options: ReadyTemplateOptions, name: ReadyTemplateName, request: BuildRequest): Promise<string> {
  const { cache, version, env, isRoot = process.getuid?.() === 0 } = options;
  const { isFresh, onStep, onLayer, signal } = request;
  if (!isRoot) throw new CliError(`building ${name} needs root, which owns the files in it: run it with sudo, or use --image`);
  const folders = await explained(buildFolders(name, { parent: join(cache, "debian"), env, isFresh, onStep, signal }), signal);
  onStep({ doing: "the image", done: 0, total: 0 });
  const layout = await LayoutFolder.open(join(cache, "templates"));
  const spec = await debianImage(folders, { title: `AgentBox template ${name}`, version, env: recipes[name].env });
  const { manifest } = await buildImage(layout, spec, signal);
  // Equal content, equal name: pods are made anew only when something has changed.
  const image = `agentbox-template-${name}:${hexOf(manifest.digest).slice(0, 12)}`;
  await layout.nameOnly(image, manifest);
  await using images = await options.images();
  await images.import(layout.folder, { name: undefined, platform: undefined, onProgress: onLayer, signal });
  return image;
}

/** What fails is a command of the system, whose words are for people to read. */
async function explained<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  try {
    return await work;
  } catch (error) {
    signal.throwIfAborted();
    throw new CliError((error as Error).message, { cause: error });
  }
}
