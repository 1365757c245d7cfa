/** Makes the folders of a template, lowest first. Each is kept under a name that stands for all that is in it and below it. */
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readdir, rename, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import type { ReadyTemplateName } from "#model/ready-templates.ts";
import { cleanUp } from "./clean-up.ts";
import { debianRoot, suite } from "./debian-root.ts";
import { aptLines } from "./debootstrap.ts";
import { layerScript, stageMark } from "./layer-script.ts";
import { findCertificates, scriptVariables } from "./machine-settings.ts";
import { type LayerRecipe, recipes } from "./recipes.ts";
import { runInRoot } from "./run-in-root.ts";

export interface BuildStep {
  readonly doing: string;
  readonly done: number;
  /** 0: not known. */
  readonly total: number;
}

export interface BuildFolders {
  readonly parent: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Makes the layers anew, with the packages of today. */
  readonly isFresh: boolean;
  readonly onStep: (step: BuildStep) => void;
  readonly signal: AbortSignal;
}

export async function buildFolders(name: ReadyTemplateName, options: BuildFolders): Promise<readonly string[]> {
  const { parent, isFresh, onStep, signal } = options;
  const say = (doing: string): void => onStep({ doing, done: 0, total: 0 });
  if (isFresh) await removeLayers(parent);
  const folders = [await debianRoot({ parent, more: [], say, signal })];
  for (const layer of recipes[name].layers) {
    const key = keyOf(folders, layer);
    const folder = join(parent, `${layer.name}-${key}`);
    if (!existsSync(folder)) await buildFolder(layer, { ...options, folders, folder });
    folders.push(folder);
  }
  return folders;
}

/** All of them: those of other templates stand on the same ones, and would not fit to what is made anew below them. */
async function removeLayers(parent: string): Promise<void> {
  const names = new Set(Object.values(recipes).flatMap(({ layers }) => layers.map(({ name }) => name)));
  for (const entry of await readdir(parent).catch(() => [])) {
    if (names.has(entry.replace(/-[0-9a-f]{12}$/, ""))) await rm(join(parent, entry), { recursive: true, force: true });
  }
}

function keyOf(below: readonly string[], layer: LayerRecipe): string {
  const content = [below.map((folder) => basename(folder)), process.arch, layer, layerScript(layer, [])];
  return createHash("sha256").update(JSON.stringify(content)).digest("hex").slice(0, 12);
}

interface Building extends BuildFolders {
  readonly folders: readonly string[];
  readonly folder: string;
}

async function buildFolder(layer: LayerRecipe, { parent, env, folders, folder, onStep, signal }: Building): Promise<void> {
  const work = `${basename(folder)}.making-${process.pid}`;
  await mkdir(join(parent, work), { recursive: true });
  try {
    await runInRoot({
      parent,
      lowers: folders.map((one) => basename(one)),
      work,
      script: layerScript(layer, await aptLines(suite)),
      env: scriptVariables(env, (await findCertificates()) !== undefined),
      onLine: stepReader(layer.name, onStep),
      signal,
    });
    const upper = join(parent, work, "upper");
    await cleanUp(upper);
    await rename(upper, folder).catch((error: unknown) => {
      // Another process has made the same one meanwhile.
      if (!existsSync(folder)) throw error;
    });
  } catch (error) {
    signal.throwIfAborted();
    throw new Error(`the layer ${layer.name} cannot be made: ${(error as Error).message}`, { cause: error });
  } finally {
    await rm(join(parent, work), { recursive: true, force: true });
  }
}

/** Reads from the output how far it is: apt says how many packages there will be, and names each when it is unpacked and set up. */
export function stepReader(layer: string, onStep: (step: BuildStep) => void): (line: string) => void {
  let doing = layer;
  let [done, total] = [0, 0];
  return (line) => {
    if (line.startsWith(stageMark)) {
      doing = `${layer}: ${line.slice(stageMark.length)}`;
      [done, total] = [0, 0];
      onStep({ doing, done, total });
      return;
    }
    const [, upgraded, installed] = /^(\d+) upgraded, (\d+) newly installed/.exec(line) ?? [];
    if (upgraded !== undefined) [done, total] = [0, 2 * (Number(upgraded) + Number(installed))];
    else if (/^(Unpacking|Setting up) /.test(line)) done += 1;
    else return;
    onStep({ doing, done, total });
  };
}
