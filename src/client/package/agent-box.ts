import { randomUUID } from "node:crypto";
import { Api } from "../generated/api.generated.ts";
import type { CreateSandbox, Sandbox } from "../generated/api-types.generated.ts";
import type { QueryOf } from "../answers.ts";
import { HttpCaller } from "../http-caller.ts";
import type { Change } from "./change.ts";
import { runCommand } from "./run-command.ts";
import { type SandboxConnection, SandboxHandle } from "./sandbox-handle.ts";
import { watchChanges } from "./watch.ts";

export interface AgentBoxOptions {
  /** Such as http://127.0.0.1:8099; AGENTBOX_API_URL of the environment when left out. */
  readonly url?: string;
  /** AGENTBOX_API_KEY of the environment when left out. */
  readonly apiKey?: string;
  readonly fetch?: typeof fetch;
}

export type CreateOptions = Omit<CreateSandbox, "poolName"> & { readonly signal?: AbortSignal };
export type ManyOptions = CreateOptions & { readonly atLeast?: number };

/** `api` has every operation of the server; the methods are for what is done most. All throw ClientError. */
export class AgentBox {
  readonly api: Api;
  readonly #http: HttpCaller;
  readonly #connection: SandboxConnection;

  constructor({ url = process.env["AGENTBOX_API_URL"], apiKey = process.env["AGENTBOX_API_KEY"], ...others }: AgentBoxOptions = {}) {
    if (!url) throw new TypeError("the address of the server is missing: give url, or set AGENTBOX_API_URL, such as http://127.0.0.1:8099");
    if (!/^https?:\/\//.test(url)) throw new TypeError(`url: '${url}' does not begin with http:// or https://`);
    if (!apiKey) throw new TypeError("the API key is missing: give apiKey, or set AGENTBOX_API_KEY");
    this.#http = new HttpCaller({ url, apiKey, ...others });
    this.api = new Api(this.#http);
    this.#connection = { api: this.api, run: (sandboxId, command, wish) => runCommand(this.#http, { sandboxId, command }, wish) };
  }

  /** A sandbox of an Env or a pool, when it can be used. */
  async create(poolName: string, { signal, ...wish }: CreateOptions = {}): Promise<SandboxHandle> {
    const created = await this.api.createSandbox({ body: { ...wish, poolName }, idempotencyKey: randomUUID(), signal });
    return new SandboxHandle(this.#connection, created.sandbox.sandboxId, created);
  }

  /** Several equal ones: all, or at least `atLeast` of them; otherwise it throws, and there are none. */
  async createMany(count: number, poolName: string, { signal, atLeast, ...wish }: ManyOptions = {}): Promise<readonly SandboxHandle[]> {
    const body = { count, ...(atLeast !== undefined && { atLeast }), sandbox: { ...wish, poolName } };
    const { sandboxes } = await this.api.createSandboxes({ body, idempotencyKey: randomUUID(), signal });
    return sandboxes.map((created) => new SandboxHandle(this.#connection, created.sandbox.sandboxId, created));
  }

  sandbox(sandboxId: string): SandboxHandle {
    return new SandboxHandle(this.#connection, sandboxId);
  }

  /** Live and ended sandboxes, newest first, page by page. */
  async *history(filters: QueryOf<"listSandboxes"> = {}, signal?: AbortSignal): AsyncGenerator<Sandbox, void> {
    let cursor: string | undefined;
    do {
      const page = await this.api.listSandboxes({ limit: 1000, ...filters, ...(cursor !== undefined && { cursor }), signal });
      yield* page.sandboxes;
      cursor = page.next;
    } while (cursor !== undefined);
  }

  /** Changes of the caller's sandboxes, pools and Envs as they happen. After a failure it goes on where it was. */
  watch(signal?: AbortSignal): AsyncGenerator<Change, void> {
    return watchChanges(this.#http, signal);
  }
}
