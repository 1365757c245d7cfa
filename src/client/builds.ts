/** Template builds. */
import { unreachable } from "./http-caller.ts";
import type { HttpCaller } from "./http-caller.ts";
import { errorFromAnswer } from "./client-error.ts";
import type { RequestBuild as BuildWish, StartBuild as BuildStart, Build, BuildLogEntry } from "./generated/api-types.generated.ts";

export type { BuildWish, BuildStart, Build, BuildLogEntry };

export interface BuildFiles {
  /** 64 lower-case hexadecimal digits. */
  readonly hash: string;
  readonly archive: () => Promise<Blob>;
}

interface OneBuild {
  readonly build: Build;
}

/** All throw ClientError. */
export class BuildsClient {
  readonly #http: HttpCaller;

  constructor(http: HttpCaller) {
    this.#http = http;
  }

  async request(wish: BuildWish, signal?: AbortSignal): Promise<Build> {
    return (await this.#http.json<OneBuild>({ method: "POST", path: "/v1/builds", body: wish, signal })).build;
  }

  /** Sends an archive, unless it is there already; it is made only then. */
  async sendFiles(buildId: string, files: BuildFiles, signal: AbortSignal): Promise<boolean> {
    const path = `${pathOf(buildId)}/files/${files.hash}`;
    const { present, url } = await this.#http.json<{ readonly present: boolean; readonly url: string }>({ method: "GET", path, signal });
    if (present) return false;
    const response = await fetch(url, { method: "PUT", body: await files.archive(), signal, redirect: "error" }).catch((error: unknown) => {
      throw signal.aborted ? error : unreachable(new URL(url).origin, error);
    });
    if (!response.ok) throw errorFromAnswer(response.status, await response.text(), undefined);
    return true;
  }

  async start(buildId: string, start: BuildStart, signal?: AbortSignal): Promise<Build> {
    return (await this.#http.json<OneBuild>({ method: "POST", path: `${pathOf(buildId)}/start`, body: start, signal })).build;
  }

  async get(buildId: string, signal?: AbortSignal): Promise<Build> {
    return (await this.#http.json<OneBuild>({ method: "GET", path: pathOf(buildId), signal })).build;
  }

  /** Newest first. */
  async list(signal?: AbortSignal): Promise<readonly Build[]> {
    return (await this.#http.json<{ readonly builds: readonly Build[] }>({ method: "GET", path: "/v1/builds", signal })).builds;
  }

  async logs(buildId: string, offset: number, signal?: AbortSignal): Promise<readonly BuildLogEntry[]> {
    const path = `${pathOf(buildId)}/logs`;
    return (await this.#http.json<{ readonly entries: readonly BuildLogEntry[] }>({ method: "GET", path, query: { offset }, signal }))
      .entries;
  }

  async cancel(buildId: string, signal?: AbortSignal): Promise<void> {
    await this.#http.json({ method: "DELETE", path: pathOf(buildId), signal });
  }
}

function pathOf(buildId: string): string {
  return `/v1/builds/${encodeURIComponent(buildId)}`;
}
