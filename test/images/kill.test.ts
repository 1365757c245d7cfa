/** A process that is killed while it pulls. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { randomBytes } from "node:crypto";
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ImageStore } from "#images/image-store.ts";
import { RegistryClient } from "#images/registry/client.ts";
import { systemClock } from "#lib/clock.ts";
import { loopbackRegistries } from "../world/fake-registry.ts";
import { imageOf } from "../world/image-fixture.ts";
import { layerOf } from "../world/layer-archive.ts";
import { RealRegistry } from "./real-registry.ts";

const script = `
  import { ImageStore } from "#images/image-store.ts";
  import { RegistryClient } from "#images/registry/client.ts";
  import { systemClock } from "#lib/clock.ts";
  const client = new RegistryClient({ clock: systemClock, random: Math.random, settings: ${JSON.stringify(loopbackRegistries)} });
  const store = await ImageStore.open({ folder: process.argv[1], clock: systemClock, random: Math.random, client });
  await store.ensure(process.argv[2], { pullPolicy: "IfNotPresent", onProgress: () => process.stdout.write(".") });
  await store[Symbol.asyncDispose]();
  await client[Symbol.asyncDispose]();
`;

/** Kills the process after it has told of its progress so many times; says whether it was still alive. */
async function killAfter(child: ChildProcess, steps: number): Promise<boolean> {
  let seen = 0;
  child.stdout?.on("data", (chunk: Buffer) => {
    seen += chunk.length;
    if (seen >= steps) child.kill("SIGKILL");
  });
  await once(child, "close");
  return child.signalCode === "SIGKILL";
}

test("leaves nothing half-made, wherever it dies, and the next one finishes", async () => {
  await using registry = await RealRegistry.start();
  const folder = mkdtempSync(join(tmpdir(), "agentbox-kill-"));
  const files = 200;
  const layers = Array.from({ length: 4 }, (_, layer) =>
    layerOf(
      Array.from({ length: files }, (__, index) => ({ name: `${layer}/${index}`, content: randomBytes(10_000) })),
      "none",
    ),
  );
  const image = imageOf(layers);
  await registry.push("app", "1", image);
  const name = `${registry.host}/app:1`;
  let killed = 0;
  for (const steps of [1, 5, 20, 40, 80, 120, 140, 150]) {
    const child = spawn(process.execPath, ["--input-type=module", "-e", script, folder, name], {
      cwd: join(import.meta.dirname, "../.."),
      stdio: ["ignore", "pipe", "inherit"],
    });
    if (await killAfter(child, steps)) killed++;
    // What is visible is whole: a layer has all its files, a blob its whole size.
    for (const layer of existsSync(join(folder, "layers")) ? readdirSync(join(folder, "layers")) : []) {
      expect(readdirSync(join(folder, "layers", layer, "fs"), { recursive: true }).length).toBe(files + 1);
    }
    for (const { digest, blob } of layers) {
      const path = join(folder, "blobs", digest.slice("sha256:".length));
      expect([undefined, blob.length]).toContain(statSync(path, { throwIfNoEntry: false })?.size);
    }
  }
  expect(killed).toBeGreaterThanOrEqual(3);
  await using client = new RegistryClient({ clock: systemClock, random: Math.random, settings: loopbackRegistries });
  await using store = await ImageStore.open({ folder, clock: systemClock, random: Math.random, client });
  const ready = await store.ensure(name, { pullPolicy: "IfNotPresent" });
  expect(ready.layers.map((layer) => readdirSync(layer, { recursive: true }).length)).toEqual([files + 1, files + 1, files + 1, files + 1]);
  // Only this process has scratch space now.
  expect(readdirSync(join(folder, "tmp")).length).toBe(2);
  rmSync(folder, { recursive: true });
});
