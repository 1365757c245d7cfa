import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { plainConfig } from "../../../test/world/image-fixture.ts";
import { digestOf, hexOf } from "../digest.ts";
import { parseConfig } from "../image-config.ts";
import { parseManifest } from "../manifest.ts";
import { buildImage, type BuiltImage, imageBytes } from "./build-image.ts";
import { packEntries } from "./layer-entries.ts";
import { LayoutFolder } from "./layout-folder.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "agentbox-build-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const platform = { os: "linux", architecture: "amd64" };
const config = { ...plainConfig, entrypoint: ["/tool"], user: "65532", labels: { purpose: "test" } };

async function build(name: string, content = "same"): Promise<{ image: BuiltImage; layout: LayoutFolder; place: string }> {
  const place = join(folder, name);
  const layout = await LayoutFolder.open(place);
  const layers = ["lower", content].map((text) => () => packEntries([{ kind: "file", path: text, content: Buffer.alloc(300_000, text) }]));
  return { image: await buildImage(layout, { layers, config, platform }), layout, place };
}

describe("an image of our own", () => {
  test("is the same every time, in any folder, and another one when a byte differs", async () => {
    const [first, second, other] = [await build("a"), await build("b"), await build("c", "different")];
    expect(second.image).toEqual(first.image);
    expect(other.image.manifest.digest).not.toBe(first.image.manifest.digest);
    expect(other.image.layers[0]).toEqual(first.image.layers[0]);
  });

  test("has an id that no machine and no day changes", async () => {
    // Of the config, which names the layers by their archives: how well gzip compresses is a matter of Node's version.
    expect((await build("a")).image.config.digest).toBe("sha256:79c7d14e1601802ec9753ca581615b4ea2bfa1189a974020efd4a7036173827d");
  });

  test("is in its folder: manifest, config and gzip layers that are what they say", async () => {
    const { image, place } = await build("a");
    const read = (digest: `sha256:${string}`): Buffer => readFileSync(join(place, "blobs/sha256", hexOf(digest)));
    const manifest = parseManifest(read(image.manifest.digest), "the manifest");
    expect(manifest).toMatchObject({ kind: "manifest", config: image.config, layers: image.layers });
    const file = parseConfig(read(image.config.digest), "the config");
    expect(file).toMatchObject({ platform, config });
    expect(image.layers.map(({ digest }) => digestOf(gunzipSync(read(digest))))).toEqual(file.diffIds);
    for (const { digest, size } of image.layers) {
      expect(read(digest).length).toBe(size);
      expect(read(digest).readUInt32LE(4)).toBe(0);
    }
    expect(imageBytes(image)).toBe([image.manifest, image.config, ...image.layers].reduce((sum, { size }) => sum + size, 0));
  });

  test("is not compressed again, except if what it was compressed to is gone or not noted rightly", async () => {
    const { image, place } = await build("a");
    const blob = join(place, "blobs/sha256", hexOf(image.layers[0]?.digest ?? digestOf("")));
    const before = readFileSync(blob);
    rmSync(blob);
    for (const name of readdirSync(join(place, "compressed")).slice(1)) writeFileSync(join(place, "compressed", name), "nonsense");
    expect((await build("a")).image).toEqual(image);
    expect(readFileSync(blob).equals(before)).toBe(true);
  });

  test("leaves no drafts behind, not even when it fails", async () => {
    const layout = await LayoutFolder.open(join(folder, "a"));
    let reads = 0;
    const changing = (): AsyncGenerator<Buffer, void> => packEntries([{ kind: "file", path: "x", content: Buffer.from(`${reads++}`) }]);
    await expect(buildImage(layout, { layers: [changing], config, platform })).rejects.toThrow(/changed while it was packed/);
    expect(readdirSync(join(folder, "a")).sort()).toEqual(["blobs", "compressed", "oci-layout"]);
    expect(readdirSync(join(folder, "a/blobs/sha256"))).toEqual([]);
  });
});

test("a name in a layout moves to the image that was given it last", async () => {
  const { image, layout, place } = await build("a");
  await layout.name("one:1", image.manifest);
  await layout.name("two:1", image.manifest);
  const other = await build("a", "different");
  await other.layout.name("one:1", other.image.manifest);
  const index = parseManifest(readFileSync(join(place, "index.json")), "the index");
  const named =
    index.kind === "index" ? index.manifests.map(({ digest, annotations }) => [Object.values(annotations ?? {})[0], digest]) : [];
  expect(Object.fromEntries(named)).toEqual({ "one:1": other.image.manifest.digest, "two:1": image.manifest.digest });
});
