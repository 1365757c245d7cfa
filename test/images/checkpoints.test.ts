/** What containers have changed, as images: in the store, out of it, and in the hands of other tools. */
import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { CheckpointToSave } from "#images/checkpoint/save-checkpoint.ts";
import { ImageStore } from "#images/image-store.ts";
import { RegistryClient } from "#images/registry/client.ts";
import type { ResolvedImage } from "#images/resolved-image.ts";
import { systemClock } from "#lib/clock.ts";
import { setXattr } from "#lib/native/files.ts";
import { checkpointImage } from "#model/checkpoint-image.ts";
import { loopbackRegistries } from "../world/fake-registry.ts";
import { plainConfig } from "../world/image-fixture.ts";

const name = checkpointImage("cp-aaaaaaaaaaaaaaaaaaaa");
let folder: string;
let client: RegistryClient;
const open: AsyncDisposable[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "agentbox-checkpoints-"));
  client = new RegistryClient({ clock: systemClock, random: Math.random, settings: loopbackRegistries });
});
afterEach(async () => {
  for (const one of open.splice(0)) await one[Symbol.asyncDispose]();
  await client[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

async function newStore(place: string): Promise<ImageStore> {
  const store = await ImageStore.open({ folder: join(folder, place), clock: systemClock, random: Math.random, client });
  open.push(store);
  return store;
}

/** An image with files that a container can delete. */
async function based(store: ImageStore): Promise<string> {
  const root = join(folder, "root");
  mkdirSync(join(root, "etc/conf"), { recursive: true });
  for (const file of ["etc/old", "etc/kept", "etc/conf/default"]) writeFileSync(join(root, file), file);
  const [image] = await store.importRootfs(root, { name: "base:1", config: plainConfig });
  return `base@${image?.digest ?? ""}`;
}

/** As overlayfs leaves it: written, deleted, and a folder made anew. */
function changed(upper: string, size = 10): void {
  mkdirSync(join(upper, "etc/conf"), { recursive: true });
  writeFileSync(join(upper, "etc/new"), "n".repeat(size));
  chmodSync(join(upper, "etc/new"), 0o4711);
  execFileSync("mknod", [join(upper, "etc/old"), "c", "0", "0"]);
  setXattr(Buffer.from(join(upper, "etc/conf")), "trusted.overlay.opaque", Buffer.from("y"));
  writeFileSync(join(upper, "etc/conf/own"), "own");
  execFileSync("mkfifo", [join(upper, "fifo")]);
  execFileSync("mknod", [join(upper, "disk"), "b", "8", "0"]);
}

const order = (base: string, more: Partial<CheckpointToSave> = {}): CheckpointToSave => ({
  name,
  base,
  expectedBytes: 0,
  copy: async (to) => changed(to),
  ...more,
});

/** What a container of the image sees. */
function seen({ layers }: ResolvedImage): string {
  const place = join(folder, "seen");
  mkdirSync(place, { recursive: true });
  execFileSync("mount", ["-t", "overlay", "overlay", "-o", `ro,lowerdir=${layers.join(":")}`, place]);
  try {
    return execFileSync("find", [".", "-printf", "%p %y %m %s\n"], { cwd: place })
      .toString()
      .split("\n")
      .sort()
      .join("\n")
      .replaceAll(/ d (\d+) \d+/g, " d $1");
  } finally {
    execFileSync("umount", [place]);
  }
}

test("a container of it sees what the one that was copied saw; devices are left out", async () => {
  const store = await newStore("one");
  const { record } = await store.saveCheckpoint(order(await based(store), { config: { env: { A: "1" }, user: "7", entrypoint: ["/e"] } }));
  const image = await store.ensure(record.name, { pullPolicy: "Never" });
  expect(image.layers).toHaveLength(2);
  expect(image.config).toMatchObject({ env: ["PATH=/bin", "A=1"], user: "7", entrypoint: ["/e"], cmd: [] });
  const files = seen(image);
  expect(files).toContain("./etc/new f 4711 10");
  expect(files).toContain("./fifo p");
  expect(files).toContain("./etc/conf/own");
  expect(files).toContain("./etc/kept");
  for (const gone of ["etc/old", "conf/default", "disk"]) expect(files).not.toContain(gone);
});

test("other tools read it, and a store that gets it back from them has the same files", async () => {
  const store = await newStore("one");
  const { record } = await store.saveCheckpoint(order(await based(store)));
  const layout = join(folder, "layout");
  await store.export(record.name, layout, {});
  const config = execFileSync("skopeo", ["inspect", "--config", `oci:${layout}:${record.name}`]).toString();
  expect(JSON.parse(config)).toMatchObject({ rootfs: { diff_ids: [expect.any(String), expect.any(String)] } });
  const archive = join(folder, "copied.tar");
  execFileSync("skopeo", ["--insecure-policy", "copy", "-q", `oci:${layout}:${record.name}`, `oci-archive:${archive}:copied`]);
  const other = await newStore("two");
  const [copied] = await other.import(archive, { name: "copied:1" });
  // They may compress layers, so manifests differ; what the layers are does not.
  expect(copied?.id).toBe(record.id);
  const [mine, theirs] = [
    await store.ensure(record.name, { pullPolicy: "Never" }),
    await other.ensure("copied:1", { pullPolicy: "Never" }),
  ];
  expect(seen(theirs)).toBe(seen(mine));
});

test("K4: pods of another team do not get it, as if there were none", async () => {
  const store = await newStore("one");
  const { record } = await store.saveCheckpoint(order(await based(store), { budget: { team: "red", maxBytes: 1e9 } }));
  const as = (team: string | undefined) =>
    store.ensure(record.name, { pullPolicy: "IfNotPresent", budget: team === undefined ? team : { team, maxBytes: 1e9 } });
  expect((await as("red")).digest).toBe(record.digest);
  for (const team of ["blue", undefined]) await expect(as(team)).rejects.toMatchObject({ code: "not_found" });
  const unknown = `${checkpointImage("cp-bbbbbbbbbbbbbbbbbbbb")}@${record.digest}`;
  await expect(store.ensure(unknown, { pullPolicy: "IfNotPresent" })).rejects.toMatchObject({ code: "not_found" });
});

test("K2: it is taken once; equal files of two checkpoints are stored once; a collection of garbage leaves both", async () => {
  const store = await newStore("one");
  const base = await based(store);
  const first = await store.saveCheckpoint(order(base));
  const again = await store.saveCheckpoint(order(base, { copy: async () => expect.fail("copied twice") }));
  expect(again.record.digest).toBe(first.record.digest);
  await store.saveCheckpoint(order(base, { name: checkpointImage("cp-bbbbbbbbbbbbbbbbbbbb") }));
  expect(readdirSync(join(folder, "one/layers"))).toHaveLength(3);
  await store.gc();
  expect(await store.checkpoints()).toHaveLength(2);
  for (const one of await store.checkpoints()) expect(await store.removeCheckpoint(one)).toBe(true);
  expect(await store.removeCheckpoint(name)).toBe(false);
  expect(readdirSync(join(folder, "one/layers"))).toHaveLength(1);
});

test("K1: what fails on its way leaves nothing: a copy, a name that no layer can hold, a team without room, files without number", async () => {
  const store = await newStore("one");
  const base = await based(store);
  const before = () => ["blobs", "layers", "names"].map((part) => readdirSync(join(folder, "one", part)).length);
  const failures: readonly (readonly [Partial<CheckpointToSave>, object])[] = [
    [{ copy: async () => Promise.reject(new Error("the disk is full")) }, { message: "the disk is full" }],
    [{ copy: async (to) => writeFileSync(join(to, ".wh.name"), "") }, { code: "broken_content" }],
    [{ copy: async (to) => changed(to, 1e6), budget: { team: "red", maxBytes: 1000 } }, { code: "team_limit" }],
    [{ expectedBytes: 2 ** 60 }, { code: "storage" }],
    [{ copy: async (to) => void execFileSync("truncate", ["-s", "8T", join(to, "holes")]) }, { code: "too_large" }],
    [{ base: `gone@sha256:${"0".repeat(64)}` }, { code: "not_present" }],
    [{ config: { env: { "A=": "1" } } }, { code: "invalid_config" }],
  ];
  const [, layers, names] = before();
  for (const [more, error] of failures) await expect(store.saveCheckpoint(order(base, more))).rejects.toMatchObject(error);
  await store.gc();
  expect(before().slice(1)).toEqual([layers, names]);
  expect(existsSync(join(folder, "one/tmp"))).toBe(true);
  expect(
    readdirSync(join(folder, "one/tmp"))
      .filter((one) => one !== "owners")
      .flatMap((one) => readdirSync(join(folder, "one/tmp", one))),
  ).toEqual([]);
});
