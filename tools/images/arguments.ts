/** What `make images` was told, and what it takes when it was not told. */
import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Type } from "typebox";
import { parseJsonAs } from "#images/json-shape.ts";
import { type ReadyTemplateName, readyTemplateNames } from "#model/ready-templates.ts";

const usualImages = ["agentbox", "daemon", "base"] as const;
export type ImageName = (typeof usualImages)[number] | `template-${ReadyTemplateName}`;

const imageNames: readonly ImageName[] = [...usualImages, ...readyTemplateNames.map((name) => `template-${name}` as const)];

/** Name in the registry. */
export function repositoryOf(image: ImageName): string {
  return image === "agentbox" ? image : `agentbox-${image}`;
}

/** The template that an image is for; undefined: it is one of the usual images. */
export function templateOf(image: ImageName): ReadyTemplateName | undefined {
  return readyTemplateNames.find((name) => image === `template-${name}`);
}

export interface ImageArguments {
  readonly images: readonly ImageName[];
  /** Where to push to; undefined: nowhere, because a folder was asked for. */
  readonly registry: string | undefined;
  readonly tag: string;
  /** The layout that is written. */
  readonly layout: string;
  readonly cache: string;
  readonly credentials: string | undefined;
  readonly registries: string | undefined;
  readonly basePackages: readonly string[];
}

const clusterSchema = Type.Object({ registry: Type.String({ minLength: 1 }) });

export async function readArguments(args: readonly string[], env: NodeJS.ProcessEnv, version: string): Promise<ImageArguments> {
  const text = { type: "string" } as const;
  const options = { registry: text, tag: text, images: text, output: text, credentials: text, registries: text, "base-packages": text };
  const { values } = parseArgs({ args: [...args], options });
  const cache = env["AGENTBOX_CACHE"] ?? join(env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "agentbox");
  // With an output folder and without a registry nothing is pushed.
  const registry = values.registry ?? (values.output === undefined ? await registryOfCluster(cache) : undefined);
  if (registry === undefined && values.output === undefined) {
    throw new Error(
      "there is no registry to push to: give one with `make images REGISTRY=localhost:5000`, start a cluster, which brings its own, with `make cluster`, or write the images to a folder with `make images OUTPUT=FOLDER`",
    );
  }
  return {
    images: parseImages(values.images),
    registry: registry?.replace(/\/+$/, ""),
    tag: values.tag ?? version,
    layout: values.output ?? join(cache, "images"),
    cache,
    credentials: values.credentials,
    registries: values.registries,
    basePackages: values["base-packages"]?.split(/[\s,]+/).filter((name) => name !== "") ?? [],
  };
}

function parseImages(text: string | undefined): ImageName[] {
  if (text === undefined) return [...usualImages];
  const named = text.split(/[\s,]+/).filter((name) => name !== "");
  const unknown = named.filter((name) => !imageNames.some((known) => known === name));
  if (unknown.length > 0 || named.length === 0) {
    throw new Error(`IMAGES=${text}: there is no image ${unknown.join(", ") || "in it"}; the images are ${imageNames.join(", ")}`);
  }
  return imageNames.filter((name) => named.includes(name));
}

async function registryOfCluster(cache: string): Promise<string | undefined> {
  const path = join(cache, "cluster/cluster.json");
  const text = await readFile(path, "utf8").catch(() => undefined);
  return text === undefined ? undefined : parseJsonAs(clusterSchema, text, path).registry;
}
