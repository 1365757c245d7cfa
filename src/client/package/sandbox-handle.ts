import type { Api } from "../generated/api.generated.ts";
import type {
  ChangeTimeouts,
  Checkpoint,
  CreatedSandbox,
  FileEntry,
  ForkSandbox,
  Sandbox,
  TakeCheckpoint,
} from "../generated/api-types.generated.ts";
import { ClientError } from "../client-error.ts";
import type { CommandOptions, CommandResult } from "./command.ts";

/** What all sandboxes of a server share. */
export interface SandboxConnection {
  readonly api: Api;
  run(sandboxId: string, command: string | readonly string[], options: CommandOptions): Promise<CommandResult>;
}

/** One sandbox. `await using` ends it. All throw ClientError. */
export class SandboxHandle implements AsyncDisposable {
  readonly id: string;
  readonly files: SandboxFiles;
  /** What the create answered, with its tokens; undefined for a sandbox that was found by its id. */
  readonly created: CreatedSandbox | undefined;
  readonly #connection: SandboxConnection;
  readonly #api: Api;

  constructor(connection: SandboxConnection, id: string, created?: CreatedSandbox) {
    this.id = id;
    this.created = created;
    this.#connection = connection;
    this.#api = connection.api;
    this.files = new SandboxFiles(this.#api, id);
  }

  /** What the server knows now, also after its end. */
  async info(): Promise<Sandbox> {
    return (await this.#api.getSandbox({ sandboxId: this.id })).sandbox;
  }

  /** Runs a command to its end; any exit code is a result. A text is run by `sh`. */
  async run(command: string | readonly string[], options: CommandOptions = {}): Promise<CommandResult> {
    return await this.#connection.run(this.id, command, options);
  }

  /** A lifetime counts from now. */
  async setTimeouts(body: ChangeTimeouts): Promise<Sandbox> {
    return (await this.#api.setTimeouts({ sandboxId: this.id, body })).sandbox;
  }

  async pause(): Promise<Sandbox> {
    return (await this.#api.pauseSandbox({ sandboxId: this.id })).sandbox;
  }

  async resume(): Promise<Sandbox> {
    return (await this.#api.resumeSandbox({ sandboxId: this.id })).sandbox;
  }

  /** Keeps the files; a create that names the checkpoint starts from them. */
  async checkpoint(body: TakeCheckpoint = {}): Promise<Checkpoint> {
    return (await this.#api.takeCheckpoint({ sandboxId: this.id, body })).checkpoint;
  }

  /** Sandboxes that start from the files of this one. If one could not be made it throws, and the others are ended. */
  async fork(body: ForkSandbox = {}): Promise<readonly SandboxHandle[]> {
    const { sandboxes, failures } = await this.#api.forkSandbox({ sandboxId: this.id, body });
    const forks = sandboxes.map((created) => new SandboxHandle(this.#connection, created.sandbox.sandboxId, created));
    const [failure] = failures;
    if (failure === undefined) return forks;
    await Promise.all(forks.map((one) => one.end()));
    throw new ClientError(failure.code as ClientError["code"], `${failures.length} of the forks could not be made: ${failure.message}`);
  }

  async logs(query: { readonly tail?: number; readonly source?: string } = {}): Promise<readonly string[]> {
    return (await this.#api.readLog({ sandboxId: this.id, ...query })).lines;
  }

  /** Ending a sandbox that has ended succeeds. */
  async end(): Promise<void> {
    await this.#api.endSandbox({ sandboxId: this.id });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end();
  }
}

/** Files of a running sandbox. A relative path is in the user's home. */
export class SandboxFiles {
  readonly #api: Api;
  readonly #sandboxId: string;

  constructor(api: Api, sandboxId: string) {
    this.#api = api;
    this.#sandboxId = sandboxId;
  }

  async read(path: string): Promise<Uint8Array> {
    const answer = await this.#api.readFile({ sandboxId: this.#sandboxId, path });
    return new Uint8Array(await answer.arrayBuffer());
  }

  async readText(path: string): Promise<string> {
    return new TextDecoder().decode(await this.read(path));
  }

  async write(path: string, data: string | Uint8Array<ArrayBuffer> | Blob): Promise<void> {
    const body = typeof data === "string" ? new TextEncoder().encode(data) : data;
    await this.#api.writeFile({ sandboxId: this.#sandboxId, path, body });
  }

  async list(path: string): Promise<readonly FileEntry[]> {
    return (await this.#api.listFiles({ sandboxId: this.#sandboxId, path })).entries;
  }

  async remove(path: string): Promise<void> {
    await this.#api.removeFile({ sandboxId: this.#sandboxId, path });
  }

  async makeFolder(path: string): Promise<void> {
    await this.#api.makeFolder({ sandboxId: this.#sandboxId, path });
  }

  async move(path: string, to: string): Promise<void> {
    await this.#api.moveFile({ sandboxId: this.#sandboxId, path, body: { to } });
  }
}
