/** Layers on a real disk, for tests of unpacking. Owners and device nodes need root. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach } from "vitest";
import { isImageError } from "#images/image-error.ts";
import { defaultLimits, type LayerLimits } from "#images/layer/limits.ts";
import type { OverlayMarks } from "#images/layer/overlay-marks.ts";
import { unpackLayer, type UnpackRequest } from "#images/layer/unpack.ts";
import { type EntrySpec, type LayerFixture, layerOf } from "./layer-archive.ts";

export const asRoot: boolean = process.getuid?.() === 0;
export const privileged: OverlayMarks = { whiteout: "device", namespace: "trusted" };

/** Where everything of the present test is. */
export let folder = "";
let count = 0;

/** Gives each test of the file a fresh folder. */
export function useLayerFolder(): void {
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "agentbox-unpack-"));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));
}

export interface Setting {
  readonly lowers?: readonly string[];
  readonly marks?: OverlayMarks;
  readonly limits?: Partial<LayerLimits>;
}

export function requestFor(layer: LayerFixture, { lowers = [], marks = privileged, limits = {} }: Setting = {}): UnpackRequest {
  const number = ++count;
  const [blob, target] = [join(folder, `blob-${number}`), join(folder, `layer-${number}`)];
  writeFileSync(blob, layer.blob);
  mkdirSync(target);
  return { blob, folder: target, diffId: layer.diffId, lowers, marks, limits: { ...defaultLimits, ...limits } };
}

/** Unpacks and returns the folder. */
export async function unpacked(entries: readonly EntrySpec[], setting?: Setting): Promise<string> {
  const request = requestFor(layerOf(entries), setting);
  await unpackLayer(request);
  return request.folder;
}

export async function refusal(layer: LayerFixture | readonly EntrySpec[], setting?: Setting): Promise<string> {
  const request = requestFor("blob" in layer ? layer : layerOf(layer), setting);
  const error: unknown = await unpackLayer(request).then(
    () => "nothing was refused",
    (caught: unknown) => caught,
  );
  return isImageError(error) ? `${error.code}: ${error.message}` : String(error);
}

export function tree(root: string, path = ""): string[] {
  return readdirSync(join(root, path), { withFileTypes: true }).flatMap((found) => {
    const name = join(path, found.name);
    return found.isDirectory() ? [`${name}/`, ...tree(root, name)] : [name];
  });
}

/** What a container sees: the layers mounted over each other, topmost first. */
export function mounted<T>(layers: readonly string[], look: (root: string) => T, options = ""): T {
  const place = join(folder, `mount-${++count}`);
  const empty = join(folder, `empty-${count}`);
  mkdirSync(place);
  mkdirSync(empty);
  execFileSync("mount", ["-t", "overlay", "overlay", "-o", `lowerdir=${[...layers, empty].join(":")}${options}`, place]);
  try {
    return look(place);
  } finally {
    execFileSync("umount", [place]);
  }
}
