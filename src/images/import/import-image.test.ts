/** Images from files. */
import { chownSync, lstatSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { makeNode } from "#lib/native/files.ts";
import { asEntries, dockerSave, type Files, ociLayout, platformLayout, writeFiles } from "../../../test/world/image-archive.ts";
import { counts, useImageBench } from "../../../test/world/image-bench.ts";
import { imageOf, indexOf, plainConfig } from "../../../test/world/image-fixture.ts";
import { inChunks, layerOf, layerOfTar, tarArchive } from "../../../test/world/layer-archive.ts";
import { asRoot } from "../../../test/world/layer-folder.ts";
import { digestOf, hexOf } from "../digest.ts";
import type { StoredImage } from "../content-store/image-records.ts";
import { isImageError } from "../image-error.ts";
import { mediaTypes } from "../manifest.ts";
import { parsePlatform } from "../platform.ts";
import { parseReference } from "../reference.ts";

const bench = useImageBench();
const tars = [tarArchive([{ name: "base", content: "base" }]), tarArchive([{ name: "app", content: "app" }])] as const;
const app = imageOf(tars.map((tar) => layerOfTar(tar)));
/** As Docker saves it: layers uncompressed. */
const saved = imageOf(tars.map((tar) => layerOfTar(tar, "none")));
const full = { "io.containerd.image.name": "registry.example/app:1", "org.opencontainers.image.ref.name": "1" };

function file(archive: Buffer): string {
  const path = join(bench.folder, "archive");
  writeFileSync(path, archive);
  return path;
}

function layoutTar(files: Files): string {
  return file(tarArchive(asEntries(files)));
}

async function names(importing: Promise<readonly StoredImage[]>): Promise<string[]> {
  return (await importing).map(({ name }) => name);
}

async function refusal(source: string, name?: string): Promise<string> {
  const error: unknown = await bench.store.import(source, { name }).catch((caught: unknown) => caught);
  return isImageError(error) ? `${error.code}: ${error.message}` : `not refused: ${JSON.stringify(error)}`;
}

describe.skipIf(!asRoot)("an OCI layout", () => {
  test("is imported from a folder, and then needs no registry", async () => {
    const folder = writeFiles(join(bench.folder, "layout"), ociLayout([{ image: app, annotations: full }]));
    expect(await names(bench.store.import(folder, {}))).toEqual(["registry.example/app:1"]);
    rmSync(folder, { recursive: true });
    for (const pullPolicy of ["Never", "IfNotPresent", "Always"] as const) {
      const image = await bench.store.ensure("registry.example/app:1", { pullPolicy });
      expect(image).toMatchObject({ id: app.id, digest: app.digest });
      expect(readFileSync(join(image.layers[0] ?? "", "app"), "utf8")).toBe("app");
    }
    expect(await bench.store.localDigest(parseReference("registry.example/app:1"))).toBe(app.digest);
  });

  test.each([
    ["plain", (tar: Buffer) => tar],
    ["gzip", gzipSync],
    ["zstd", zstdCompressSync],
  ])("is imported from a tar, %s", async (_how, compress) => {
    const source = file(compress(tarArchive(asEntries(ociLayout([{ image: app, annotations: full }])))));
    expect(await names(bench.store.import(source, {}))).toEqual(["registry.example/app:1"]);
  });

  test("is imported from a stream, such as standard input", async () => {
    const tar = tarArchive(asEntries(ociLayout([{ image: app, annotations: full }])));
    expect(await names(bench.store.import(inChunks(tar, 1000), {}))).toEqual(["registry.example/app:1"]);
  });

  test("is not imported any further after an abort", async () => {
    const source = layoutTar(ociLayout([{ image: app, annotations: full }]));
    await expect(bench.store.import(source, { signal: AbortSignal.abort(new Error("no longer wanted")) })).rejects.toThrow(
      "no longer wanted",
    );
    const abort = new AbortController();
    async function* endless(): AsyncGenerator<Buffer, void> {
      yield tarArchive([{ name: "big", content: Buffer.alloc(5000) }]).subarray(0, 5000);
      abort.abort(new Error("no longer wanted"));
      for (;;) yield Buffer.alloc(1000);
    }
    await expect(bench.store.import(endless(), { signal: abort.signal })).rejects.toThrow("no longer wanted");
    expect(counts(bench).names).toBe(0);
  });

  test.each([
    ["a full name", { "org.opencontainers.image.ref.name": "registry.example/app:2" }, undefined, "registry.example/app:2"],
    ["a tag that takes the given name before it", { "org.opencontainers.image.ref.name": "v2" }, "mine", "docker.io/library/mine:v2"],
    [
      "a tag that gives way to the given one",
      { "org.opencontainers.image.ref.name": "v2" },
      "localhost:5000/mine:v3",
      "localhost:5000/mine:v3",
    ],
    ["a name that gives way to the given one", full, "mine", "docker.io/library/mine:latest"],
    ["nothing", undefined, "mine:1", "docker.io/library/mine:1"],
  ])("that says %s is called right", async (_what, annotations, name, expected) => {
    const source = layoutTar(ociLayout([{ image: app, ...(annotations === undefined ? {} : { annotations }) }]));
    expect(await names(bench.store.import(source, { name }))).toEqual([expected]);
  });

  test("with several images gives all of them", async () => {
    const other = imageOf([layerOf([{ name: "other" }])]);
    const layout = ociLayout([
      { image: app, annotations: { "org.opencontainers.image.ref.name": "registry.example/a:1" } },
      { image: other, annotations: { "org.opencontainers.image.ref.name": "registry.example/b:1" } },
    ]);
    expect(await names(bench.store.import(layoutTar(layout), {}))).toEqual(["registry.example/a:1", "registry.example/b:1"]);
    expect(await refusal(layoutTar(layout), "mine")).toMatch(/^invalid_reference: there are 2 images/);
  });

  test("with one image for several platforms gives the one for this machine", async () => {
    const foreign = imageOf([layerOf([{ name: "foreign" }])], { platform: parsePlatform("linux/s390x") });
    const [image] = await bench.store.import(layoutTar(platformLayout([foreign, app])), { name: "mine" });
    expect(image?.id).toBe(app.id);
    const nested = indexOf([foreign, app]);
    const entry = { mediaType: mediaTypes.index, digest: digestOf(nested), size: nested.length, annotations: full };
    const layout = {
      ...platformLayout([foreign, app]),
      [`blobs/sha256/${hexOf(digestOf(nested))}`]: nested,
      "index.json": Buffer.from(JSON.stringify({ schemaVersion: 2, manifests: [entry] })),
    };
    expect(await bench.store.import(layoutTar(layout), {})).toMatchObject([{ id: app.id, digest: digestOf(nested), manifest: app.digest }]);
    expect(await refusal(layoutTar(platformLayout([foreign, imageOf([], { platform: parsePlatform("linux/mips") })])), "x")).toMatch(
      /^no_platform: /,
    );
  });

  test.each<[string, (layout: Files) => Files, RegExp]>([
    ["a blob is missing", (layout) => without(layout, app.layers[1]?.digest ?? ""), /^broken_content: .*is not there/],
    ["the config is missing", (layout) => without(layout, app.id), /^broken_content: /],
    ["the manifest is missing", (layout) => without(layout, app.digest), /^broken_content: /],
    [
      "a blob is not what its name says",
      (layout) => ({ ...layout, [`blobs/sha256/${hexOf(app.id)}`]: Buffer.from("{}") }),
      /^digest_mismatch: /,
    ],
    ["the index is a manifest", (layout) => ({ ...layout, "index.json": app.manifest }), /^broken_content: .*not an index/],
    [
      "the index is empty",
      (layout) => ({ ...layout, "index.json": Buffer.from('{"schemaVersion":2,"manifests":[]}') }),
      /^broken_content: this is no image/,
    ],
    ["the index is not JSON", (layout) => ({ ...layout, "index.json": Buffer.from("nonsense") }), /^broken_content: /],
  ])("is refused when %s, as tar and as folder", async (_why, change, reason) => {
    const layout = change(ociLayout([{ image: app, annotations: full }]));
    expect(await refusal(layoutTar(layout))).toMatch(reason);
    expect(await refusal(writeFiles(join(bench.folder, "layout"), layout))).toMatch(reason);
    expect(counts(bench).names).toBe(0);
  });

  test.each([
    [undefined, /^invalid_reference: .*does not say what it is called/],
    ["host", /^invalid_reference: host is the machine itself/],
    ["Bad Name", /^invalid_reference: /],
    [`mine@${digestOf("x")}`, /^invalid_reference: .*has a digest/],
  ])("called %s is refused", async (name, reason) => {
    expect(await refusal(layoutTar(ociLayout([{ image: app }])), name)).toMatch(reason);
  });
});

function without(layout: Files, digest: string): Files {
  return Object.fromEntries(Object.entries(layout).filter(([name]) => !name.endsWith(digest.slice(7))));
}

describe.skipIf(!asRoot)("an archive of docker save", () => {
  test("in its older form is imported under its tags, with a manifest of our making", async () => {
    const source = file(tarArchive(dockerSave([{ image: saved, tags: ["registry.example/app:1", "app:latest"], tars }])));
    const images = await bench.store.import(source, {});
    expect(images.map(({ name }) => name)).toEqual(["docker.io/library/app:latest", "registry.example/app:1"]);
    const image = await bench.store.ensure("app", { pullPolicy: "Always" });
    expect(image).toMatchObject({ id: saved.id, config: plainConfig });
    expect(image.layers.map((layer, index) => readFileSync(join(layer, index === 0 ? "app" : "base"), "utf8"))).toEqual(["app", "base"]);
    // The same archive gives the same digest.
    expect((await bench.store.import(source, {}))[0]?.digest).toBe(image.digest);
  });

  test("with images that share layers is imported, whose layers are links then", async () => {
    const other = imageOf([layerOfTar(tars[0], "none")]);
    const entries = dockerSave([
      { image: saved, tags: ["a:1"], tars },
      { image: other, tags: ["b:1"], tars: [tars[0]] },
    ]);
    expect(entries.some(({ type }) => type === "symlink")).toBe(true);
    expect(await names(bench.store.import(file(tarArchive(entries)), {}))).toEqual(["docker.io/library/a:1", "docker.io/library/b:1"]);
    expect(counts(bench).layers).toBe(2);
  });

  test("without tags wants a name", async () => {
    const source = file(tarArchive(dockerSave([{ image: saved, tags: null, tars }])));
    expect(await refusal(source)).toMatch(/^invalid_reference: .*give it a name/);
    expect(await names(bench.store.import(source, { name: "mine" }))).toEqual(["docker.io/library/mine:latest"]);
  });

  test("in its newer form, which is an OCI layout too, keeps its digest", async () => {
    const entries = [
      ...asEntries(ociLayout([{ image: saved, annotations: full }])),
      ...dockerSave([{ image: saved, tags: ["registry.example/app:1"], tars }]).slice(-2),
    ];
    expect(await bench.store.import(file(tarArchive(entries)), {})).toMatchObject([
      { name: "registry.example/app:1", digest: saved.digest, source: "import" },
    ]);
  });

  test("whose layers are not the ones of its config is refused", async () => {
    const source = file(tarArchive(dockerSave([{ image: saved, tags: ["a:1"], tars: [tars[1], tars[0]] }])));
    expect(await refusal(source)).toMatch(/^digest_mismatch: /);
  });

  test("that speaks of a file that is not in it is refused", async () => {
    const entries = dockerSave([{ image: saved, tags: ["a:1"], tars }]).filter(({ name }) => !name.endsWith("01/layer.tar"));
    expect(await refusal(file(tarArchive(entries)))).toMatch(/^broken_content: .*"01\/layer\.tar", which is not in the archive/);
  });
});

describe("what is no image", () => {
  test("is refused with what was looked for", async () => {
    expect(await refusal(file(tarArchive([{ name: "readme", content: "x" }])))).toMatch(
      /^broken_content: .*index\.json \(OCI layout\) nor a manifest\.json \(docker save\)/,
    );
    expect(await refusal(file(Buffer.from("x".repeat(5000))))).toMatch(/^broken_content: .*not a tar/);
    expect(await refusal(join(bench.folder, "nothing"))).toMatch(/^not_found: .*does not exist/);
    expect(await refusal(bench.folder)).toMatch(/^broken_content: /);
    expect(await refusal(file(Buffer.alloc(0)))).toMatch(/^broken_content: /);
  });

  test("an index that would fill the memory is refused", async () => {
    expect(await refusal(file(tarArchive([{ name: "index.json", content: Buffer.alloc(5_000_000, 32) }])))).toMatch(/^too_large: /);
  });
});

describe.skipIf(!asRoot)("a folder with a root file system", () => {
  const config = { env: ["PATH=/bin"], entrypoint: [], cmd: ["/bin/sh"], user: "1000:1000", workingDir: "/srv", labels: {} };

  function root(): string {
    const folder = join(bench.folder, "root");
    mkdirSync(join(folder, "bin"), { recursive: true });
    writeFileSync(join(folder, "bin/sh"), "#!", { mode: 0o755 });
    chownSync(join(folder, "bin/sh"), 7, 8);
    makeNode(Buffer.from(join(folder, "null")), 0o020666, 0x103);
    return folder;
  }

  test("becomes an image of one layer that starts as told", async () => {
    const skipped: string[] = [];
    const [stored] = await bench.store.importRootfs(root(), { name: "mine:1", config, onSkipped: (path) => skipped.push(path) });
    expect(stored).toMatchObject({ name: "docker.io/library/mine:1", source: "import" });
    expect(skipped).toEqual(["null"]);
    const image = await bench.store.ensure("mine:1", { pullPolicy: "Always" });
    expect(image).toMatchObject({ config, digest: stored?.digest });
    expect(image.layers.length).toBe(1);
    const { uid, gid, mode } = lstatSync(join(image.layers[0] ?? "", "bin/sh"));
    expect([uid, gid, mode & 0o777]).toEqual([7, 8, 0o755]);
  });

  test("gives the same image whenever it is the same, and another with another config", async () => {
    const folder = root();
    const [first] = await bench.store.importRootfs(folder, { name: "mine:1", config });
    const [second] = await bench.store.importRootfs(folder, { name: "mine:2", config });
    const [third] = await bench.store.importRootfs(folder, { name: "mine:3", config: { ...config, user: "" } });
    expect(second?.digest).toBe(first?.digest);
    expect(third?.digest).not.toBe(first?.digest);
    expect(counts(bench).layers).toBe(1);
  });

  test("that is none is refused", async () => {
    await expect(bench.store.importRootfs(join(bench.folder, "nothing"), { name: "mine", config })).rejects.toMatchObject({
      code: "not_found",
    });
    expect(() => bench.store.importRootfs(bench.folder, { name: "host", config })).toThrow(/host is the machine itself/);
  });
});
