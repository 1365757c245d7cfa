/**
 * The services of an armed daemon. A waiting daemon loads the one for commands in advance, with its rehearsal. The others are loaded at first use: a new
 * sandbox waits only for what it uses, and concurrent creates are not delayed by parts that none of them needs.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Clock } from "#lib/clock.ts";
import type { Accounts } from "#envd/accounts/accounts.ts";
import type { ArmedState } from "#envd/armed-state.ts";
import type { Handlers } from "#envd/connect/rpc-server.ts";
import type { MetadataStore } from "#envd/files/metadata.ts";
import { ProcessService } from "#envd/process/process-service.ts";
import type { MetricsReader } from "./metrics.ts";

export interface PartDeps {
  readonly state: ArmedState;
  readonly accounts: Accounts;
  readonly clock: Clock;
  /** Where the helper is. */
  readonly helper: string;
}

export class LoadedParts {
  readonly #deps: PartDeps;
  #processes: Handlers | undefined;
  #filesystem: Promise<Handlers> | undefined;
  #metadata: Promise<MetadataStore> | undefined;
  #metrics: Promise<MetricsReader> | undefined;

  constructor(deps: PartDeps) {
    this.#deps = deps;
  }

  /** Handlers of one service of the schema. */
  async handlersOf(service: string): Promise<Handlers> {
    if (service !== "process.Process") return this.#filesystemHandlers();
    return (this.#processes ??= new ProcessService(this.#deps).handlers);
  }

  /** False if the path does not belong to files. */
  async serveFiles(request: IncomingMessage, response: ServerResponse): Promise<boolean> {
    const [{ serveFiles }, metadata] = await Promise.all([import("#envd/files/file-service.ts"), this.#metadataStore()]);
    return serveFiles({ ...this.#deps, metadata }, request, response);
  }

  metrics(): Promise<MetricsReader> {
    return (this.#metrics ??= import("./metrics.ts").then(({ MetricsReader }) => new MetricsReader()));
  }

  #filesystemHandlers(): Promise<Handlers> {
    const load = async (): Promise<Handlers> => {
      const [{ filesystemHandlers }, metadata] = await Promise.all([
        import("#envd/filesystem/filesystem-service.ts"),
        this.#metadataStore(),
      ]);
      return filesystemHandlers({ ...this.#deps, metadata });
    };
    return (this.#filesystem ??= load());
  }

  #metadataStore(): Promise<MetadataStore> {
    return (this.#metadata ??= import("#envd/files/metadata.ts").then(({ MetadataStore }) => new MetadataStore(this.#deps.helper)));
  }
}
