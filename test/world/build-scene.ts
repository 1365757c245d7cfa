/** Template builds over the embedded store, with sandboxes that only note what is run in them. A server can die: its parts are left as they are, and others are opened over the same store. */
import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { embeddedKindRules } from "#engines/embedded/admission/all-rules.ts";
import { systemClock } from "#lib/clock.ts";
import { Namespaces } from "#model/core-kinds.ts";
import { SandboxCache } from "#read-model/sandbox-cache.ts";
import { readImageMap, baseImages } from "#services/builds/base-images.ts";
import { BuildBook } from "#services/builds/build-book.ts";
import { BuildLoop } from "#services/builds/build-loop.ts";
import { BuildLogs } from "#services/builds/build-logs.ts";
import type { LayerTaker } from "#services/builds/layer-taker.ts";
import { Shelf } from "#services/builds/shelf.ts";
import { type RequestedBuild, templateBuilds, type TemplateBuilds } from "#services/builds/template-builds.ts";
import { UploadStore } from "#services/builds/upload-store.ts";
import { uploadTokens } from "#services/builds/upload-tokens.ts";
import type { BuildRequest } from "#services/builds/build-records.ts";
import type { WireStep } from "#builds/build-step.ts";
import type { Caller } from "#services/caller.ts";
import { envService } from "#services/envs/env-service.ts";
import type { RunProcess } from "#services/inside/run-process.ts";
import type { SandboxInside } from "#services/inside/sandbox-inside.ts";
import type { CreatedSandbox, CreateSandbox, SandboxPage, SandboxService } from "#services/sandbox-service.ts";
import { ServiceError } from "#services/service-error.ts";
import { openTestStore, type TestStore } from "./bare-store.ts";
import { claimBook } from "./claim-books.ts";
import { recordedLog } from "./recorded-log.ts";

const system = "kube-system";
const { privateKey } = generateKeyPairSync("ed25519");

export const builder: Caller = { role: "tenant", team: "red", keyId: "k" };
export const stranger: Caller = { role: "tenant", team: "blue", keyId: "k2" };

export interface MachineSandbox {
  readonly id: string;
  readonly owner: Caller;
  readonly command: CreateSandbox;
  isEnded: boolean;
}

/** What outlives a server: sandboxes and layers. */
export class BuildMachine {
  readonly sandboxes: MachineSandbox[] = [];
  readonly ran: string[] = [];
  readonly layers = new Map<string, string>();
  /** What each image says to its containers. */
  readonly variables = new Map<string, Readonly<Record<string, string>>>();
  /** Those that cannot be removed. */
  readonly stuckLayers = new Set<string>();
  /** Commands that never end. */
  readonly hanging = new Set<string>();
  readonly failing = new Set<string>();
}

export class BuildScene implements AsyncDisposable {
  readonly store: TestStore;
  readonly cache: SandboxCache;
  readonly machine = new BuildMachine();
  readonly folder = mkdtempSync(join(tmpdir(), "agentbox-builds-"));
  builds: TemplateBuilds;
  loop: BuildLoop;
  book: BuildBook;
  shelf: Shelf;
  uploads: UploadStore;
  maxBuilds = 20;

  private constructor(store: TestStore, cache: SandboxCache) {
    this.store = store;
    this.cache = cache;
    const parts = this.#parts();
    ({ builds: this.builds, loop: this.loop, book: this.book, shelf: this.shelf, uploads: this.uploads } = parts);
  }

  static async open(): Promise<BuildScene> {
    const store = openTestStore({ kinds: embeddedKindRules() });
    for (const name of [system, "default"]) await store.create(Namespaces, { metadata: { name } }).catch(() => {});
    const cache = new SandboxCache(
      { client: store, clock: store.clock, log: recordedLog().log },
      { systemNamespace: system, claims: claimBook() },
    );
    await cache.run();
    return new BuildScene(store, cache);
  }

