/** An image on the machine is given to credentials that its registry shows it to. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { FakeRegistry, pullSecret } from "../../test/world/fake-registry.ts";
import { counts, useImageBench } from "../../test/world/image-bench.ts";
import { imageOf } from "../../test/world/image-fixture.ts";
import { layerOf } from "../../test/world/layer-archive.ts";
import { asRoot } from "../../test/world/layer-folder.ts";
import { patiently } from "../../test/world/patiently.ts";
import { isImageError } from "./image-error.ts";
import type { EnsureOptions } from "./image-store.ts";
import type { ResolvedImage } from "./resolved-image.ts";

const bench = useImageBench();
const app = imageOf([[{ name: "app", content: "one" }]]);

describe.skipIf(!asRoot)("an image that was pulled with credentials", () => {
  const users = { ann: "secret", bob: "other" };
  const shown = async (
    closed: { readonly host: string },
    who: keyof typeof users | "nobody",
    options: Partial<EnsureOptions> = {},
  ): Promise<string> => {
    const pullSecrets = who === "nobody" ? [] : [pullSecret({ [closed.host]: [who, users[who]] })];
    const name = `${closed.host}/app:1@${app.digest}`;
    return patiently(bench.clock, bench.store.ensure(name, { pullPolicy: "IfNotPresent", pullSecrets, ...options })).then(
      ({ id }) => id,
      (error: unknown) => (isImageError(error) ? error.code : Promise.reject(error as Error)),
    );
  };

  test.each(["basic", "bearer"] as const)("is given by digest to those whom the registry shows it to, with %s", async (scheme) => {
    await using closed = await FakeRegistry.start({ users, scheme });
    closed.add("app", "1", app);
    expect(await shown(closed, "ann")).toBe(app.id);
    expect(await shown(closed, "nobody")).toBe("unauthorized");
    expect(await shown(closed, "nobody", { pullPolicy: "Always" })).toBe("unauthorized");
    expect(await shown(closed, "nobody", { pullPolicy: "Never" })).toBe("not_present");
    expect(await shown(closed, "bob", { pullPolicy: "Never" })).toBe("not_present");
    expect(await shown(closed, "bob")).toBe(app.id);
    const asked = closed.requests.length;
    expect([await shown(closed, "ann"), await shown(closed, "bob"), await shown(closed, "bob", { pullPolicy: "Never" })]).toEqual([
      app.id,
      app.id,
      app.id,
    ]);
    expect(closed.requests.length).toBe(asked);
  });

  test("is given by tag in the same way", async () => {
    await using closed = await FakeRegistry.start({ users, scheme: "basic" });
    closed.add("app", "1", app);
    const pull = (pullSecrets: readonly string[]): Promise<ResolvedImage> =>
      patiently(bench.clock, bench.store.ensure(`${closed.host}/app:1`, { pullPolicy: "IfNotPresent", pullSecrets }));
    await pull([pullSecret({ [closed.host]: ["ann", "secret"] })]);
    await expect(pull([])).rejects.toMatchObject({ code: "unauthorized" });
  });

  test("is given while the registry is away to those whom it was shown to, also after a restart", async () => {
    const closed = await FakeRegistry.start({ users, scheme: "basic" });
    closed.add("app", "1", app);
    const gone = { host: closed.host };
    expect(await shown(closed, "ann")).toBe(app.id);
    await closed[Symbol.asyncDispose]();
    bench.store = await bench.open();
    expect(await shown(gone, "ann")).toBe(app.id);
    expect(await shown(gone, "bob")).toBe("unreachable");
  });
});

describe.skipIf(!asRoot)("layers of somebody else's image", () => {
  const secret = layerOf([{ name: "password", content: "hunter2" }]);
  const owned = imageOf([secret]);
  const ensure = (name: string): Promise<ResolvedImage> =>
    patiently(bench.clock, bench.store.ensure(`${bench.registry.host}/${name}`, { pullPolicy: "IfNotPresent" }));

  async function pulledBefore(): Promise<void> {
    await using closed = await FakeRegistry.start({ users: { ann: "secret" }, scheme: "basic" });
    closed.add("app", "1", owned);
    const pullSecrets = [pullSecret({ [closed.host]: ["ann", "secret"] })];
    await patiently(bench.clock, bench.store.ensure(`${closed.host}/app:1`, { pullPolicy: "IfNotPresent", pullSecrets }));
  }

  test("are not had by a manifest that names its config and blobs", async () => {
    await pulledBefore();
    bench.registry.addManifest("mine", "1", owned.manifest);
    await expect(ensure("mine:1")).rejects.toMatchObject({ code: "not_found" });
  });

  test("are not had by a config of one's own that names them", async () => {
    await pulledBefore();
    bench.registry.addManifest("mine", "1", owned.manifest);
    bench.registry.addBlob("mine", owned.id, owned.config);
    await expect(ensure("mine:1")).rejects.toMatchObject({ code: "not_found" });
    // A blob of one's own in the place of the secret one is not what the config promises.
    const other = layerOf([{ name: "own", content: "x" }]);
    const manifest = Buffer.from(
      owned.manifest
        .toString()
        .replaceAll(secret.digest, other.digest)
        .replace(`"size":${secret.blob.length}`, `"size":${other.blob.length}`),
    );
    bench.registry.addManifest("mine", "2", manifest);
    bench.registry.addBlob("mine", other.digest, other.blob);
    await expect(ensure("mine:2")).rejects.toMatchObject({ code: "digest_mismatch" });
  });

  test("are shared with a registry that has them, and unpacked once", async () => {
    await pulledBefore();
    bench.registry.add("mine", "1", owned);
    const image = await ensure("mine:1");
    expect(readFileSync(join(image.layers[0] ?? "", "password"), "utf8")).toBe("hunter2");
    expect(counts(bench).layers).toBe(1);
    const asked = bench.registry.requests.length;
    await ensure("mine:1");
    bench.registry.add("yours", "1", owned);
    await ensure("yours:1");
    expect(bench.registry.asked.slice(asked)).toEqual(["GET manifests/1"]);
  });
});
