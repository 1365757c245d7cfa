/**
 * Image references as people write them. Short names mean what they mean to Docker: `alpine` is
 * `docker.io/library/alpine:latest`. With a digest present the tag is a comment: it names nothing and is not looked up.
 *
 * `host` is not an image in a registry but the machine itself. A repository of that name in the default registry must be written in
 * full.
 */
import { type Digest, isDigest } from "./digest.ts";
import { ImageError } from "./image-error.ts";

interface Version {
  readonly tag?: string;
  readonly digest?: Digest;
}

/** The pseudo image: the machine's own /usr. Tag and digest are allowed, so that it can be written like any other image. */
export interface HostReference extends Version {
  readonly kind: "host";
}

export interface RegistryReference extends Version {
  readonly kind: "registry";
  /** Host and port, such as `docker.io` or `localhost:5000`. */
  readonly registry: string;
  /** Path inside the registry, such as `library/alpine`. */
  readonly repository: string;
}

export type ImageReference = HostReference | RegistryReference;

export const defaultRegistry = "docker.io";
const defaultNamespace = "library";
const hostName = "host";

const tagPattern = /^\w[\w.-]{0,127}$/;
const pathComponent = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*$/;
const domainName = /^(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])(?:\.(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9]))*$/;
const ipv6Address = /^\[[0-9a-fA-F:]+\]$/;
const maxNameLength = 255;

export function parseReference(text: string): ImageReference {
  const { name, tag, digest } = splitReference(text);
  const version: Version = { ...(tag === undefined ? {} : { tag }), ...(digest === undefined ? {} : { digest }) };
  if (name === hostName) return { kind: "host", ...version };
  const located = locate(text, name);
  // Neither tag nor digest means the tag `latest`, to Docker and to the kubelet alike.
  return { kind: "registry", ...located, ...(tag === undefined && digest === undefined ? { tag: "latest" } : version) };
}

/** The full form, which parses to the same reference. */
export function formatReference(reference: ImageReference): string {
  const tag = reference.tag === undefined ? "" : `:${reference.tag}`;
  const digest = reference.digest === undefined ? "" : `@${reference.digest}`;
  return `${repositoryName(reference)}${tag}${digest}`;
}

/** The reference without tag and digest: what access is granted to. */
export function repositoryName(reference: ImageReference): string {
  return reference.kind === "host" ? hostName : `${reference.registry}/${reference.repository}`;
}

/**
 * The name under which an image is kept: repository with digest if there is one, else with tag. References that differ
 * only in a tag beside the digest are the same image.
 */
export function canonicalName(reference: ImageReference): string {
  if (reference.digest !== undefined) return `${repositoryName(reference)}@${reference.digest}`;
  return formatReference(reference);
}

/** The short form for people: the default registry and namespace left out. Parses to the same reference. */
export function familiarName(reference: ImageReference): string {
  const full = formatReference(reference);
  const official = `${defaultRegistry}/${defaultNamespace}/`;
  // docker.io/library/host must not turn into the pseudo image.
  if (reference.kind === "registry" && reference.repository === `${defaultNamespace}/${hostName}`) return full;
  if (full.startsWith(official)) return full.slice(official.length);
  const rest = full.slice(defaultRegistry.length + 1);
  return full.startsWith(`${defaultRegistry}/`) && !looksLikeRegistry(rest.split("/")[0] ?? "") ? rest : full;
}

function splitReference(text: string): { name: string; tag: string | undefined; digest: Digest | undefined } {
  if (text === "") throw invalid(text, "it is empty");
  if (/^[a-z]+:\/\//.test(text)) throw invalid(text, "it is written as a URL; leave out everything up to //");
  const at = text.indexOf("@");
  const digest = at === -1 ? undefined : text.slice(at + 1);
  if (digest !== undefined && !isDigest(digest)) {
    throw invalid(text, `its digest ${JSON.stringify(digest)} is not sha256: and 64 hexadecimal digits in lower case`);
  }
  const nameAndTag = at === -1 ? text : text.slice(0, at);
  // A colon before the last slash belongs to the registry's port.
  const colon = nameAndTag.indexOf(":", nameAndTag.lastIndexOf("/") + 1);
  const tag = colon === -1 ? undefined : nameAndTag.slice(colon + 1);
  if (tag !== undefined && !tagPattern.test(tag)) {
    throw invalid(
      text,
      `its tag ${JSON.stringify(tag)} must be 1 to 128 letters, digits, dots, dashes or underscores, not beginning with dot or dash`,
    );
  }
  return { name: colon === -1 ? nameAndTag : nameAndTag.slice(0, colon), tag, digest };
}

function locate(text: string, name: string): { registry: string; repository: string } {
  if (name === "") throw invalid(text, "it has no name");
  if (/^[0-9a-f]{64}$/.test(name)) throw invalid(text, "64 hexadecimal digits are an image's id, not its name");
  const slash = name.indexOf("/");
  const first = slash === -1 ? "" : name.slice(0, slash);
  if (!looksLikeRegistry(first)) return { registry: defaultRegistry, repository: checkPath(text, inNamespace(name)) };
  checkRegistry(text, first);
  const path = name.slice(slash + 1);
  // Docker's own older name for its registry.
  const registry = first === `index.${defaultRegistry}` ? defaultRegistry : first;
  return { registry, repository: checkPath(text, registry === defaultRegistry ? inNamespace(path) : path) };
}

/** What tells a registry from the first part of a path: paths have no colons and capitals, and people put no dots there. */
function looksLikeRegistry(first: string): boolean {
  return first === "localhost" || /[.:[]/.test(first) || first !== first.toLowerCase();
}

function inNamespace(path: string): string {
  return path.includes("/") ? path : `${defaultNamespace}/${path}`;
}

function checkRegistry(text: string, registry: string): void {
  const [, host = "", port] = /^(.*?)(?::([0-9]*))?$/.exec(registry.replace(/^\[[^\]]*\]/, "x")) ?? [];
  const bracketed = /^\[[^\]]*\]/.exec(registry)?.[0];
  const valid = bracketed === undefined ? domainName.test(host) : ipv6Address.test(bracketed) && host === "x";
  if (!valid) throw invalid(text, `its registry ${JSON.stringify(registry)} is not a host name, optionally with a port`);
  if (port !== undefined && (port === "" || Number(port) > 65_535))
    throw invalid(text, `its registry's port ${JSON.stringify(port)} is not a port`);
}

function checkPath(text: string, path: string): string {
  for (const component of path.split("/")) {
    if (component === "") throw invalid(text, "it has an empty part between slashes");
    if (component !== component.toLowerCase())
      throw invalid(text, `the part ${JSON.stringify(component)} of its name must be in lower case`);
    if (!pathComponent.test(component)) {
      throw invalid(
        text,
        `the part ${JSON.stringify(component)} of its name may hold lower-case letters and digits, with single dots, one or two underscores, or dashes between them`,
      );
    }
  }
  if (path.length > maxNameLength) throw invalid(text, `its name is longer than ${maxNameLength} characters`);
  return path;
}

function invalid(text: string, why: string): ImageError {
  return new ImageError("invalid_reference", `${JSON.stringify(text)} is not an image reference: ${why}`);
}