  /** The server is gone in the middle of what it did; another one takes over. */
  startAnew(): void {
    Object.assign(this, this.#parts());
    this.loop.open();
  }

  async request(name: string, caller = builder): Promise<RequestedBuild> {
    return await this.builds.request(caller, { name });
  }

  /** Starts a build; resolves when it is over. */
  async build(
    name: string,
    steps: readonly WireStep[],
    { caller = builder, ...more }: Partial<BuildRequest> & { readonly caller?: Caller } = {},
  ) {
    const requested = await this.request(name, caller);
    await this.start(requested, steps, { caller, ...more });
    return await this.over(requested, caller);
  }

  async start(
    { templateId: template, buildId }: RequestedBuild,
    steps: readonly WireStep[],
    { caller = builder, ...more }: Partial<BuildRequest> & { readonly caller?: Caller } = {},
  ): Promise<void> {
    const request = { from: { image: "e2bdev/base" }, steps, force: false, startCmd: "", readyCmd: "", ...more };
    await this.builds.start(caller, { template, buildId }, request);
  }

  async over({ templateId: template, buildId }: RequestedBuild, caller = builder) {
    for (;;) {
      const view = this.builds.build(caller, { template, buildId });
      if (view.status === "ready" || view.status === "error") return view;
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  /** Resolves when this has run. */
  async untilRan(command: string): Promise<void> {
    while (!this.machine.ran.includes(command)) await new Promise((resolve) => setImmediate(resolve));
  }

  get live(): readonly string[] {
    return this.machine.sandboxes.filter(({ isEnded }) => !isEnded).map(({ id }) => id);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.loop[Symbol.asyncDispose]();
    await this.cache.stop();
    this.store.close();
    rmSync(this.folder, { recursive: true, force: true });
  }

  #parts() {
    const { cache, store: client, machine, folder } = this;
    if (cache.system === undefined) throw new Error("no system namespace");
    // Steps run in real time: it is only noted.
    const clock = systemClock;
    const book = new BuildBook({ client, secrets: cache.system.secrets, namespace: system });
    const logs = new BuildLogs({ folder: join(folder, "logs"), clock });
    const uploads = new UploadStore({ folder: join(folder, "files"), clock, maxBytes: 1024 * 1024, teamBytes: () => 1536 * 1024 });
    const envs = envService({ client, cache, namespace: "default", cluster: { engine: "embedded", id: "local" } });
    const publish = { client, cache, envs, namespace: "default", clusterId: "local" };
    const layers = layersOn(machine);
    const shelf = new Shelf({ ...publish, book, logs, uploads, layers, clock });
    const usual = readImageMap({ data: { images: "e2bdev/base = host" } });
    const base = {
      images: baseImages({ configMaps: cache.system.configMaps, namespace: system }, usual),
      sources: {
        get: () => {
          throw new ServiceError("not_found", "no Env");
        },
      },
      digestOf: async (image: string) => `sha256:${image}`,
      imageOf: () => undefined,
      asBaseFailure: (error: unknown) => error,
    };
    const times = { stepMs: 60_000, buildMs: 600_000, lifetimeMs: 700_000, atOnce: 4 };
    const doing = { sandboxes: sandboxesOn(machine), inside: insideOf(machine), builderEnv: "base", log: recordedLog().log };
    const loop = new BuildLoop({ ...doing, ...base, ...times, book, logs, uploads, layers, shelf, clock });
    const limits = { ofTeam: () => this.maxBuilds };
    const tokens = uploadTokens(privateKey, clock);
    return { book, shelf, uploads, loop, builds: templateBuilds({ book, loop, shelf, logs, uploads, tokens, publish, limits, clock }) };
  }
}

function sandboxesOn(machine: BuildMachine): Pick<SandboxService, "create" | "end" | "list"> {
  return {
    create: async (owner, command) => {
      if (command.image?.startsWith("layer-") === true && machine.layers.get(command.image) !== owner.team) {
        throw new ServiceError("not_found", "no such image");
      }
      const id = `s${machine.sandboxes.length + 1}`;
      machine.sandboxes.push({ id, owner, command, isEnded: false });
      return { sandbox: { sandboxId: id } } as CreatedSandbox;
    },
    end: async (_, id) => {
      for (const one of machine.sandboxes) if (one.id === id) one.isEnded = true;
    },
    list: async (_, { metadata = {} }) => {
      const found = machine.sandboxes.filter(
        ({ isEnded, command }) => !isEnded && command.metadata?.["agentbox-build"] === metadata["agentbox-build"],
      );
      return { sandboxes: found.map(({ id: sandboxId }) => ({ sandboxId })) } as unknown as SandboxPage;
    },
  };
}

function insideOf(machine: BuildMachine): Pick<SandboxInside, "run" | "writeFile"> {
  return {
    writeFile: async () => {},
    run: async (_owner, id, { argv, onOutput }: RunProcess, signal) => {
      if (machine.sandboxes.find((one) => one.id === id)?.isEnded !== false) throw new ServiceError("not_found", "the sandbox has ended");
      const isStep = argv[1] === "-l";
      const command = isStep ? (argv[3] ?? "") : (argv[3] ?? "script");
      machine.ran.push(command);
      if (machine.hanging.has(command)) {
        await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true }));
      }
      if (machine.failing.has(command)) {
        onOutput("stderr", Buffer.from("it is broken\n"));
        return { exitCode: 1, timedOut: false };
      }
      onOutput("stdout", Buffer.from(`${command}\n`));
      return { exitCode: 0, timedOut: false };
    },
  };
}

function layersOn(machine: BuildMachine): LayerTaker {
  return {
    take: async ({ team }, { context }) => {
      const image = `layer-${machine.layers.size + 1}`;
      machine.layers.set(image, team);
      machine.variables.set(image, context.env);
      return { image, checkpoint: image };
    },
    isThere: async (_, checkpoint) => machine.layers.has(checkpoint),
    remove: async (_, checkpoint) => {
      if (machine.stuckLayers.has(checkpoint)) throw new ServiceError("conflict", "a sandbox needs it");
      machine.layers.delete(checkpoint);
    },
  };
}
