/**
 * How fast images come: a layer of 200 MB unpacked (beside GNU tar as the floor), an image of five layers pulled from a real
 * registry on loopback, a root folder imported. Needs root, docker-registry, gzip and zstd.
 * Usage: node bench/images/run.ts [MEGABYTES]
 */
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ImageStore } from "#images/image-store.ts";
import { defaultLimits } from "#images/layer/limits.ts";
import { probeMarks } from "#images/layer/overlay-marks.ts";
import { UnpackThread } from "#images/layer/unpack-thread.ts";
import { RegistryClient } from "#images/registry/client.ts";
import { systemClock } from "#lib/clock.ts";
import { RealRegistry } from "../../test/images/real-registry.ts";
import { loopbackRegistries } from "../../test/world/fake-registry.ts";
import { imageOf, plainConfig } from "../../test/world/image-fixture.ts";
import { type EntrySpec, layerOf, type LayerFixture } from "../../test/world/layer-archive.ts";
import { type Row, table } from "../lib/measure.ts";

const megabytes = Number(process.argv[2] ?? 200);
const runs = 3;
const folder = mkdtempSync(join(tmpdir(), "agentbox-bench-"));
let count = 0;

/** Half of it compresses to a third, half not at all; one large file in ten, the others small, as in a distribution. */
function files(mb: number, seed: string): EntrySpec[] {
  const text = Buffer.concat(Array.from({ length: 64 }, () => Buffer.concat([randomBytes(256), Buffer.alloc(768, "some text ")])));
  const small = Array.from({ length: mb * 10 }, (_, index) => {
    const content = index % 2 === 0 ? randomBytes(50_000) : text.subarray(0, 50_000);
    return { name: `${seed}/${index % 40}/${index}`, content, mode: 0o755, uid: 1000 };
  });
  return [...small, { name: `${seed}/large`, content: randomBytes(mb * 500_000) }];
}

async function fastest(work: () => Promise<void> | void, prepare: () => void = () => undefined): Promise<number> {
  const ms: number[] = [];
  for (let run = 0; run < runs; run++) {
    prepare();
    const began = performance.now();
    await work();
    ms.push(performance.now() - began);
  }
  return Math.min(...ms);
}

function rate(mb: number, ms: number): string {
  return `${(ms / 1000).toFixed(2)} s, ${Math.round((mb / ms) * 1000)} MB/s`;
}

async function unpackRows(): Promise<Row[]> {
  const entries = files(megabytes, "layer");
  const rows: Row[] = [];
  await using thread = new UnpackThread();
  for (const compression of ["none", "gzip", "zstd"] as const) {
    const layer = layerOf(entries, compression);
    const blob = join(folder, "blob");
    writeFileSync(blob, layer.blob);
    let target = "";
    const prepare = (): void => {
      rmSync(target, { recursive: true, force: true });
      mkdirSync((target = join(folder, `out-${count++}`)));
    };
    const request = { blob, diffId: layer.diffId, lowers: [], marks: probeMarks(folder), limits: defaultLimits };
    const ours = await fastest(async () => void (await thread.unpack({ ...request, folder: target })), prepare);
    const flag = { none: [], gzip: ["-z"], zstd: ["--zstd"] }[compression];
    const floor = await fastest(() => void execFileSync("tar", ["-C", target, ...flag, "-xf", blob]), prepare);
    rmSync(target, { recursive: true, force: true });
    rows.push({
      what: `unpack ${megabytes} MB, ${entries.length} files, ${compression}`,
      values: { ours: rate(megabytes, ours), "GNU tar": rate(megabytes, floor) },
    });
  }
  return rows;
}

async function withStore(work: (store: ImageStore) => Promise<void>): Promise<void> {
  await using client = new RegistryClient({ clock: systemClock, random: Math.random, settings: loopbackRegistries });
  await using store = await ImageStore.open({ folder: join(folder, `images-${count++}`), clock: systemClock, random: Math.random, client });
  await work(store);
}

async function pullRows(): Promise<Row[]> {
  await using registry = await RealRegistry.start();
  const part = megabytes / 5;
  const layers: LayerFixture[] = Array.from({ length: 5 }, (_, index) => layerOf(files(part, `layer${index}`)));
  await registry.push("bench", "1", imageOf(layers));
  const ours = await fastest(() =>
    withStore(async (store) => void (await store.ensure(`${registry.host}/bench:1`, { pullPolicy: "IfNotPresent" }))),
  );
  const skopeo = await fastest(() => {
    const target = join(folder, `layout-${count++}`);
    execFileSync("skopeo", [
      "--insecure-policy",
      "copy",
      "-q",
      "--src-tls-verify=false",
      `docker://${registry.host}/bench:1`,
      `oci:${target}`,
    ]);
    for (const { digest } of layers) execFileSync("tar", ["-C", target, "-xzf", join(target, "blobs", digest.replace(":", "/"))]);
  });
  return [
    {
      what: `pull 5 layers of ${part} MB and unpack them`,
      values: { ours: rate(megabytes, ours), "skopeo, then GNU tar": rate(megabytes, skopeo) },
    },
  ];
}

async function importRows(): Promise<Row[]> {
  const root = join(folder, "root");
  for (const { name, content } of files(megabytes, "root")) {
    const path = join(root, name);
    mkdirSync(join(path, ".."), { recursive: true });
    writeFileSync(path, content ?? "");
  }
  const ours = await fastest(() =>
    withStore(async (store) => void (await store.importRootfs(root, { name: "bench", config: plainConfig }))),
  );
  return [{ what: `import a root folder of ${megabytes} MB`, values: { ours: rate(megabytes, ours) } }];
}

try {
  const rows = [...(await unpackRows()), ...(await pullRows()), ...(await importRows())];
  console.log(`Fastest of ${runs} runs.\n`);
  console.log(table(["ours", "GNU tar", "skopeo, then GNU tar"], rows));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
