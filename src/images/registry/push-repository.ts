/** One repository of a registry, for uploads. */
import { type Digest, digestOf, isDigest } from "../digest.ts";
import { ImageError } from "../image-error.ts";
import { acceptedManifests, type Descriptor, mediaTypes } from "../manifest.ts";
import { type RegistryReference, repositoryName } from "../reference.ts";
import type { RequestBody } from "./request-body.ts";
import type { Source, Sources } from "./sources.ts";
import { type Answer, followLocation, headerOf } from "./transport.ts";

export class PushRepository {
  readonly #reference: RegistryReference;
  readonly #sources: Sources;

  constructor(reference: RegistryReference, sources: Sources) {
    this.#reference = reference;
    this.#sources = sources;
  }

  /** The digest that a tag has at this moment; undefined if there is no such tag, or the registry does not say. */
  digestOfTag(tag: string, signal?: AbortSignal): Promise<Digest | undefined> {
    const ask = {
      method: "HEAD" as const,
      path: `manifests/${tag}`,
      headers: { accept: acceptedManifests.join(", ") },
      what: `the manifest of ${repositoryName(this.#reference)}:${tag}`,
      accept: [200, 404],
    };
    return this.#sources.fromAny(signal, async (source) => {
      const answer = await this.#sources.ask(source, ask, signal);
      answer.drop();
      const digest = answer.status === 200 ? headerOf(answer, "docker-content-digest") : undefined;
      return digest !== undefined && isDigest(digest) ? digest : undefined;
    });
  }

  /**
   * Puts a blob there unless it is there, in one piece: that every registry understands. When the connection breaks it is
   * sent again from its beginning. Says whether it had to be sent.
   */
  putBlob(blob: Descriptor, open: RequestBody["open"], signal?: AbortSignal): Promise<"sent" | "present"> {
    return this.#sources.fromAny(signal, async (source) => {
      // Also after a break: the registry may have got all of it, and only its answer was lost.
      if (await this.#hasBlob(source, blob, signal)) return "present";
      await this.#upload(source, blob, { bytes: blob.size, open }, signal);
      return "sent";
    });
  }

  /**
   * Takes over a blob from another repository of the same registry, without sending it. False where the registry has it not there, or does not do that: then it
   * has to be sent.
   */
  async mountBlob({ digest }: Descriptor, from: string, signal?: AbortSignal): Promise<boolean> {
    const what = `the blob ${digest} of ${from}, to be taken over`;
    const ask = {
      method: "POST" as const,
      path: `blobs/uploads/?${new URLSearchParams({ mount: digest, from }).toString()}`,
      headers: { "content-length": "0" },
      what,
      // 202: an upload has begun instead, which the registry forgets when nothing comes.
      accept: [201, 202],
    };
    const answer = await this.#sources.fromAny(signal, (source) => this.#sources.ask(source, ask, signal));
    answer.drop();
    return answer.status === 201;
  }

  /** Removes an image that a tag names. False where the registry does not remove images at all; one that is not there is a success. */
  async removeTagged(tag: string, signal?: AbortSignal): Promise<boolean> {
    const digest = await this.digestOfTag(tag, signal);
    if (digest === undefined) return true;
    const what = `the removal of ${repositoryName(this.#reference)}@${digest}`;
    // By its digest: registries that remove by tag alone are few, and all of them know this form.
    const ask = { method: "DELETE" as const, path: `manifests/${digest}`, what, accept: [200, 202, 404, 405] };
    const answer = await this.#sources.fromAny(signal, (source) => this.#sources.ask(source, ask, signal));
    answer.drop();
    return answer.status !== 405;
  }

  /** Uploads a manifest and gives it its tag. Its blobs must be there already. */
  async putManifest(tag: string, manifest: Buffer, signal?: AbortSignal): Promise<void> {
    const what = `the new manifest of ${repositoryName(this.#reference)}:${tag}`;
    const body: RequestBody = { bytes: manifest.length, open: () => once(manifest) };
    const headers = { "content-type": mediaTypes.manifest };
    const answer = await this.#sources.fromAny(signal, (source) =>
      this.#sources.ask(source, { method: "PUT", path: `manifests/${tag}`, headers, body, what, accept: [201, 202] }, signal),
    );
    answer.drop();
    const [wanted, taken] = [digestOf(manifest), headerOf(answer, "docker-content-digest")];
    if (taken !== undefined && taken !== wanted) {
      throw new ImageError("digest_mismatch", `${what} was sent as ${wanted} and taken as ${JSON.stringify(taken)}`);
    }
  }

  async #hasBlob(source: Source, { digest, size }: Descriptor, signal: AbortSignal | undefined): Promise<boolean> {
    const what = `the blob ${digest} of ${repositoryName(this.#reference)}`;
    const answer = await this.#sources.ask(source, { method: "HEAD", path: `blobs/${digest}`, what, accept: [200, 404] }, signal);
    answer.drop();
    const length = headerOf(answer, "content-length");
    // A registry with a damaged disk may have only a part of it.
    return answer.status === 200 && (length === undefined || Number(length) === size);
  }

  async #upload(source: Source, { digest }: Descriptor, body: RequestBody, signal: AbortSignal | undefined): Promise<void> {
    const what = `the upload of ${digest} to ${repositoryName(this.#reference)}`;
    const begin = { method: "POST" as const, path: "blobs/uploads/", headers: { "content-length": "0" }, what, accept: [202] };
    const begun = await this.#sources.ask(source, begin, signal);
    begun.drop();
    const path = this.#uploadUrl(source, begun, what);
    path.searchParams.set("digest", digest);
    const headers = { "content-type": "application/octet-stream" };
    const answer = await this.#sources.ask(source, { method: "PUT", path, headers, body, what, accept: [201, 204] }, signal);
    answer.drop();
  }

  #uploadUrl({ endpoint }: Source, begun: Answer, what: string): URL {
    const location = headerOf(begun, "location");
    if (location === undefined) throw new ImageError("registry_protocol", `${what}: the registry does not say where to send it`);
    return followLocation(what, new URL(`${endpoint.url}/v2/${this.#reference.repository}/blobs/uploads/`), location);
  }
}

async function* once(content: Buffer): AsyncGenerator<Buffer, void> {
  await Promise.resolve();
  yield content;
}
