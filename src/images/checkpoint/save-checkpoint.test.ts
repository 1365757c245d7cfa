import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { systemClock } from "#lib/clock.ts";
import { baseLabel, checkpointImage } from "#model/checkpoint-image.ts";
import { loopbackRegistries } from "../../../test/world/fake-registry.ts";
import { plainConfig } from "../../../test/world/image-fixture.ts";
import { ImageStore } from "../image-store.ts";
import { RegistryClient } from "../registry/client.ts";
import type { ResolvedImage } from "../resolved-image.ts";

const asRoot = process.getuid?.() === 0;
const name = checkpointImage("cp-aaaaaaaaaaaaaaaaaaaa");
let folder: string;
let client: RegistryClient;
let store: ImageStore;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "agentbox-save-"));
  client = new RegistryClient({ clock: systemClock, random: Math.random, settings: loopbackRegistries });
  const host: ResolvedImage = {
    kind: "host",
    id: `sha256:${"1".repeat(64)}`,
    digest: `sha256:${"1".repeat(64)}`,
    layers: ["/host"],
    config: plainConfig,
  };
  const machine = { digest: async () => host.digest, prepare: async () => host };
  store = await ImageStore.open({ folder: join(folder, "images"), clock: systemClock, random: Math.random, client, host: machine });
});
afterEach(async () => {
  await store[Symbol.asyncDispose]();
  await client[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

const copy = async (to: string): Promise<void> => writeFileSync(join(to, "changed"), "by the sandbox");

async function based(): Promise<string> {
  const root = join(folder, "root");
  mkdirSync(root);
  writeFileSync(join(root, "file"), "of the base");
  const [image] = await store.importRootfs(root, { name: "base:1", config: plainConfig });
  return `base@${image?.digest ?? ""}`;
}

test.runIf(asRoot)("K4: a pod of another team does not get it, nor one of no team, and no registry is asked for it", async () => {
  const { record } = await store.saveCheckpoint({
    name,
    base: await based(),
    expectedBytes: 0,
    copy,
    budget: { team: "red", maxBytes: 1e9 },
  });
  const as = (team: string) => store.ensure(record.name, { pullPolicy: "Always", budget: { team, maxBytes: 1e9 } });
  expect((await as("red")).digest).toBe(record.digest);
  await expect(as("blue")).rejects.toMatchObject({ code: "not_found", message: expect.stringContaining("there is no image") });
  await expect(store.ensure(record.name, { pullPolicy: "IfNotPresent" })).rejects.toMatchObject({ code: "not_found" });
  const unknown = `${checkpointImage("cp-bbbbbbbbbbbbbbbbbbbb")}@${record.digest}`;
  await expect(store.ensure(unknown, { pullPolicy: "IfNotPresent" })).rejects.toMatchObject({ code: "not_found" });
});

test.runIf(asRoot)("the image that a container runs is below it, whatever it is called by then", async () => {
  const base = await based();
  const { record } = await store.saveCheckpoint({ name, base, expectedBytes: 0, copy });
  const image = await store.ensure(record.name, { pullPolicy: "Never" });
  expect(image.layers.map((layer) => readdirSync(layer))).toEqual([["changed"], ["file"]]);
  expect(image.config.labels[baseLabel]).toContain("/base@sha256:");
  const second = checkpointImage("cp-cccccccccccccccccccc");
  const again = await store.saveCheckpoint({ name: second, base: record.name, expectedBytes: 0, copy });
  const { layers, config } = await store.ensure(again.record.name, { pullPolicy: "Never" });
  expect([layers.length, config.labels[baseLabel]]).toEqual([3, image.config.labels[baseLabel]]);
});

test.runIf(asRoot)("one of the machine itself has its changes alone, and stands on the machine as it is when it is used", async () => {
  const { record } = await store.saveCheckpoint({ name, base: `host@sha256:${"1".repeat(64)}`, expectedBytes: 0, copy });
  const image = await store.ensure(record.name, { pullPolicy: "Never" });
  expect(image).toMatchObject({ kind: "host", digest: record.digest, layers: [expect.any(String), "/host"] });
  const [other] = await store.importRootfs(join(folder, "images/layers", readdirSync(join(folder, "images/layers"))[0] ?? "", "fs"), {
    name: "alone:1",
    config: plainConfig,
  });
  expect(other?.id, "the same files on nothing are another image").not.toBe(record.id);
  expect(readdirSync(join(folder, "images/layers"))).toHaveLength(2);
});

test.runIf(asRoot)("folders nested deeper than any path leave nothing behind, and the next process can open the store", async () => {
  const base = await based();
  const deep = async (to: string): Promise<void> => {
    // As `cp` leaves them when it cannot go on.
    execFileSync("python3", [
      "-c",
      "import os,sys\nos.chdir(sys.argv[1])\nfor _ in range(60): os.mkdir('d' * 200); os.chdir('d' * 200)",
      to,
    ]);
    throw new Error("File name too long");
  };
  await expect(store.saveCheckpoint({ name, base, expectedBytes: 0, copy: deep })).rejects.toThrow("File name too long");
  await expect(store.saveCheckpoint({ name, base, expectedBytes: 0, copy: (to) => deep(to).catch(() => {}) })).rejects.toMatchObject({
    code: "too_large",
  });
  const tmp = join(folder, "images/tmp");
  expect(readdirSync(tmp).flatMap((one) => (one === "owners" ? [] : readdirSync(join(tmp, one))))).toEqual([]);
});

test.runIf(asRoot)("layers of a checkpoint that is gone count on for their team while another one stands on them", async () => {
  const budget = { team: "red", maxBytes: 100 * 1024 };
  const large = async (to: string): Promise<void> => writeFileSync(join(to, "large"), "x".repeat(60 * 1024));
  const first = await store.saveCheckpoint({ name, base: await based(), expectedBytes: 0, copy: large, budget });
  const second = { name: checkpointImage("cp-cccccccccccccccccccc"), base: first.record.name, expectedBytes: 0, budget };
  const { record } = await store.saveCheckpoint({ ...second, copy });
  await store.removeCheckpoint(name);
  await store.gc();
  expect((await store.usedByTeams()).get("red")).toBeGreaterThanOrEqual(60 * 1024);
  const third = { ...second, name: checkpointImage("cp-dddddddddddddddddddd"), base: record.name };
  const more = async (to: string): Promise<void> => writeFileSync(join(to, "large"), "y".repeat(60 * 1024));
  await expect(store.saveCheckpoint({ ...third, copy: more })).rejects.toMatchObject({ code: "team_limit" });
});

test.runIf(asRoot)("an image that says of itself that it stands on the machine does not get the machine's files so", async () => {
  const root = join(folder, "root");
  mkdirSync(root);
  writeFileSync(join(root, "file"), "of a stranger");
  const config = { ...plainConfig, labels: { [baseLabel]: "host" } };
  const [image] = await store.importRootfs(root, { name: "base:1", config });
  const base = `base@${image?.digest ?? ""}`;
  await expect(store.saveCheckpoint({ name, base, expectedBytes: 0, copy })).rejects.toMatchObject({ code: "unsupported" });
});

test.runIf(asRoot)("one with more layers than can be mounted, or a config that nothing reads, is refused before the copy", async () => {
  let base = await based();
  let copies = 0;
  const counted = async (to: string): Promise<void> => {
    copies += 1;
    writeFileSync(join(to, "changed"), String(copies));
  };
  const long = { env: Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`V${index}`, "x".repeat(32_768)])) };
  await expect(store.saveCheckpoint({ name, base, expectedBytes: 0, copy: counted, config: long })).rejects.toMatchObject({
    code: "too_large",
  });
  expect(copies).toBe(0);
  const next = async (): Promise<string> => {
    const id = `cp-${String(copies).padStart(20, "0")}`;
    return (await store.saveCheckpoint({ name: checkpointImage(id), base, expectedBytes: 0, copy: counted })).record.name;
  };
  for (let layers = 1; layers < 150; layers++) base = await next();
  await expect(next()).rejects.toMatchObject({ code: "too_large", message: expect.stringContaining("150 layers") });
  expect(copies).toBe(149);
});
