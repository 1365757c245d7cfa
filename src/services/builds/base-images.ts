/**
 * What names of base images mean on this server. A name such as `e2bdev/base` or `python:3` can be mapped to an image that the server has: in the ConfigMap
 * `agentbox-base-images` of the system namespace, key `images`, one `name = image` in a line. A name without a tag stands for all of its tags.
 */
import type { Informer } from "#kube/informer/informer.ts";
import type { ConfigMap } from "#model/core-kinds.ts";

export const baseImagesName = "agentbox-base-images";
const key = "images";

export type ImageMap = ReadonlyMap<string, string>;

/** Lines that say nothing are left out: an admin sees by the error of a build that a name is not mapped. */
export function readImageMap({ data = {} }: Pick<ConfigMap, "data">): ImageMap {
  const lines = (data[key] ?? "").split("\n").map((line) => line.replace(/#.*/, ""));
  return new Map(lines.flatMap((line) => pairIn(line)));
}

function pairIn(line: string): readonly (readonly [string, string])[] {
  const [, name, image] = /^\s*(\S+)\s*(?:=|\s)\s*(\S+)\s*$/.exec(line) ?? [];
  return name === undefined || image === undefined ? [] : [[plainName(name), image]];
}

/** As people write it: `docker.io/library/python:3` is `python:3`. */
function plainName(name: string): string {
  return name.replace(/^(?:index\.)?docker\.io\//, "").replace(/^library\//, "");
}

/** The image itself where it is not mapped. */
export function mappedImage(map: ImageMap, image: string): string {
  const name = plainName(image);
  const exact = map.get(name) ?? map.get(name.replace(/:latest$/, ""));
  if (exact !== undefined) return exact;
  const bare = /^([^@]*?)(?::[^:/@]+)?(?:@.*)?$/.exec(name)?.[1] ?? name;
  return map.get(bare) ?? image;
}

export interface BaseImages {
  /** What is used for it. */
  imageFor(name: string): string;
  /** For an image that cannot be had. */
  readonly hint: string;
}

/** `usual`: what is mapped on a server without the ConfigMap. */
export function baseImages(
  { configMaps, namespace }: { readonly configMaps: Pick<Informer<ConfigMap>, "get">; readonly namespace: string },
  usual: ImageMap,
): BaseImages {
  const map = (): ImageMap => {
    const set = configMaps.get({ namespace, name: baseImagesName });
    return set === undefined ? usual : readImageMap(set);
  };
  return {
    imageFor: (name) => mappedImage(map(), name),
    hint:
      `An image must be in reach: in a registry, or imported with \`agentbox image import\`. An admin can map names to images that are there in the ConfigMap ` +
      `${namespace}/${baseImagesName} (key ${key}, lines such as \`python:3 = host\`)`,
  };
}
