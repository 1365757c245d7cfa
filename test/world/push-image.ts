/** Puts a test's image into a registry that speaks plain HTTP, as any client would. */
import type { Digest } from "#images/digest.ts";
import { mediaTypes } from "#images/manifest.ts";
import type { ImageFixture } from "./image-fixture.ts";

type Headers = Readonly<Record<string, string>>;

/** `name` is the repository and the tag: `team/app:1`. Gives the reference that pods may use, digest included. */
export async function pushImage(host: string, name: string, image: ImageFixture, headers: Headers = {}): Promise<string> {
  const [repository = "", tag = ""] = name.split(":", 2);
  const blobs = [{ digest: image.id, blob: image.config }, ...image.layers];
  for (const { digest, blob } of blobs) await pushBlob(`http://${host}/v2/${repository}`, digest, blob, headers);
  const url = `http://${host}/v2/${repository}/manifests/${tag}`;
  await send("PUT", url, { ...headers, "content-type": mediaTypes.manifest }, image.manifest);
  return `${host}/${name}@${image.digest}`;
}

async function pushBlob(repository: string, digest: Digest, blob: Buffer, headers: Headers): Promise<void> {
  const begun = await send("POST", `${repository}/blobs/uploads/`, headers);
  const location = new URL(begun.headers.get("location") ?? "", repository);
  location.searchParams.set("digest", digest);
  // The registry may call itself by another name than the one we reach it by.
  const url = new URL(`${location.pathname}${location.search}`, repository);
  await send("PUT", url.href, { ...headers, "content-type": "application/octet-stream" }, blob);
}

async function send(method: string, url: string, headers: Headers, body?: Buffer): Promise<Response> {
  const answer = await fetch(url, { method, headers, ...(body === undefined ? {} : { body: new Uint8Array(body) }) });
  if (!answer.ok) throw new Error(`${method} ${url}: ${answer.status} ${await answer.text()}`);
  return answer;
}
