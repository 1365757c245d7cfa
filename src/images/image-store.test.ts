/** Images from a registry to folders that can be mounted, and away again. */
import { existsSync, readdirSync, readFileSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { FakeRegistry, pullSecret } from "../../test/world/fake-registry.ts";
import { counts, useImageBench } from "../../test/world/image-bench.ts";
import { type ImageFixture, imageOf } from "../../test/world/image-fixture.ts";
import { layerOf } from "../../test/world/layer-archive.ts";
import { asRoot } from "../../test/world/layer-folder.ts";
import { patiently } from "../../test/world/patiently.ts";
import { digestOf } from "./digest.ts";
import { isImageError } from "./image-error.ts";
import type { EnsureOptions } from "./image-store.ts";
import { parsePlatform } from "./platform.ts";
import type { LayerProgress } from "./progress.ts";
import type { ResolvedImage } from "./resolved-image.ts";

const bench = useImageBench();
const base = layerOf([{ name: "etc/" }, { name: "etc/motd", content: "base" }, { name: "gone", content: "x" }]);
const app = imageOf([base, [{ name: "app", content: "one" }, { name: ".wh.gone" }]], {
  config: { cmd: ["/app"], user: "1000", labels: { v: "1" } },
});
const app2 = imageOf([base, [{ name: "app", content: "two" }]]);

function ensure(name: string, options: Partial<EnsureOptions> = {}): Promise<ResolvedImage> {
  return patiently(bench.clock, bench.store.ensure(`${bench.registry.host}/${name}`, { pullPolicy: "IfNotPresent", ...options }));
}

function read(image: ResolvedImage, layer: number, name: string): string {
  return readFileSync(join(image.layers[layer] ?? "", name), "utf8");
}

describe.skipIf(!asRoot)("an image from a registry", () => {
  test("comes by tag, with its config and its layers, topmost first", async () => {
    const digest = bench.registry.add("team/app", "1", app);
    const image = await ensure("team/app:1");
    expect(image).toMatchObject({
      kind: "oci",
      id: app.id,
      digest,
      config: { env: ["PATH=/bin"], entrypoint: [], cmd: ["/app"], user: "1000", workingDir: "", labels: { v: "1" } },
    });
    expect(image.layers.length).toBe(2);
    expect([read(image, 0, "app"), read(image, 1, "etc/motd")]).toEqual(["one", "base"]);
  });

  test("comes by digest, whatever tag stands beside it", async () => {
    const digest = bench.registry.add("team/app", "1", app);
    const image = await ensure(`team/app:no-such-tag-u1@${digest}`);
    expect(image.digest).toBe(digest);
    const asked = bench.registry.requests.length;
    expect(await ensure(`team/app:no-such-tag-u2@${digest}`)).toEqual(image);
    expect(bench.registry.requests.length).toBe(asked);
    expect((await bench.store.list()).map(({ name }) => name)).toEqual([`${bench.registry.host}/team/app@${digest}`]);
  });

  test("comes for this platform out of an index", async () => {
    const foreign = imageOf([[{ name: "foreign" }]], { platform: parsePlatform("linux/s390x") });
    const digest = bench.registry.add("app", "1", foreign, app);
    expect(await ensure("app:1")).toMatchObject({ digest, id: app.id });
    expect(await ensure(`app@${digest}`)).toMatchObject({ digest, id: app.id });
    expect(await ensure(`app@${app.digest}`)).toMatchObject({ id: app.id });
    const other = await bench.store.pull(`${bench.registry.host}/app:1`, { platform: parsePlatform("linux/s390x") });
    expect(other.id).toBe(foreign.id);
    await expect(bench.store.pull(`${bench.registry.host}/app:1`, { platform: parsePlatform("linux/mips") })).rejects.toMatchObject({
      code: "no_platform",
    });
  });

  test("shares layers with others, on the wire and on disk", async () => {
    bench.registry.add("app", "1", app);
    bench.registry.add("app", "2", app2);
    const [first, second] = [await ensure("app:1"), await ensure("app:2")];
    expect(second.layers[1]).toBe(first.layers[1]);
    expect(bench.registry.asked.filter((path) => path === `GET blobs/${base.digest}`).length).toBe(1);
    expect(counts(bench)).toMatchObject({ layers: 3, names: 2 });
  });

  test("wanted by many at once is fetched and unpacked once, also by other processes", async () => {
    bench.registry.add("app", "1", app);
    const other = await bench.open();
    const name = `${bench.registry.host}/app:1`;
    const all = [bench.store, other, bench.store, other, other].map((store) => store.ensure(name, { pullPolicy: "IfNotPresent" }));
    const images = await patiently(bench.clock, Promise.all(all));
    expect(new Set(images.map(({ layers }) => layers.join())).size).toBe(1);
    const blobs = bench.registry.asked.filter((path) => path.startsWith("GET blobs/"));
    expect(new Set(blobs).size).toBe(blobs.length);
  });

  test("tells how it comes along", async () => {
    bench.registry.add("app", "1", app);
    const told: LayerProgress[] = [];
    await ensure("app:1", { onProgress: (progress) => told.push(progress) });
    const top = told.filter(({ layer }) => layer === app.layers[1]?.digest).map(({ state }) => state);
    expect([top[0], top.at(-1)]).toEqual(["waiting", "done"]);
    expect(top).toContain("downloading");
    expect(told.every(({ bytes, total }) => bytes >= 0 && total > 0)).toBe(true);
  });

  test("comes with the credentials of a pull secret, and not without", async () => {
    await using closed = await FakeRegistry.start({ users: { ann: "secret" }, scheme: "bearer" });
    closed.add("app", "1", app);
    const name = `${closed.host}/app:1`;
    await expect(bench.store.ensure(name, { pullPolicy: "IfNotPresent" })).rejects.toMatchObject({ code: "unauthorized" });
    const pullSecrets = [pullSecret({ [closed.host]: ["ann", "secret"] })];
    expect((await patiently(bench.clock, bench.store.ensure(name, { pullPolicy: "IfNotPresent", pullSecrets }))).id).toBe(app.id);
  });
});

describe.skipIf(!asRoot)("pull policies", () => {
  test("IfNotPresent asks nobody when the image is here", async () => {
    bench.registry.add("app", "1", app);
    await ensure("app:1");
    bench.registry.add("app", "1", app2);
    const asked = bench.registry.requests.length;
    expect((await ensure("app:1")).id).toBe(app.id);
    expect(bench.registry.requests.length).toBe(asked);
  });

  test("Always asks what the tag means now, and fetches only what changed", async () => {
    bench.registry.add("app", "1", app);
    const first = await ensure("app:1", { pullPolicy: "Always" });
    const before = bench.registry.requests.length;
    await ensure("app:1", { pullPolicy: "Always" });
    expect(bench.registry.asked.slice(before)).toEqual(["HEAD manifests/1"]);
    bench.registry.add("app", "1", app2);
    expect((await ensure("app:1", { pullPolicy: "Always" })).id).toBe(app2.id);
    expect(bench.registry.asked.filter((path) => path === `GET blobs/${base.digest}`).length).toBe(1);
    // What ran before is still here, by its digest.
    expect((await ensure(`app:1-u5@${first.digest}`, { pullPolicy: "Never" })).id).toBe(app.id);
  });

  test("Always fails when the registry cannot be asked", async () => {
    bench.registry.add("app", "1", app);
    await ensure("app:1");
    bench.registry.fault = () => ({ status: 404 });
    await expect(ensure("app:1", { pullPolicy: "Always" })).rejects.toMatchObject({ code: "not_found" });
  });

  test("Never asks nobody, ever", async () => {
    bench.registry.add("app", "1", app);
    await expect(ensure("app:1", { pullPolicy: "Never" })).rejects.toMatchObject({ code: "not_present" });
    expect(bench.registry.requests).toEqual([]);
    await ensure("app:1");
    expect((await ensure("app:1", { pullPolicy: "Never" })).id).toBe(app.id);
  });

  test("an image that is damaged on disk is fetched again", async () => {
    bench.registry.add("app", "1", app);
    const image = await ensure("app:1");
    truncateSync(join(bench.folder, "images/blobs", image.id.slice(7)));
    await ensure("app:1");
    expect(await ensure("app:1", { pullPolicy: "Never" })).toEqual(image);
  });
});

describe.skipIf(!asRoot)("a bad image", () => {
  /** Why it is refused, and what is in the store afterwards. */
  async function refusal(image: ImageFixture, change: () => void = () => undefined): Promise<unknown> {
    bench.registry.add("app", "1", image);
    change();
    const error: unknown = await ensure("app:1").catch((caught: unknown) => caught);
    const { layers, names } = counts(bench);
    const scratch = readdirSync(join(bench.folder, "images/tmp"), { recursive: true }).length;
    return { code: isImageError(error) ? error.code : error, layers, names, scratch };
  }
  /** Only the scratch folder itself, its owner's lock and the folder of locks. */
  const nothing = { layers: 0, names: 0, scratch: 3 };

  test("with a layer that was tampered with is refused", async () => {
    const [layer] = app.layers;
    const bad = Buffer.from(layer?.blob ?? "");
    bad[bad.length - 9] = (bad[bad.length - 9] ?? 0) ^ 0xff;
    expect(await refusal(app, () => bench.registry.addBlob("app", layer?.digest ?? digestOf(""), bad))).toEqual({
      ...nothing,
      code: "digest_mismatch",
    });
    expect(await refusal(app, () => bench.registry.addBlob("app", layer?.digest ?? digestOf(""), Buffer.alloc(100_000)))).toEqual({
      ...nothing,
      code: "digest_mismatch",
    });
  });

  test("with a hostile layer is refused, and its blob thrown away", async () => {
    expect(await refusal(imageOf([[{ name: "../escape" }]]))).toEqual({ ...nothing, code: "hostile_layer" });
    expect(existsSync(join(bench.folder, "images/layers/escape"))).toBe(false);
    expect(counts(bench).blobs).toBe(2);
  });

  test("whose layer is not the one that the config promises is refused", async () => {
    const layer = { ...base, diffId: digestOf("something else") };
    expect(await refusal(imageOf([layer]))).toEqual({ ...nothing, code: "digest_mismatch" });
  });

  test("whose config and manifest count differently is refused", async () => {
    const good = imageOf([base]);
    const manifest = JSON.parse(good.manifest.toString()) as { layers: unknown[] };
    const changed = Buffer.from(JSON.stringify({ ...manifest, layers: [...manifest.layers, ...manifest.layers] }));
    expect(await refusal(good, () => bench.registry.addManifest("app", "1", changed))).toEqual({ ...nothing, code: "broken_content" });
  });

  test("with a layer that is not there ends quickly, with that layer's error", async () => {
    const missing = app.layers[1]?.digest ?? digestOf("");
    bench.registry.add("app", "1", app);
    // The other layer never ends, and no caller waits for it.
    bench.registry.fault = ({ path }) =>
      path.endsWith(missing) ? { status: 404 } : path.endsWith(base.digest) ? { hangs: true } : undefined;
    const failed = ensure("app:1");
    await expect(failed).rejects.toMatchObject({ code: "not_found" });
    await expect(failed).rejects.toThrow(missing);
    bench.registry.fault = () => undefined;
    expect((await ensure("app:1")).id).toBe(app.id);
  });

  test("larger than the limits is refused before it is fetched", async () => {
    const small = await bench.open({ limits: { maxBytes: 100, maxEntries: 10, maxRatio: 10, ratioFromBytes: 10 } });
    bench.registry.add("app", "1", imageOf([layerOf([{ name: "big", content: Buffer.alloc(5000) }], "none")]));
    await expect(patiently(bench.clock, small.ensure(`${bench.registry.host}/app:1`, { pullPolicy: "Always" }))).rejects.toMatchObject({
      code: "too_large",
    });
    expect(bench.registry.asked.filter((path) => path.includes("blobs/"))).toEqual([]);
  });
});

test.skipIf(!asRoot)("a pull that is aborted leaves nothing half-made, and the next one finishes", async () => {
  const big = imageOf([layerOf([{ name: "big", content: Buffer.alloc(20_000_000, 7) }], "none")]);
  bench.registry.add("app", "1", big);
  const abort = new AbortController();
  const onProgress = ({ bytes }: LayerProgress): void => {
    if (bytes > 1_000_000) abort.abort(new Error("no longer wanted"));
  };
  await expect(ensure("app:1", { signal: abort.signal, onProgress })).rejects.toThrow("no longer wanted");
  expect(counts(bench)).toMatchObject({ layers: 0, names: 0 });
  expect((await ensure("app:1")).id).toBe(big.id);
});

describe.skipIf(!asRoot)("the list", () => {
  test("shows names, platform, size and origin", async () => {
    bench.registry.add("app", "1", app);
    const image = await ensure("app:1");
    const [listed, ...more] = await bench.store.list();
    expect(more).toEqual([]);
    expect(listed).toMatchObject({
      name: `${bench.registry.host}/app:1`,
      id: image.id,
      source: "registry",
      platform: expect.stringMatching(/^linux\//) as string,
    });
    expect(listed?.bytes).toBeGreaterThan(2000);
  });
});

describe("the pseudo image host", () => {
  const host: ResolvedImage = {
    kind: "host",
    id: digestOf("host"),
    digest: digestOf("host"),
    config: { env: [], entrypoint: [], cmd: [], user: "", workingDir: "", labels: {} },
    layers: ["/skeleton"],
  };

  test("comes from the machine, however it is written, and no registry is asked", async () => {
    const store = await bench.open({ host: { digest: () => Promise.resolve(host.digest), prepare: () => Promise.resolve(host) } });
    for (const name of ["host", `host:idle-u3@${host.digest}`]) expect(await store.ensure(name, { pullPolicy: "Always" })).toBe(host);
    expect(await store.localDigest({ kind: "host" })).toBe(host.digest);
    expect(await store.localConfig({ kind: "host", digest: host.digest })).toBe(host.config);
  });

  test("is refused where nobody offers it, and cannot be pulled", async () => {
    await expect(bench.store.ensure("host", { pullPolicy: "Always" })).rejects.toMatchObject({ code: "unsupported" });
    await expect(bench.store.pull("host", {})).rejects.toThrow(/nothing to pull/);
  });
});

test("what is no reference is refused before anything is asked", async () => {
  await expect(bench.store.ensure("No/Name", { pullPolicy: "Always" })).rejects.toMatchObject({ code: "invalid_reference" });
});
