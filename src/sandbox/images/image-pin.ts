/**
 * How images are written into pods: `name:<tag>-u<use>@sha256:<digest>`. The digest decides what runs; beside it the tag is not
 * looked up. The use makes the text a new one whenever a container is exchanged: kubelets back off from a container spec that they
 * have seen before in the pod, and would not restart a container whose image did not change.
 */
const digestAtEnd = /sha256:[0-9a-f]{64}$/;
const useSuffix = /^(?:(?<base>.*)-)?u\d+$/;
const maxTagLength = 128;

interface Parts {
  readonly name: string;
  readonly tag: string | undefined;
  readonly digest: string | undefined;
}

/**
 * The image at this digest, written for the pod's nth use. What is pinned already is pinned anew. Without a use it is the digest alone,
 * for runtimes that take no tag beside it (image-form.ts).
 */
export function pinImage(image: string, digest: string, use: number | undefined): string {
  if (!/^sha256:[0-9a-f]{64}$/.test(digest)) throw new Error(`"${digest}" of image ${image} is not sha256: and 64 hexadecimal digits`);
  const { name } = split(image);
  if (use === undefined) return `${name}@${digest}`;
  const base = baseTag(image);
  const suffix = `u${use}`;
  const tag = base === undefined ? suffix : `${base.slice(0, maxTagLength - suffix.length - 1)}-${suffix}`;
  return `${name}:${tag}@${digest}`;
}

/** The digest at the end of an image reference or of a status's imageID, whose beginnings differ between runtimes. */
export function digestIn(text: string | undefined): string | undefined {
  return text === undefined ? undefined : digestAtEnd.exec(text)?.[0];
}

export function isDigestAlone(image: string): boolean {
  const { tag, digest } = split(image);
  return tag === undefined && digest !== undefined;
}

/** The image as its user knows it, with the digest that ran and without our counter. */
export function readableImage(pinned: string): string {
  const { name, digest } = split(pinned);
  const base = baseTag(pinned);
  return `${name}${base === undefined ? "" : `:${base}`}${digest === undefined ? "" : `@${digest}`}`;
}

/** The tag without a counter of ours. A reference without tag and digest means `latest`, one with a digest alone has no tag. */
function baseTag(image: string): string | undefined {
  const { tag, digest } = split(image);
  if (digest === undefined) return tag ?? "latest";
  const counted = useSuffix.exec(tag ?? "");
  return counted === null ? tag : counted.groups?.["base"];
}

function split(image: string): Parts {
  const at = image.indexOf("@");
  const nameAndTag = at === -1 ? image : image.slice(0, at);
  // A colon before the last slash belongs to the registry's port.
  const colon = nameAndTag.indexOf(":", nameAndTag.lastIndexOf("/") + 1);
  return {
    name: colon === -1 ? nameAndTag : nameAndTag.slice(0, colon),
    tag: colon === -1 ? undefined : nameAndTag.slice(colon + 1),
    digest: at === -1 ? undefined : image.slice(at + 1),
  };
}
