import { parseReference } from "#images/reference.ts";
import { digestIn } from "#sandbox/images/image-pin.ts";

/** The digest behind a tag of the cluster's registry. */
export async function digestOfTag(image: string): Promise<string> {
  const known = digestIn(image);
  if (known !== undefined) return known;
  const reference = parseReference(image);
  if (reference.kind === "host") throw new Error("host is no image of a registry");
  const accept = "application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json";
  const url = `http://${reference.registry}/v2/${reference.repository}/manifests/${reference.tag ?? "latest"}`;
  const answer = await fetch(url, { method: "HEAD", headers: { accept } });
  const digest = answer.headers.get("docker-content-digest");
  if (digest === null) throw new Error(`${image} is not in the cluster's registry (HTTP ${answer.status}); 'make images' brings our own`);
  return digest;
}
