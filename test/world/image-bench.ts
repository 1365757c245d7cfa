/** A store and a registry in a fresh folder for each test of a file. Unpacking needs root. */
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach } from "vitest";
import { type ImageStore, type ImageStoreDeps, ImageStore as Images } from "#images/image-store.ts";
import { RegistryClient } from "#images/registry/client.ts";
import { FakeRegistry, loopbackRegistries } from "./fake-registry.ts";
import { SteppedClock } from "./stepped-clock.ts";

export interface ImageBench {
  folder: string;
  clock: SteppedClock;
  registry: FakeRegistry;
  client: RegistryClient;
  store: ImageStore;
  /** Another opening of the same store, as another process would have it. */
  open(options?: Partial<ImageStoreDeps>): Promise<ImageStore>;
}

export function useImageBench(): ImageBench {
  const opened: AsyncDisposable[] = [];
  const bench = {
    open: async (options: Partial<ImageStoreDeps> = {}) => {
      const store = await Images.open({
        folder: join(bench.folder, "images"),
        clock: bench.clock,
        random: () => 0.5,
        client: bench.client,
        ...options,
      });
      opened.push(store);
      return store;
    },
  } as ImageBench;
  beforeEach(async () => {
    bench.folder = mkdtempSync(join(tmpdir(), "agentbox-images-"));
    bench.clock = new SteppedClock();
    bench.registry = await FakeRegistry.start();
    bench.client = new RegistryClient({ clock: bench.clock, random: () => 0.5, settings: loopbackRegistries });
    bench.store = await bench.open();
    opened.push(bench.registry, bench.client);
  });
  afterEach(async () => {
    for (const one of opened.splice(0).reverse()) await one[Symbol.asyncDispose]();
    rmSync(bench.folder, { recursive: true, force: true });
  });
  return bench;
}

/** What is in the store, by folder: how many blobs, layers, names. */
export function counts({ folder }: ImageBench): { blobs: number; layers: number; names: number } {
  const count = (part: string): number => readdirSync(join(folder, "images", part)).length;
  return { blobs: count("blobs"), layers: count("layers"), names: count("names") };
}
