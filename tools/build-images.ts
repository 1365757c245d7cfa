/**
 * `make images`: builds the container images of AgentBox and pushes them (docs/container-images.md).
 *
 * - images/arguments.ts: what was asked for; src/images/build/image-labels.ts: what all images say of themselves
 * - images/control-plane-image.ts, daemon-image.ts, src/ready-templates: what is in them
 * - images/runtime-layer.ts, production-packages.ts, install.ts: where that comes from
 */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { daemonFolder } from "#engines/embedded/node/daemon/daemon-folder.ts";
import { buildImage, type BuiltImage, imageBytes, type ImageSpec } from "#images/build/build-image.ts";
import { LayoutFolder } from "#images/build/layout-folder.ts";
import { pushImage, type PushProgress } from "#images/build/push-image.ts";
import { isImageError } from "#images/image-error.ts";
import { formatReference, parseReference, type RegistryReference } from "#images/reference.ts";
import { RegistryClient } from "#images/registry/client.ts";
import { readRegistryFile } from "#images/registry/settings-file.ts";
import { systemClock } from "#lib/clock.ts";
import { buildFolders, type BuildStep } from "#ready-templates/build-folders.ts";
import { debianImage } from "#ready-templates/debian-image.ts";
import { debianRoot } from "#ready-templates/debian-root.ts";
import { recipes } from "#ready-templates/recipes.ts";
import { type ImageArguments, type ImageName, readArguments, repositoryOf, templateOf } from "./images/arguments.ts";
import { controlPlaneImage } from "./images/control-plane-image.ts";
import { daemonImage } from "./images/daemon-image.ts";

const repository = join(import.meta.dirname, "..");
const say = (text: string): void => void process.stderr.write(`${text}\n`);

async function main(): Promise<void> {
  const { version } = JSON.parse(await readFile(join(repository, "package.json"), "utf8")) as { version: string };
  const wanted = await readArguments(process.argv.slice(2), process.env, version);
  // Before minutes of building, not after.
  const references = wanted.images.map((name) => referenceOf(name, wanted));
  const layout = await LayoutFolder.open(wanted.layout);
  const scratch = await mkdtemp(join(tmpdir(), "agentbox-daemon-"));
  try {
    const folder = wanted.images.every((name) => name !== "agentbox" && name !== "daemon")
      ? scratch
      : await daemonFolder({ parent: scratch });
    for (const [index, name] of wanted.images.entries()) {
      const began = performance.now();
      const image = await buildImage(layout, await specOf(name, folder, wanted, version));
      await layout.name(`${repositoryOf(name)}:${wanted.tag}`, image.manifest);
      say(`${name}: ${image.layers.length} layers, ${megabytes(imageBytes(image))}, built in ${secondsSince(began)}`);
      await deliver(image, { layout, reference: references[index], wanted });
    }
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** `folder` is the daemon's. */
async function specOf(name: ImageName, folder: string, { cache, basePackages }: ImageArguments, version: string): Promise<ImageSpec> {
  if (name === "agentbox") return controlPlaneImage({ daemon: folder, repository }, version);
  if (name === "daemon") return daemonImage(folder, version);
  const parent = join(cache, "debian");
  const template = templateOf(name);
  if (template === undefined) {
    const root = await debianRoot({ parent, more: basePackages, say: (text) => say(`base: ${text}`) });
    return debianImage([root], { title: "AgentBox base", version });
  }
  const { signal } = new AbortController();
  const folders = await buildFolders(template, { parent, env: process.env, isFresh: false, onStep: stepTeller(), signal });
  return debianImage(folders, { title: `AgentBox template ${template}`, version, env: recipes[template].env });
}

/** A line for each thing that is done. */
function stepTeller(): (step: BuildStep) => void {
  let told = "";
  return ({ doing }) => {
    if (doing !== told) say(`  ${doing}`);
    told = doing;
  };
}

function referenceOf(name: ImageName, { registry, tag }: ImageArguments): RegistryReference | undefined {
  if (registry === undefined) return undefined;
  const reference = parseReference(`${registry}/${repositoryOf(name)}:${tag}`);
  if (reference.kind === "host") throw new Error(`${registry} is not a registry`);
  return reference;
}

interface Delivery {
  readonly layout: LayoutFolder;
  readonly reference: RegistryReference | undefined;
  readonly wanted: ImageArguments;
}

/** Pushes the image, if it is to be pushed, and prints the line that scripts read: its name, digest and size. */
async function deliver(image: BuiltImage, { layout, reference, wanted }: Delivery): Promise<void> {
  const { digest } = image.manifest;
  const size = megabytes(imageBytes(image));
  if (reference === undefined) {
    console.log(`${wanted.layout} ${digest} ${size}`);
    return;
  }
  const began = performance.now();
  const { settings, certificates } = await readRegistryFile(wanted.registries ?? join(wanted.cache, "registries.json"));
  // The registry on the command line is meant, wherever it is.
  const reachable = { ...settings, private: [...(settings.private ?? []), reference.registry] };
  await using client = new RegistryClient({ clock: systemClock, random: Math.random, settings: reachable, certificates });
  const secrets = wanted.credentials === undefined ? [] : [await readFile(wanted.credentials, "utf8")];
  const outcome = await pushImage({ client, layout }, image, reference, { secrets, onProgress: teller() });
  say(outcome === "present" ? "  the registry has it already" : `  pushed in ${secondsSince(began)}`);
  console.log(`${formatReference({ ...reference, digest })} ${size}`);
}

/** A line for every quarter of what takes long. */
function teller(): (progress: PushProgress) => void {
  const told = new Map<string, number>();
  return ({ blob, state, bytes }) => {
    const quarter = state === "sending" ? Math.floor((4 * bytes) / blob.size) : 5;
    if (blob.size < 1_000_000 || told.get(blob.digest) === quarter || (quarter === 4 && state === "sending")) return;
    told.set(blob.digest, quarter);
    const what = `  ${blob.digest.slice(0, 19)} ${megabytes(blob.size)}`;
    say(state === "sending" ? `${what}: ${quarter * 25} %` : `${what}: ${state === "done" ? "sent" : "is there"}`);
  };
}

function megabytes(bytes: number): string {
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

function secondsSince(began: number): string {
  return `${((performance.now() - began) / 1000).toFixed(1)} s`;
}

try {
  await main();
} catch (error) {
  const detail = isImageError(error) && error.detail !== undefined ? ` (${error.detail})` : "";
  say(error instanceof Error ? `make images: ${error.message}${detail}` : String(error));
  process.exitCode = 1;
}
