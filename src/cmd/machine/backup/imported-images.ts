/** The images that no registry has, as a tar file. GNU tar writes it, because layers have owners, device nodes and extended attributes. */
import { spawn } from "node:child_process";
import { mkdir } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { CliError } from "#cli/failure.ts";
import type { Clock } from "#lib/clock.ts";
import { ImageStore } from "#images/image-store.ts";
import { RegistryClient } from "#images/registry/client.ts";

const attributes = ["--numeric-owner", "--xattrs", "--xattrs-include=*"];

/** Resolves with the names of the images in it; undefined when there are none, and no file is made. */
export async function packImages(
  imagesFolder: string,
  file: string,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<readonly string[] | undefined> {
  await using client = new RegistryClient({ clock, random: Math.random, settings: {}, certificates: [] });
  await using store = await ImageStore.open({ folder: imagesFolder, clock, random: Math.random, client });
  return await store.withImported(async ({ names, paths }) => {
    if (names.length === 0) return undefined;
    const list = paths.map((path) => `${path}\0`).join("");
    await tar(["--create", `--file=${file}`, `--directory=${imagesFolder}`, ...attributes, "--null", "--files-from=-"], list, signal);
    return names;
  }, signal);
}

export async function unpackImages(file: string, imagesFolder: string, signal: AbortSignal): Promise<void> {
  if (process.getuid?.() !== 0) throw new CliError("there are images in it, and restoring images needs root");
  await mkdir(imagesFolder, { mode: 0o700 });
  const args = ["--extract", `--file=${file}`, `--directory=${imagesFolder}`, ...attributes, "--preserve-permissions"];
  await tar(args, "", signal);
}

async function tar(args: readonly string[], input: string, signal: AbortSignal): Promise<void> {
  const child = spawn("tar", args, { stdio: ["pipe", "ignore", "pipe"], signal });
  const said = text(child.stderr);
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  // A tar that ends early is told by its exit code.
  child.stdin.on("error", () => {});
  child.stdin.end(input);
  const code = await ended;
  if (code !== 0) throw new CliError(`tar failed on the images: ${(await said).trim()}`);
}
