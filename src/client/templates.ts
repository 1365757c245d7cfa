import type { SandboxTemplate } from "#model/sandbox-template.ts";
import { everyPage } from "./every-page.ts";
import type { HttpCaller } from "./http-caller.ts";
import type { TemplateDocs } from "./generated/api-types.generated.ts";

export type { TemplateDocs };

/** All throw ClientError. */
export class TemplatesClient {
  readonly #http: HttpCaller;

  constructor(http: HttpCaller) {
    this.#http = http;
  }

  /** All templates visible to the caller, sorted by name. */
  async list(signal?: AbortSignal): Promise<readonly SandboxTemplate[]> {
    return await everyPage(this.#http, { path: "/v1/templates", items: "templates", signal });
  }

  async get(name: string, signal?: AbortSignal): Promise<SandboxTemplate> {
    return await this.#http.json({ method: "GET", path: `/v1/templates/${encodeURIComponent(name)}`, signal });
  }

  /** The author's documentation for users; empty if there is none. */
  async docs(name: string, signal?: AbortSignal): Promise<TemplateDocs> {
    return await this.#http.json({ method: "GET", path: `/v1/templates/${encodeURIComponent(name)}/docs`, signal });
  }
}
