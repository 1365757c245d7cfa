/** Files of a running sandbox. */
import type { HttpCaller } from "./http-caller.ts";
import type { FileEntry } from "./generated/api-types.generated.ts";

export type { FileEntry };

/** All throw ClientError. */
export class FilesClient {
  readonly #http: HttpCaller;

  constructor(http: HttpCaller) {
    this.#http = http;
  }

  async list(sandboxId: string, path: string, signal?: AbortSignal): Promise<readonly FileEntry[]> {
    const request = { method: "GET", path: placeOf(sandboxId), query: { path }, signal } as const;
    return (await this.#http.json<{ readonly entries: readonly FileEntry[] }>(request)).entries;
  }

  async read(sandboxId: string, path: string, signal?: AbortSignal): Promise<Blob> {
    return await (await this.#http.answer({ method: "GET", path: placeOf(sandboxId, "/content"), query: { path }, signal })).blob();
  }

  async write(sandboxId: string, path: string, bytes: Blob | Uint8Array<ArrayBuffer>, signal?: AbortSignal): Promise<void> {
    await this.#http.json({ method: "PUT", path: placeOf(sandboxId, "/content"), query: { path }, bytes, signal });
  }

  async remove(sandboxId: string, path: string, signal?: AbortSignal): Promise<void> {
    await this.#http.json({ method: "DELETE", path: placeOf(sandboxId), query: { path }, signal });
  }

  async makeFolder(sandboxId: string, path: string, signal?: AbortSignal): Promise<void> {
    await this.#http.json({ method: "POST", path: placeOf(sandboxId, "/folder"), query: { path }, signal });
  }

  async move(sandboxId: string, path: string, to: string, signal?: AbortSignal): Promise<void> {
    await this.#http.json({ method: "POST", path: placeOf(sandboxId, "/move"), query: { path }, body: { to }, signal });
  }
}

function placeOf(sandboxId: string, part = ""): string {
  return `/v1/sandboxes/${encodeURIComponent(sandboxId)}/files${part}`;
}
