/** A server of its own, without sandboxes, and the command line that talks to it as a user on this machine does. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readAdminKey } from "#cmd/machine/admin-key-file.ts";
import { runAllInOne } from "#cmd/machine/all-in-one.ts";
import { readServerFile } from "#cmd/machine/server-file.ts";
import { homeFolder, type HomeFolder } from "#cmd/parts/home-folder.ts";
import { systemClock } from "#lib/clock.ts";
import { agentbox, type Said } from "./run-cli.ts";

export class CliServer implements AsyncDisposable {
  /** Of its API. */
  url = "";
  readonly #folder: string;
  readonly #home: HomeFolder;
  readonly #end = new AbortController();
  #ended: Promise<unknown> = Promise.resolve();

  private constructor(folder: string) {
    this.#folder = folder;
    this.#home = homeFolder({ AGENTBOX_HOME: folder });
  }

  static async start(): Promise<CliServer> {
    const server = new CliServer(await mkdtemp(join(tmpdir(), "agentbox-cli-")));
    await server.#start();
    return server;
  }

  async #start(): Promise<void> {
    const started = Promise.withResolvers<void>();
    const stdout = { write: (text: string) => text.includes("Ctrl-C") && started.resolve() };
    const server = { host: "127.0.0.1", port: 0, logFormat: undefined, sandboxes: false, env: {}, version: "1", clock: systemClock };
    const gateway = { host: "127.0.0.1", port: 0, tlsPort: 0, domain: "agentbox.localhost" };
    const output = { stdout, stderr: { write: () => {} } };
    this.#ended = runAllInOne({ ...server, ...output, gateway, home: this.#home, signal: this.#end.signal });
    await Promise.race([started.promise, this.#ended]);
    this.url = (await readServerFile(this.#home.serverFile))?.httpAddress ?? "";
  }

  run(argv: readonly string[], env: Record<string, string> = {}): Promise<Said> {
    const home = {
      folder: this.#folder,
      socketPath: this.#home.socketPath,
      httpAddress: async () => this.url,
      gateway: async () => undefined,
      adminKey: () => readAdminKey(this.#home.adminKeyFile),
    };
    return agentbox(argv, { env, home });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#end.abort(new Error("the test ends"));
    await this.#ended;
    await rm(this.#folder, { recursive: true, force: true });
  }
}
